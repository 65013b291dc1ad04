"""Teachers: networks made from recorded games or of other players, which learners begin as."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import envs
from agents.acting.policy import NetworkPolicy
from agents.errors import WeightsError
from agents.networks import weights
from agents.players.distillation import Distilled, distil
from agents.players.imitation import Demonstrations, Imitation, imitate
from league.config.run import RunConfig
from league.errors import CheckpointError, ConfigError, LeagueError
from league.pool.records import Snapshot
from league.store.checkpoints import CheckpointStore
from league.store.policies import load_network

# Played at once.
DISTILLED_GAMES = 256


def require_teachers(config: RunConfig, store: CheckpointStore, source: str = "config") -> None:
    """Raises: ConfigError: a teacher is not in the store, or of another network than its player's."""
    for index, entry in enumerate(config.players):
        if entry.teacher is None:
            continue
        path = f"{source}: players[{index}].teacher"
        try:
            _, spec = weights.load_network(store.get(entry.teacher))
        except (CheckpointError, WeightsError) as error:
            raise ConfigError(f"{path}: {error}; `league imitate` makes one and says its sha256") from error
        wanted = config.network_spec(entry, config.game_spec())
        if spec != wanted:
            raise ConfigError(f"{path}: it is of {spec}, the player's network is {wanted}")


def distilled(
    snapshot: Snapshot,
    store: CheckpointStore,
    *,
    players: Sequence[str] = (),
    decisions: int = 1_000_000,
    seed: int = 0,
) -> tuple[Distilled, dict[str, float]]:
    """Makes one player of many: of the players named, or of the pool's equilibrium.

    Returns:
      It, and the share of each player in it.

    Raises:
      LeagueError: no such player. AgentError: one remembers. CheckpointError: weights are gone.
    """
    run_id = snapshot.run.id
    config = RunConfig.from_data(snapshot.run.config, f"run {run_id}")
    spec = config.game_spec()
    here = {p.name: p for p in snapshot.players if p.checkpoint or p.learner_state}
    if unknown := [name for name in players if name not in here]:
        raise LeagueError(f"no player {unknown[0]!r} with a network in run {run_id}")
    shares = dict.fromkeys(players, 1.0 / max(1, len(players)))
    if not players:
        nash = snapshot.ratings.get("nash", {})
        shares = {name: nash[name].mu for name in here if name in nash and nash[name].mu > 0.0}
        if not shares:  # not surveyed yet, or nobody but bots in it
            shares = {name: 1.0 / len(here) for name in here}
    weights_of = (here[name].checkpoint or here[name].learner_state or "" for name in shares)
    teachers = [NetworkPolicy(load_network(store, spec, sha)) for sha in weights_of]
    game = envs.make(config.game, DISTILLED_GAMES, seed, forfeit_illegal=True)
    try:
        student = config.network_spec(config.players[0], spec)
        made = distil(game, teachers, list(shares.values()), student, decisions=decisions, seed=seed)
    finally:
        game.close()
    total = sum(shares.values())
    return made, {name: share / total for name, share in shares.items()}


def read_games(path: Path) -> Iterator[dict[str, Any]]:
    """Yields games of a file, a JSON object each line, as `GET /runs/ID/episodes/N` answers.

    Raises:
      LeagueError: it cannot be read, or a line is no game.
    """
    try:
        with path.open() as lines:
            for number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                try:
                    game = json.loads(line)
                    moves = [(m["seat"], m["action"], m["observation"]) for m in game["moves"]]
                    fine = all(0 <= seat < len(game["returns"]) for seat, _, _ in moves)
                except (ValueError, KeyError, TypeError) as error:
                    raise LeagueError(f"{path}:{number}: no game: {error!r}") from error
                if not fine:
                    raise LeagueError(f"{path}:{number}: a move of a seat that got no return")
                yield game
    except OSError as error:
        raise LeagueError(f"{path}: {error.strerror}") from error


def teacher_from(
    config: RunConfig,
    episodes: Iterable[dict[str, Any]],
    *,
    players: Sequence[str] = (),
    winners: bool = False,
    epochs: int = 20,
    seed: int = 0,
) -> Imitation:
    """Makes a teacher for the players of a run's config out of recorded games.

    Raises:
      AgentError: the games do not fit, or there is nothing to learn from.
    """
    spec = config.network_spec(config.players[0], config.game_spec())
    return imitate(
        Demonstrations.of(episodes, spec, players=players, winners=winners), spec, epochs=epochs, seed=seed
    )
