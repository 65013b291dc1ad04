"""Teachers: networks made from recorded games, which learners begin as and are reset to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from agents import weights
from agents.errors import WeightsError
from agents.imitation import Demonstrations, Imitation, imitate
from league.checkpoints import CheckpointStore
from league.config import RunConfig
from league.db.league_state import KEPT_EPISODES
from league.errors import CheckpointError, ConfigError, LeagueError
from league.services import LeagueService


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


def recorded(service: LeagueService, run_id: str) -> Iterator[dict[str, Any]]:
    """Yields the games that a run has written down, newest first. Raises: NotFoundError."""
    for heading in service.episodes(run_id, limit=KEPT_EPISODES):
        episode = service.episode(run_id, heading.id)
        yield {"returns": episode.returns, "moves": episode.moves or []}


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
