"""What people do to runs, players and tournaments: written down for whoever owns the run, or done at once.

The control plane runs no league. A run that somebody plays is told what is wanted by its record in the
database; one that nobody owns is taken for a moment, changed, and given back.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from league.config.live import changes, merged, require_live, require_same_logits
from league.control.access import AccessService, Principal, Scope
from league.control.inputs import checked_label, checked_tags, named_code
from league.control.sources import NewPlayer, PlayerSources
from league.errors import BadRequestError, ConflictError, ForbiddenError, SteeringError
from league.pool.records import (
    CommandRecord,
    DesiredState,
    EventRecord,
    RunRecord,
    TournamentRecord,
)
from league.settings import Settings, permits
from league.store.repositories.commands import CommandRepository
from league.store.repositories.league_state import LeagueRepository
from league.store.repositories.pages import LeaguePages
from league.store.repositories.runs import RunRepository
from league.store.repositories.tournaments import TournamentRepository
from league.store.session import Database

if TYPE_CHECKING:
    from league.config.run import RunConfig
    from league.store.uploads import Upload

# How long a request waits for a running league to do what was asked of it.
WAIT_SECONDS = 2.5
POLL_SECONDS = 0.05
HOLD_SECONDS = 30.0
MOST_TOURNAMENT_PLAYERS = 200
MOST_PAIR_GAMES = 100_000


class ControlService:
    """Runs, players and tournaments, steered. Every change is in the audit log.

    Attributes:
      human_scope: of people who play. sources: where those who join come from.
    """

    human_scope = Scope.read

    def __init__(
        self, database: Database, checkpoint_url: str, access: AccessService, settings: Settings
    ) -> None:
        self._database, self._checkpoint_url = database, checkpoint_url
        self._access, self._settings = access, settings
        self._runs = RunRepository(database)
        self._pages = LeaguePages(database)
        self.sources = PlayerSources(database, checkpoint_url, settings)
        self._commands = CommandRepository(database)
        self._tournaments = TournamentRepository(database)

    def parse(self, config: dict[str, Any] | str, by: Principal) -> RunConfig:
        """Checks a config that somebody has sent, as data or as YAML.

        Raises:
          ConfigError: names each wrong field. ForbiddenError: a module that this server does not run.
        """
        from league.config.reading import read_yaml
        from league.config.run import RunConfig

        data = read_yaml(config, "config") if isinstance(config, str) else config
        for where, code in named_code(data):
            self.require_allowed_code(where, code, by)
        return RunConfig.from_data(data)

    def launch(self, config: RunConfig, by: Principal, tags: Sequence[str] = ()) -> RunRecord:
        """Writes down a run that a supervisor shall run. Raises: ConfigError: a teacher cannot be had."""
        self._require_teachers(config)
        data = config.model_dump(mode="json", exclude_none=True)
        run = self._runs.create(data, config.name, config.game, config.seed, checked_tags(tags))
        self._access.audit(by, "run.launch", run.id, {"name": run.name, "game": run.game})
        return run

    def _require_teachers(self, config: RunConfig) -> None:
        if any(entry.teacher for entry in config.players):
            from league.store.checkpoints import CheckpointStore
            from league.study.teachers import require_teachers

            require_teachers(config, CheckpointStore(self._checkpoint_url))

    def clone(self, run_id: str, name: str | None, patch: dict[str, Any], by: Principal) -> RunRecord:
        """Launches a run from another's config with changes, a JSON merge patch.

        Raises:
          NotFoundError, ConfigError, ConflictError.
        """
        source = self._runs.get(run_id)
        data = merged(source.config, patch)
        config = self.parse({**data, "name": name or data.get("name", source.name)}, by)
        return self.launch(config, by, source.tags)

    def want(self, run_id: str, desired: DesiredState, by: Principal) -> RunRecord:
        """Lets a run go on, pause or stop. Raises: NotFoundError, ConflictError: it is over."""
        run = self._runs.get(run_id)
        if run.state == "finished" and run.stop_reason != "stopped" and desired == "running":
            raise ConflictError(f"run {run_id} is finished: it {run.stop_reason}; clone it to go further")
        if run.state in ("finished", "failed") and desired != "running":
            raise ConflictError(f"run {run_id} is {run.state} already")
        run = self._runs.desire(run_id, desired)
        kind = {"running": "resume", "paused": "pause", "stopped": "stop"}[desired]
        self._note(run_id, EventRecord(f"wanted_{desired}", actor=by.name))
        self._access.audit(by, f"run.{kind}", run_id)
        return run

    def delete(self, run_id: str, confirm: str | None, by: Principal) -> None:
        """Removes a run with its data.

        Args:
          confirm: its name: what is gone stays gone.

        Raises:
          NotFoundError. ConflictError: it is being run, or the name is another.
        """
        from league.store.checkpoints import CheckpointStore

        def check(run: RunRecord, live: bool) -> None:
            if confirm != run.name:
                raise ConflictError(
                    f"deleting run {run_id} loses its players, results and checkpoints for good; "
                    f"confirm with its name, {run.name!r}"
                )
            if live:
                raise ConflictError(f"run {run_id} is being run by {run.lease_owner}; stop it first")

        rubbish = self._runs.delete(run_id, check)
        self._access.audit(by, "run.delete", run_id, {"name": confirm})
        store = CheckpointStore(self._checkpoint_url)
        for sha in rubbish:
            store.delete(sha)

    def edit(
        self,
        run_id: str,
        by: Principal,
        *,
        name: str | None = None,
        tags: Sequence[str] | None = None,
        patch: dict[str, Any] | None = None,
        unchanged: Callable[[RunRecord], None] = lambda _: None,
    ) -> RunRecord:
        """Renames, tags, or changes the config: a running league takes it over within a second.

        Args:
          patch: a JSON merge patch on the config. unchanged: raises when the run is not as it was known.

        Raises:
          NotFoundError, ConfigError. ConflictError: what may not change, and why.
        """
        result: dict[str, Any] = {}

        def change(run: RunRecord) -> dict[str, Any]:
            unchanged(run)
            values: dict[str, Any] = {}
            if name is not None:
                values["name"] = result["name"] = name
                values["config"] = {**run.config, "name": name}
            if tags is not None:
                values["tags"] = result["tags"] = list(checked_tags(tags))
            if patch:
                renamed = replace(run, config=values.get("config", run.config))
                values["config"], result["config"] = self._changed_config(renamed, patch, by)
            return values

        run = self._runs.edit(run_id, change)
        if result.get("config"):
            self._note(run_id, EventRecord("config_changed", data=result["config"], actor=by.name))
        self._access.audit(by, "run.edit", run_id, result)
        return run

    def add_player(self, run_id: str, new: NewPlayer, by: Principal) -> CommandRecord:
        """Takes somebody into a run's pool as a guest.

        Raises:
          NotFoundError, BadRequestError: no such source, or it cannot play this game.
        """
        import torch

        from agents.errors import AgentError
        from league.config.sides import spec_of
        from league.store.checkpoints import CheckpointStore
        from league.store.policies import load_policy

        run = self._runs.get(run_id)
        data = self.sources.data_of(run, new)
        if not (new.url is not None):  # what can be tried is tried before anybody sees it
            store = CheckpointStore(self._checkpoint_url)
            try:
                load_policy(
                    store,
                    spec_of(run.game),
                    bot=data.get("bot"),
                    checkpoint=data.get("checkpoint"),
                    seed=0,
                    dtype=torch.float32,
                )
            except AgentError as error:
                raise BadRequestError(f"{new.name} cannot play {run.game}: {error}") from error
        details = {"label": checked_label(new.label), "tags": list(checked_tags(new.tags))}
        return self.command(run_id, "add", new.name, {**data, **details}, by)

    def branch(
        self,
        run_id: str,
        player: str,
        by: Principal,
        *,
        name: str | None,
        learn: bool,
        role: str | None,
        share: float | None,
    ) -> CommandRecord:
        """Copies a player: one that stays as it is, under a name, or one that goes on learning.

        Args:
          name: of a copy that does not learn. role, share: of one that does; by default its source's.

        Raises:
          NotFoundError, BadRequestError, SteeringError.
        """
        source = self._pages.player(run_id, player)
        if learn:
            data: dict[str, Any] = {
                "learn": True,
                "entry": self.sources.roster_entry(run_id, source, role, share),
            }
        elif name is None and source.state != "learning":
            raise BadRequestError("name: a copy that does not learn needs one")
        else:
            data = {} if name is None else {"name": name}
        return self.command(run_id, "branch", player, data, by)

    def command(
        self, run_id: str, kind: str, player: str, data: dict[str, Any], by: Principal
    ) -> CommandRecord:
        """Has a command carried out: by the run's owner, or here and now where nobody owns the run.

        Returns:
          It, done; or still pending when a running league takes longer than a request should wait.

        Raises:
          NotFoundError. SteeringError: it cannot be carried out; says what stands in its way.
        """
        command = self._commands.add(run_id, kind, player, data, by.name)
        self._access.audit(by, f"player.{kind}", f"{run_id}:{player}", _short(data))
        deadline = time.monotonic() + WAIT_SECONDS
        while command.state == "pending" and time.monotonic() < deadline:
            if not self._carry_out(run_id):
                time.sleep(POLL_SECONDS)
            command = self._commands.get(run_id, command.id)
        if command.state == "failed":
            raise SteeringError(command.error or "refused")
        return command

    def enqueue(self, run_id: str, kind: str, player: str, data: dict[str, Any], by: Principal) -> None:
        """Has a command carried out when the run's owner gets to it; where there is none, here and now."""
        self._commands.add(run_id, kind, player, data, by.name)
        self._carry_out(run_id)

    def command_of(self, run_id: str, command_id: int) -> CommandRecord:
        """Raises: NotFoundError."""
        return self._commands.get(run_id, command_id)

    def commands(self, run_id: str, limit: int, before: int | None = None) -> list[CommandRecord]:
        """Returns a run's commands, newest first. Raises: NotFoundError."""
        self._runs.get(run_id)
        return self._commands.newest(run_id, limit, before)

    def upload(self, data: bytes, network: str | None, by: Principal) -> tuple[str, Upload]:
        """Keeps weights that somebody brings; returns their sha256.

        Raises:
          BadRequestError: they are nothing that can be played, or not safe to read. ForbiddenError.
        """
        from league.store.checkpoints import CheckpointStore
        from league.store.uploads import TORCHSCRIPT, inspect

        if data[:4] == b"PK\x03\x04" and by.scope < Scope.admin:
            raise ForbiddenError(
                "TorchScript carries code; uploading it needs the admin scope (ONNX does not)"
            )
        upload = inspect(data, network)
        assert upload.kind != TORCHSCRIPT or by.scope >= Scope.admin  # noqa: S101  the same, by what it turned out to be
        sha = CheckpointStore(self._checkpoint_url).put(upload.data)
        self._runs.add_upload(sha, upload.kind, len(upload.data), by.name)
        self._access.audit(by, "checkpoint.upload", sha, {"kind": upload.kind, "bytes": len(upload.data)})
        return sha, upload

    def download(self, run_id: str, player: str) -> bytes:
        """Returns a player's weights as safetensors, a learning one's as last saved, without its optimiser.

        Raises:
          NotFoundError. BadRequestError: it has none. CheckpointError: missing or damaged.
        """
        from agents.networks import weights
        from league.store.checkpoints import CheckpointStore

        record = self._pages.player(run_id, player)
        sha = record.learner_state if record.state == "learning" else record.checkpoint
        if sha is None:
            kind, _, rest = (record.bot or "").partition(":")
            if kind in ("onnx", "torchscript"):
                return CheckpointStore(self._checkpoint_url).get(rest)
            raise BadRequestError(f"{player} is {record.bot or 'nobody'}: it has no weights")
        data = CheckpointStore(self._checkpoint_url).get(sha)
        if record.state != "learning":
            return data
        network, spec = weights.load_network(data)
        return weights.dump_network(network, spec)

    def ask_tournament(self, run_id: str, rules: dict[str, Any], by: Principal) -> TournamentRecord:
        """Writes down a tournament that shall be played.

        Raises:
          NotFoundError: no such run or player. BadRequestError, MatchmakingError: the rules do not hold.
        """
        from league.study.tournaments import parse_rules

        run = self._runs.get(run_id)
        parsed = parse_rules(rules)
        names = {*parsed.players, *parsed.opponents}
        if len(names) > MOST_TOURNAMENT_PLAYERS:
            raise BadRequestError(f"players: {MOST_TOURNAMENT_PLAYERS} at most in one tournament")
        if not 1 <= parsed.stop.max_games <= MOST_PAIR_GAMES:
            raise BadRequestError(f"max_games: 1 to {MOST_PAIR_GAMES:,} a pair")
        parsed.build()
        self._require_players(run, names)
        asked = self._tournaments.ask(run_id, asdict(parsed), by.name)
        self._access.audit(by, "tournament.ask", f"{run_id}:{asked.id}", {"players": sorted(names)})
        return asked

    def cancel_tournament(self, tournament_id: int, by: Principal) -> TournamentRecord:
        """Breaks a tournament off. Raises: NotFoundError. ConflictError: it is over."""
        record = self._tournaments.cancel(tournament_id)
        self._access.audit(by, "tournament.cancel", f"{record.run_id}:{tournament_id}")
        return record

    def _carry_out(self, run_id: str) -> bool:
        """Carries a run's commands out if nobody owns it; returns whether it did."""
        token = self._runs.hold(run_id, f"control:{os.getpid()}", HOLD_SECONDS)
        if token is None:
            return False
        from league.runtime.offline import carry_out

        try:
            carry_out(self._database.url, self._checkpoint_url, run_id, token)
        finally:
            self._runs.let_go(run_id, token)
        return True

    def _changed_config(
        self, run: RunRecord, patch: dict[str, Any], by: Principal
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Returns the new config, and what has changed in it by path."""
        from league.config.run import RunConfig

        new = self.parse(merged(run.config, patch), by)
        old = RunConfig.from_data(run.config)
        paths = changes(old, new)
        require_live(paths, playing=run.state == "running")
        require_same_logits(old, new)
        return new.model_dump(mode="json", exclude_none=True), {"paths": paths}

    def _require_players(self, run: RunRecord, names: set[str]) -> None:
        from agents.errors import UnknownBotError
        from agents.players.bots import make_bot
        from league.config.sides import spec_of
        from league.study.tournaments import plain_name

        for name in names:
            plain = plain_name(name)
            if not self._pages.has_player(run.id, plain):
                try:
                    make_bot(plain, spec_of(run.game), 0)
                except UnknownBotError as error:
                    raise BadRequestError(f"players: no player {name!r} in run {run.id}; {error}") from error

    def require_allowed_code(self, where: str, code: str, by: Principal) -> None:
        """Raises: ForbiddenError: a game or a network is code of a module that this server does not run."""
        kind, _, rest = code.partition(":")
        if kind != "python" or by.token_id is None:
            return
        module = rest.partition(":")[0]
        if not permits(self._settings.python_modules, module):
            raise ForbiddenError(
                f"{where}: this server runs no code of module {module!r}; whoever runs it can list the "
                "module in LEAGUE_PYTHON_MODULES"
            )

    def _note(self, run_id: str, event: EventRecord) -> None:
        LeagueRepository(self._database, run_id).add_event(event)


def _short(data: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in data.items() if k != "entry"}
