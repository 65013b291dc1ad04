"""Where somebody who joins a run comes from: an upload, another player, a bot, a URL."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from league.control.inputs import require_host
from league.errors import BadRequestError
from league.pool.records import PlayerRecord, RunRecord
from league.settings import Settings
from league.store.repositories.pages import LeaguePages
from league.store.repositories.runs import RunRepository
from league.store.session import Database


@dataclass(frozen=True)
class NewPlayer:
    """Somebody who is to join a run: exactly one of the sources.

    `upload`: sha256 of uploaded weights. `source_run`, `source_player`: a player of this or another run.
    `bot`: random, mcts:N. `url`: of a remote policy. `search`: with weights, positions their network looks
    at before each move.
    """

    name: str
    upload: str | None = None
    source_run: str | None = None
    source_player: str | None = None
    bot: str | None = None
    search: int | None = None
    url: str | None = None
    label: str | None = None
    tags: tuple[str, ...] = ()


class PlayerSources:
    """Finds the weights and the roster entries of those who join."""

    def __init__(self, database: Database, checkpoint_url: str, settings: Settings) -> None:
        self._checkpoint_url, self._settings = checkpoint_url, settings
        self._runs = RunRepository(database)
        self._pages = LeaguePages(database)

    def data_of(self, run: RunRecord, new: NewPlayer) -> dict[str, Any]:
        """Returns what the command that adds a player says of it. Raises: BadRequestError, NotFoundError."""
        if new.search is not None:
            return self._searching(run, new)
        given = [x for x in (new.upload, new.source_player, new.bot, new.url) if x is not None]
        if len(given) != 1:
            raise BadRequestError("give exactly one of: checkpoint, from, bot, url")
        if new.upload is not None:
            kind = self._runs.upload_kind(new.upload)
            if kind == "safetensors":
                return {"checkpoint": new.upload}
            return {"bot": f"{kind}:{new.upload}"}
        if new.bot is not None:
            return {"bot": new.bot}
        if new.url is not None:
            require_host(new.url, self._settings.remote_hosts, "LEAGUE_REMOTE_HOSTS")
            return {"bot": new.url}
        source_run = new.source_run or run.id
        source = self._pages.player(source_run, new.source_player or "")
        if source.bot is not None:
            weights = {} if source.checkpoint is None else {"checkpoint": source.checkpoint}
            return {"bot": source.bot, **weights}
        return {"checkpoint": self.weights_of(source), "steps": source.steps, "source": source_run}

    def _searching(self, run: RunRecord, new: NewPlayer) -> dict[str, Any]:
        """Returns the same of a network that is to look ahead. Raises: BadRequestError: it is none."""
        data = self.data_of(run, replace(new, search=None))
        if "checkpoint" not in data or "bot" in data:
            raise BadRequestError("search: only of a player or an upload with a network of League's")
        return {**data, "bot": f"search:{new.search}"}

    def weights_of(self, player: PlayerRecord) -> str:
        """Returns the sha256 of weights that stay: of a learning player, a copy of where it is."""
        from agents.networks import weights
        from league.store.checkpoints import CheckpointStore

        store = CheckpointStore(self._checkpoint_url)
        if player.state != "learning" and player.checkpoint is not None:
            return player.checkpoint
        if player.learner_state is None:
            raise BadRequestError(f"{player.name} has no weights")
        network, spec = weights.load_network(store.get(player.learner_state))
        return store.put(weights.dump_network(network, spec))

    def roster_entry(
        self, run_id: str, source: PlayerRecord, role: str | None, share: float | None
    ) -> dict[str, Any]:
        """Returns the roster entry of a player that begins to learn where `source` is."""
        from agents.networks import weights
        from league.config.run import RunConfig
        from league.config.sections import NetworkConfig
        from league.store.checkpoints import CheckpointStore

        config = RunConfig.from_data(self._runs.get(run_id).config)
        roster = config.roster()
        like = roster.get(source.name) or roster.get(source.parent or "")
        wanted = role or (like.role if like else "main")
        entry: dict[str, Any] = {"role": wanted}
        if like is not None:
            whole = like.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
            same = like.role == wanted
            entry = {k: v for k, v in whole.items() if same or k in ("seats", "learner")} | {"role": wanted}
        entry.pop("count", None)
        entry.pop("population", None)
        entry.pop("teacher", None)  # it goes on from the weights it is branched from
        sha = source.learner_state if source.state == "learning" else source.checkpoint
        if sha is None:
            raise BadRequestError(f"{source.name} has no network that could learn")
        _, spec = weights.load_network(CheckpointStore(self._checkpoint_url).get(sha))
        if spec.critic == "team" and not config.shows_teams:
            raise BadRequestError(
                f"the critic of {source.name} is to see what teammates see, which this run shows nobody; "
                "launch one with network.critic: team"
            )
        entry["network"] = NetworkConfig.of(spec).model_dump(mode="json", exclude_none=True)
        if share is not None:
            entry["share"] = share
        data = config.model_dump(mode="json", exclude_none=True)
        RunConfig.from_data({**data, "players": [*data["players"], entry]})
        return entry
