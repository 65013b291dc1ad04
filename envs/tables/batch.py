"""PettingZoo environments, AEC and Parallel, as a batch of games.

Each game of the batch is one environment, in this process or, with `isolation="process"`, in one of its own,
where a crash or an endless loop costs one episode.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from envs.actions import allowed
from envs.errors import GameContractError, GameError, IllegalActionError
from envs.spec import GameSpec, SeatSpec
from envs.tables.encoding import ImageOptions
from envs.tables.table import Due, Outcome, Table, TableOptions, TableSpec
from envs.vector_game import Step, Turns, VectorGame


class Seats(Protocol):
    """One environment, wherever it runs."""

    @property
    def spec(self) -> TableSpec: ...

    def play_in(self, factors: tuple[int, ...]) -> None: ...

    def reset(self, seed: int) -> Due: ...

    def step(self, actions: Sequence[Any], due: Due) -> Outcome: ...

    def due(self) -> Due: ...

    def restart(self) -> None: ...

    def close(self) -> None: ...


class PettingZooGame(VectorGame):
    """A batch of PettingZoo environments.

    Attributes:
      make_environment: makes one like those of the batch.
    """

    def __init__(
        self,
        game_id: str,
        make: Callable[[], Any],
        num_envs: int,
        seed: int | None = None,
        *,
        forfeit_illegal: bool = False,
        teams: str | Sequence[int] = "each",
        zero_sum: bool = False,
        bins: int = 7,
        seat_indicator: bool | None = None,
        max_episode_steps: int = 10_000,
        image_size: int = 0,
        grayscale: bool = False,
        frame_stack: int = 1,
        observations: str = "flat",
        actions: str = "steps",
        isolation: str = "none",
    ) -> None:
        """Args:
        make: makes one environment.
        teams: `each`: everybody alone; `all`: one team; `prefix`: by name up to the last underscore; or a
          team's number for each seat.
        zero_sum: the returns sum to zero.
        seat_indicator: append which seat it is to what it sees; by default where the seats see different
          things and one network may have to play several of them.
        bins, max_episode_steps, image_size, grayscale, frame_stack: see `TableOptions` and `ImageOptions`.
        observations: `flat`: dictionaries and tuples as one array; `named`: their parts as named arrays.
        actions: continuous ones as `steps`, or `continuous` as vectors.
        isolation: `process`: each environment in a process of its own.

        Raises:
          GameError: it cannot be made or played.
        """
        if num_envs < 1:
            raise GameError(f"{game_id} needs num_envs ≥ 1, not {num_envs}")
        _require_known(game_id, "observations", observations, ("flat", "named"))
        _require_known(game_id, "actions", actions, ("steps", "continuous"))
        self.make_environment = make
        image = ImageOptions(image_size, grayscale, frame_stack)
        named, continuous = observations == "named", actions == "continuous"
        if named and seat_indicator:
            raise GameError(f"{game_id}: seat_indicator needs observations=flat")
        options = TableOptions(bins, False, max_episode_steps, image, named, continuous)
        if not named:
            first = Table(game_id, make, options)
            if seat_indicator is None:
                seat_indicator = len({box.shape for box in first.spec.observations}) > 1
            options = replace(options, seat_indicator=seat_indicator)
            first.close()

        def table() -> Seats:
            if isolation == "process":
                from envs.tables.process import ProcessTable

                return ProcessTable(game_id, make, options)
            return Table(game_id, make, options)

        self._tables: list[Seats] = [table() for _ in range(num_envs)]
        self.num_envs = num_envs
        self.spec = _spec(game_id, self._tables[0].spec, teams, zero_sum, max_episode_steps)
        try:
            self._parts, self._action_size = self.spec.observation_parts, self.spec.action_size
        except TypeError as error:
            raise GameError(str(error)) from error
        for t in self._tables:
            t.play_in(self.spec.action_factors)
        self._forfeit = forfeit_illegal
        # A generator an environment: what is drawn in one must not depend on the others.
        self._rngs = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(num_envs)]
        seats = self.spec.num_seats
        rows = num_envs * (1 if self.spec.turn_based else seats)
        self._obs = np.zeros((rows, self.spec.observation_size), self.spec.observation_dtype)
        self._legal = np.zeros((rows, self.spec.num_actions), np.bool_)
        self._env = np.zeros(rows, np.int32)
        self._seat = np.zeros(rows, np.int32)
        self._rewards = np.zeros((num_envs, seats), np.float32)
        self._totals = np.zeros((num_envs, seats), np.float32)
        self._returns = np.zeros((num_envs, seats), np.float32)
        self._ended, self._truncated, self._aborted = (np.zeros(num_envs, np.bool_) for _ in range(3))
        masks = [_own_mask(space, self.spec) for space in self._tables[0].spec.actions]
        self._own_masks = np.stack(masks)
        self._row_of = [(-1, -1)] * rows
        self._errors: list[str] = []
        self._history: list[list[int]] = [[] for _ in range(num_envs)]
        self._due: list[Due] = [self._begin(env) for env in range(num_envs)]
        self._gather()

    def turns(self) -> Turns:
        r = self._rows
        obs = self._obs[:r].reshape((r, *self.spec.observation_shape))
        if self._parts:
            obs = obs.view(self.spec.row_dtype)[:, 0]
        return Turns(self._env[:r], self._seat[:r], obs, self._legal[:r])

    def step(self, actions: npt.NDArray[np.integer[Any]]) -> Step:
        if self._action_size:
            permitted = np.isfinite(actions).all(axis=1)
        else:
            permitted = allowed(actions, self._legal[: self._rows], self.spec.action_factors)
        if not self._forfeit and not permitted.all():
            bad = int(np.flatnonzero(~permitted)[0])
            legal = np.flatnonzero(self._legal[bad]).tolist()
            raise IllegalActionError(
                self.spec.game_id, int(self._env[bad]), int(self._seat[bad]), actions[bad].tolist(), legal
            )
        for flags in (self._ended, self._truncated, self._aborted):
            flags[:] = False
        self._rewards[:] = 0.0
        chosen, row, every_permitted = self._listed(actions), 0, bool(permitted.all())
        for env, due in enumerate(self._due):
            begin, row = row, row + len(due.seats)
            if every_permitted or permitted[begin:row].all():
                self._play(env, chosen[begin:row], due)
            else:  # the game is lost for whoever broke its rules, and goes no further
                self._ended[env] = True
                offender = due.seats[int(np.flatnonzero(~permitted[begin:row])[0])]
                self._rewards[env, offender] = -1.0
        self._totals += self._rewards
        for env in np.flatnonzero(self._ended).tolist():
            self._returns[env] = self._totals[env]
            self._totals[env] = 0.0
            self._due[env] = self._begin(env)
        self._gather()
        return Step(self._rewards, self._ended, self._truncated, self._returns, self._aborted)

    def histories(self, envs: npt.NDArray[np.integer[Any]]) -> list[list[int]]:
        return [list(self._history[e]) for e in envs]

    def take_errors(self) -> list[str]:
        errors, self._errors = self._errors, []
        return errors

    def close(self) -> None:
        for table in self._tables:
            table.close()

    def _listed(self, actions: npt.NDArray[Any]) -> list[Any]:
        return list(actions) if self._action_size else actions.tolist()

    def _play(self, env: int, actions: list[Any], due: Due) -> None:
        if not self._action_size:
            self._history[env] += actions
        try:
            outcome = self._tables[env].step(actions, due)
            self._rewards[env] = outcome.rewards
            self._ended[env], self._truncated[env] = outcome.ended, outcome.truncated
            if not outcome.ended:
                self._due[env] = self._tables[env].due()
        except GameContractError as error:
            self._abort(env, error)

    def _abort(self, env: int, error: GameContractError) -> None:
        self._errors.append(str(error))
        self._rewards[env] = 0.0
        self._ended[env] = self._truncated[env] = self._aborted[env] = True
        self._tables[env].restart()

    def _begin(self, env: int) -> Due:
        """Begins an episode. Raises: GameError: it cannot be begun, three times in a row."""
        self._history[env] = []
        for attempt in range(3):
            try:
                return self._tables[env].reset(int(self._rngs[env].integers(2**31)))
            except GameContractError as error:
                self._errors.append(str(error))
                if attempt == 2:
                    raise GameError(f"{self.spec.game_id} cannot begin an episode: {error}") from error
                self._tables[env].restart()
        raise AssertionError  # the loop returns or raises

    def _gather(self) -> None:
        row = 0
        for env, due in enumerate(self._due):
            for seat, observation, mask in zip(due.seats, due.observations, due.masks, strict=True):
                flat = observation.ravel()
                self._obs[row, : len(flat)] = flat
                if self._row_of[row] != (env, seat) or mask is not None:
                    # Most rows are of the same seat as a move ago and see as much; then nothing else changes.
                    self._row_of[row] = (env, seat) if mask is None else (-1, -1)
                    self._env[row], self._seat[row] = env, seat
                    self._obs[row, len(flat) :] = 0
                    self._legal[row] = self._own_masks[seat]
                    if mask is not None:
                        self._legal[row, : len(mask)] = mask
                row += 1
        self._rows = row


def from_factory(
    game_id: str,
    factory: Callable[..., Any],
    parameters: dict[str, Any],
    num_envs: int,
    seed: int | None,
    **options: Any,
) -> PettingZooGame:
    """Makes a batch of what a factory makes; parameters that `PettingZooGame` knows are taken out of them."""
    own = {k: v for k, v in parameters.items() if k in OWN_PARAMETERS}
    given = {k: v for k, v in parameters.items() if k not in OWN_PARAMETERS}
    return PettingZooGame(game_id, _Make(factory, given), num_envs, seed, **{**options, **own})


OWN_PARAMETERS = (
    "teams", "zero_sum", "bins", "seat_indicator", "max_episode_steps", "image_size", "grayscale",
    "frame_stack", "observations", "actions",
)  # fmt: skip


class _Make:
    """A factory with its parameters; unlike a closure it can be sent to another process."""

    def __init__(self, factory: Callable[..., Any], parameters: dict[str, Any]) -> None:
        self._factory, self._parameters = factory, parameters

    def __call__(self) -> Any:
        return self._factory(**self._parameters)


def _spec(
    game_id: str, table: TableSpec, teams: str | Sequence[Any], zero_sum: bool, max_episode_steps: int
) -> GameSpec:
    numbers = _team_numbers(game_id, table.names, teams)
    seats = tuple(
        SeatSpec(name, observation, action, team)
        for name, observation, action, team in zip(
            table.names, table.observations, table.actions, numbers, strict=True
        )
    )
    return GameSpec(
        game_id,
        seats,
        table.turn_based,
        max_episode_steps * (1 if table.turn_based else len(seats)),
        (-np.inf, np.inf),
        zero_sum,
        "win_draw_loss" if zero_sum else "score",
    )


def _team_numbers(game_id: str, names: Sequence[str], teams: str | Sequence[Any]) -> tuple[int, ...]:
    if teams == "each":
        return tuple(range(len(names)))
    if teams == "all":
        return (0,) * len(names)
    if teams == "prefix":
        prefixes = [name.rpartition("_")[0] or name for name in names]
        order = list(dict.fromkeys(prefixes))
        return tuple(order.index(p) for p in prefixes)
    if isinstance(teams, str):
        return tuple(0 if name.startswith(teams) else 1 for name in names)
    if all(isinstance(t, str) for t in teams):
        return tuple(0 if name.startswith(tuple(teams)) else 1 for name in names)
    if len(teams) != len(names):
        raise GameError(
            f"{game_id}: teams has {len(teams)} numbers for {len(names)} seats: {', '.join(names)}"
        )
    return tuple(int(t) for t in teams)


def _require_known(game_id: str, parameter: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise GameError(f"{game_id}: {parameter}={value}; allowed: {', '.join(known)}")


def _own_mask(
    space: spaces.Discrete | spaces.MultiDiscrete | spaces.Box, spec: GameSpec
) -> npt.NDArray[np.bool_]:
    """Returns the columns that a seat has, out of those of all seats."""
    if isinstance(space, spaces.Box):
        return np.zeros(0, np.bool_)
    own = (int(space.n),) if isinstance(space, spaces.Discrete) else tuple(int(n) for n in space.nvec)
    columns = []
    for f, choices in enumerate(spec.action_factors):
        there = own[f] if f < len(own) else 1
        columns.append(np.arange(choices) < there)
    return np.concatenate(columns)
