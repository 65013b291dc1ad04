"""The rules that every game must keep, run on a real batch of it.

`check(game_id)` plays random games and returns a report; a game that passes can be trained on.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from envs.actions import Actions, allowed, compose, decompose, random_actions, random_moves
from envs.errors import GameContractError, GameError, IllegalActionError
from envs.registry import make
from envs.vector_game import Step, Turns, VectorGame


@dataclass
class ConformanceReport:
    """What was checked and what failed, by rule."""

    game_id: str
    passed: list[str] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    episodes: int = 0
    moves: int = 0

    @property
    def ok(self) -> bool:
        return not self.failures

    def raise_for_failures(self) -> None:
        """Raises: GameContractError: naming every broken rule."""
        if self.failures:
            lines = "; ".join(f"{rule}: {why}" for rule, why in self.failures.items())
            raise GameContractError(f"{self.game_id} breaks the game contract: {lines}")


def check(
    game_id: str,
    *,
    episodes: int = 50,
    max_moves: int = 20_000,
    seconds: float = 20.0,
    num_envs: int = 16,
    seed: int = 0,
) -> ConformanceReport:
    """Plays `game_id` at random and checks the contract.

    Args:
      game_id: as for `envs.make`.
      episodes: stop the random play after this many have ended.
      max_moves: or after this many moves.
      seconds: or after this long, of each rule: a slow game is judged by less play.
      num_envs: games of a batch, 2 at least.
      seed: of the games and the random play.
    """
    report = ConformanceReport(game_id)
    rules: dict[str, Callable[[], None]] = {
        "play": lambda: _check_play(game_id, num_envs, report, episodes, max_moves, seconds, seed),
        "seeding": lambda: _check_seeding(game_id, num_envs, seconds, seed),
        "reset isolation": lambda: _check_isolation(game_id, num_envs, seconds, seed),
        "illegal actions": lambda: _check_illegal(game_id, num_envs, seed),
    }
    for rule, run in rules.items():
        try:
            run()
        except (GameError, AssertionError) as error:
            report.failures[rule] = str(error) or repr(error)
        except Exception as error:  # a game may break in any way; the report is how its author learns
            report.failures[rule] = f"{type(error).__name__}: {error}"
        else:
            report.passed.append(rule)
    return report


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise GameContractError(message)


def _check_turns(game: VectorGame, turns: Turns) -> None:
    spec, rows = game.spec, len(turns.env)
    _require(rows > 0, "turns() has no row")
    _require(turns.seat.shape == (rows,), f"seat has shape {turns.seat.shape}, expected ({rows},)")
    shape, dtype = (rows, *spec.observation_shape), spec.observation_dtype
    if spec.observation_parts:
        shape, dtype = (rows,), spec.row_dtype
    _require(turns.obs.shape == shape, f"obs has shape {turns.obs.shape}, expected {shape}")
    _require(turns.obs.dtype == dtype, f"obs is {turns.obs.dtype}, the space says {dtype}")
    for array in [turns.obs[name] for name in dtype.names] if dtype.names else [turns.obs]:
        _require(bool(np.isfinite(array).all()), "obs holds NaN or infinity")
    _require(
        turns.legal.shape == (rows, spec.num_actions),
        f"legal has shape {turns.legal.shape}, expected {(rows, spec.num_actions)}",
    )
    _require(turns.legal.dtype == np.bool_, f"legal is {turns.legal.dtype}, expected bool")
    bounds = np.cumsum([0, *spec.action_factors])
    for begin, end in pairwise(bounds.tolist()):
        _require(bool(turns.legal[:, begin:end].any(axis=1).all()), "a row has no legal action")
    _require(bool(((turns.env >= 0) & (turns.env < game.num_envs)).all()), "env is out of range")
    _require(bool(((turns.seat >= 0) & (turns.seat < spec.num_seats)).all()), "seat is out of range")
    _require(len(np.unique(turns.env)) == game.num_envs, "a game of the batch has no decision due")
    places = turns.env.astype(np.int64) * spec.num_seats + turns.seat
    _require(len(np.unique(places)) == rows, "a seat was asked twice at once")
    if spec.turn_based:
        _require(len(np.unique(turns.env)) == rows, "a turn-based game asked two seats at once")


def _check_step(game: VectorGame, step: Step) -> None:
    spec, n = game.spec, game.num_envs
    _require(step.rewards.shape == (n, spec.num_seats), f"rewards have shape {step.rewards.shape}")
    _require(step.ended.shape == (n,) and step.ended.dtype == np.bool_, "ended is not bool [num_envs]")
    _require(step.truncated.shape == (n,), "truncated is not [num_envs]")
    _require(not bool((step.truncated & ~step.ended).any()), "truncated without ended")
    _require(bool(np.isfinite(step.rewards).all()), "a reward is NaN or infinite")
    if step.aborted is not None and step.aborted.any():
        raise GameContractError("; ".join(game.take_errors()) or "an episode was aborted")


def _check_play(
    game_id: str,
    num_envs: int,
    report: ConformanceReport,
    episodes: int,
    max_moves: int,
    seconds: float,
    seed: int,
) -> None:
    over = time.monotonic() + seconds
    game, rng = make(game_id, num_envs, seed), np.random.default_rng(seed)
    spec = game.spec
    totals = np.zeros((num_envs, spec.num_seats))
    lengths = np.zeros(num_envs, np.int64)
    low, high = spec.reward_range
    while report.episodes < episodes and report.moves < max_moves and time.monotonic() < over:
        turns = game.turns()
        _check_turns(game, turns)
        env = turns.env.copy()
        step = game.step(random_moves(game.spec, turns.legal, rng))
        _check_step(game, step)
        np.add.at(lengths, env, 1)
        report.moves += len(env)
        totals += step.rewards
        for e in np.flatnonzero(step.ended):
            where = f"episode {report.episodes} (seed {seed})"
            _require(
                bool(np.allclose(totals[e], step.returns[e], atol=1e-4)),
                f"{where}: rewards sum to {totals[e].tolist()}, the outcome says {step.returns[e].tolist()}",
            )
            if spec.zero_sum:
                _require(
                    abs(float(totals[e].sum())) < 1e-4,
                    f"{where}: returns {totals[e].tolist()} do not sum to 0",
                )
            _require(
                bool(((totals[e] >= low - 1e-4) & (totals[e] <= high + 1e-4)).all()),
                f"{where}: returns {totals[e].tolist()} leave {spec.reward_range}",
            )
            _require(
                lengths[e] <= spec.max_length,
                f"{where}: {lengths[e]} moves, max_length says {spec.max_length}",
            )
            report.episodes += 1
        totals[step.ended] = 0.0
        lengths[step.ended] = 0


def _transcript(game: VectorGame, seed: int, steps: int, seconds: float) -> list[npt.NDArray[np.generic]]:
    rng, record, over = np.random.default_rng(seed), [], time.monotonic() + seconds
    for _ in range(steps):
        if time.monotonic() > over:
            break
        turns = game.turns()
        record += [turns.env.copy(), turns.seat.copy(), turns.obs.copy(), turns.legal.copy()]
        step = game.step(random_moves(game.spec, turns.legal, rng))
        record += [step.rewards.copy(), step.ended.copy()]
    return record


def _check_seeding(game_id: str, num_envs: int, seconds: float, seed: int) -> None:
    first = _transcript(make(game_id, num_envs, seed), seed, 60, seconds / 2)
    second = _transcript(make(game_id, num_envs, seed), seed, 60, seconds / 2)
    same = all(np.array_equal(a, b) for a, b in zip(first, second, strict=False))
    _require(same, "the same seed and the same actions gave different games")


def _check_isolation(game_id: str, num_envs: int, seconds: float, seed: int) -> None:
    """Game 0 is played differently in the second batch; no other game may show it."""
    over = time.monotonic() + seconds
    batches = [make(game_id, num_envs, seed) for _ in range(2)]
    for i in range(200):
        if time.monotonic() > over:
            return
        observed = []
        for batch, game in enumerate(batches):
            turns = game.turns()
            actions = _same_for_all(game, turns, np.random.default_rng((seed, i)))
            zero = turns.env == 0
            other = np.random.default_rng((seed, i, batch))
            actions[zero] = random_moves(game.spec, turns.legal[zero], other)
            others = ~zero
            turns_of_others = [turns.env[others].copy(), turns.seat[others].copy(), turns.obs[others].copy()]
            step = game.step(actions)
            observed.append([*turns_of_others, step.rewards[1:].copy(), step.ended[1:].copy()])
        if len(observed[0][0]) != len(observed[1][0]):
            raise GameContractError(f"step {i}: the rows of other games changed with game 0")
        same = all(np.array_equal(a, b) for a, b in zip(*observed, strict=True))
        _require(same, f"step {i}: playing game 0 differently changed another game")


def _same_for_all(game: VectorGame, turns: Turns, rng: np.random.Generator) -> Actions:
    """Draws an action for every game and seat, due or not, so that one does not depend on the other rows."""
    spec = game.spec
    size = spec.action_size or spec.num_actions
    draws = rng.random((game.num_envs, spec.num_seats, size), np.float32)[turns.env, turns.seat]
    if spec.action_size:
        return 2.0 * draws - 1.0
    return _highest(draws * turns.legal, spec.action_factors)


def _highest(weights: npt.NDArray[np.float32], factors: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """Returns the action whose every part has the highest weight, [R]."""
    bounds = np.cumsum([0, *factors]).tolist()
    parts = [weights[:, begin:end].argmax(axis=1) for begin, end in pairwise(bounds)]
    return compose(np.stack(parts, axis=1), factors)


def _check_illegal(game_id: str, num_envs: int, seed: int, moves: int = 200) -> None:
    game, rng = make(game_id, num_envs, seed), np.random.default_rng(seed)
    factors = game.spec.action_factors
    if game.spec.action_size:
        return  # a vector is cut to what the game permits
    bounds = np.cumsum([0, *factors])
    for _ in range(moves):
        turns = game.turns()
        actions = random_actions(turns.legal, rng, factors)
        row = int(np.argmin(turns.legal.all(axis=1)))
        out_of_range = bool(turns.legal[row].all())
        if out_of_range:
            illegal = int(np.prod(factors, dtype=object))
        else:
            column = int(np.argmin(turns.legal[row]))
            part = int(np.searchsorted(bounds, column, side="right")) - 1
            parts = decompose(actions[row : row + 1], factors)
            parts[0, part] = column - bounds[part]
            illegal = int(compose(parts, factors)[0])
        wrong = actions.copy()
        wrong[row] = illegal
        _require(not allowed(wrong, turns.legal, factors)[row], f"action {illegal} should be illegal")
        before = game.histories(np.arange(num_envs))
        try:
            game.step(wrong)
        except IllegalActionError as error:
            _require(error.action == illegal, f"the error names action {error.action}, played was {illegal}")
        else:
            raise GameContractError(f"illegal action {illegal} was accepted")
        _require(game.histories(np.arange(num_envs)) == before, "a refused action moved the game")
        if not out_of_range:
            return
        game.step(actions)
