"""The loops over rows that every move passes through, compiled.

Pure functions of arrays; `Pages` is the memory that `trajectories` keeps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

I32 = npt.NDArray[np.int32]
F32 = npt.NDArray[np.float32]


@numba.njit(cache=True)
def group_rows(policy: I32, num_policies: int) -> tuple[I32, I32]:
    """Counting sort of rows by policy.

    Args:
      policy: each row's policy, [R], in [0, num_policies).

    Returns:
      order: row numbers, policy by policy, [R]. starts: where each policy's rows begin in it, [P + 1].
    """
    starts = np.zeros(num_policies + 1, np.int32)
    for p in policy:
        starts[p + 1] += 1
    for p in range(num_policies):
        starts[p + 1] += starts[p]
    place = starts[:-1].copy()
    order = np.empty(policy.shape[0], np.int32)
    for row in range(policy.shape[0]):
        p = policy[row]
        order[place[p]] = row
        place[p] += 1
    return order, starts


@numba.njit(cache=True)
def take_rows(source: npt.NDArray[Any], order: I32, out: npt.NDArray[Any]) -> None:
    """out[i] = source[order[i]] for 2-d arrays."""
    width = source.shape[1]
    for i in range(order.shape[0]):
        row = order[i]
        for k in range(width):
            out[i, k] = source[row, k]


@numba.njit(cache=True)
def sample_actions(
    heads: F32,
    asked: npt.NDArray[np.bool_],
    rows: I32,
    legal: npt.NDArray[np.bool_],
    factors: npt.NDArray[np.int64],
    uniforms: F32,
    temperature: float,
    actions: npt.NDArray[np.int64],
    log_probs: F32,
    values: F32,
) -> None:
    """Draws from the masked softmax of each row's logits and writes actions, log-probabilities, values.

    An action of several parts is drawn part by part, independently; its log-probability is their sum.

    Args:
      heads: logits and value, [G, A + 1], for the rows named by `rows` [G]. asked: which of them count, [G].
      legal: bool [R, A]. factors: choices of each part, [F], A in all.
      uniforms: in [0, 1), [R, F].
      temperature: divides the logits; 0 plays the best.
      actions, log_probs, values: [R], written at `rows`; log π is the undivided policy's.
    """
    num_actions = legal.shape[1]
    weights = np.empty(num_actions, np.float32)
    for i in range(rows.shape[0]):
        if not asked[i]:
            continue
        row = rows[i]
        code, log_prob, start = 0, np.float32(0.0), 0
        for f in range(factors.shape[0]):
            end = start + factors[f]
            best, best_action = np.float32(-np.inf), -1
            for a in range(start, end):
                if legal[row, a] and heads[i, a] > best:
                    best, best_action = heads[i, a], a
            if (
                best_action < 0
            ):  # every legal logit is NaN: play on, the learner's guard deals with the weights
                for a in range(start, end):
                    if legal[row, a]:
                        best_action = a
                best = np.float32(0.0)
            total = np.float32(0.0)
            drawn_total = np.float32(0.0)
            for a in range(start, end):
                weights[a] = 0.0
                if legal[row, a]:
                    weight = np.exp(heads[i, a] - best)
                    total += weight
                    if temperature == 1.0:
                        weights[a] = weight
                    elif temperature > 0.0:
                        weights[a] = np.exp((heads[i, a] - best) / temperature)
                    drawn_total += weights[a]
            action = best_action
            if temperature > 0.0:
                threshold = uniforms[row, f] * drawn_total
                cumulative = np.float32(0.0)
                for a in range(start, end):
                    if weights[a] > 0.0:
                        action = a
                        cumulative += weights[a]
                        if cumulative > threshold:
                            break
            log_prob += heads[i, action] - best - np.log(total)
            code = code * factors[f] + action - start
            start = end
        actions[row] = code
        log_probs[row] = log_prob
        values[row] = heads[i, num_actions]


class Pages(NamedTuple):
    """Trajectories in the making: T decisions of one seat a page, plus what it saw next.

    P pages, L learning players ("owners"), D observation size, A actions. Queues are rings over P places.
    """

    obs: npt.NDArray[Any]  # [P, T + 1, D]
    legal: npt.NDArray[np.bool_]  # [P, T, A]
    actions: npt.NDArray[Any]  # [P, T], or [P, T, D]
    log_probs: F32  # [P, T]
    values: F32  # [P, T + 1]
    rewards: F32  # [P, T]
    terminal: npt.NDArray[np.bool_]  # [P, T]
    memory: F32  # [P, M], of the acting network before the page's first decision
    length: I32  # [P], decisions written
    owner: I32  # [P], -1: free
    version: npt.NDArray[np.int64]  # [P], the owner's weights at the page's first decision
    lane: I32  # [N, seats], the page that a seat writes, -1: none
    free: I32  # [P], a stack
    free_count: I32  # [1]
    open_queue: I32  # [L, P], pages that end with an episode and wait for another
    open_head: I32  # [L]
    open_count: I32  # [L]
    full_queue: I32  # [L, P], pages ready to learn from
    full_head: I32  # [L]
    full_count: I32  # [L]


@numba.njit(cache=True)
def _push(queue: I32, head: I32, count: I32, owner: int, page: int) -> None:
    size = queue.shape[1]
    queue[owner, (head[owner] + count[owner]) % size] = page
    count[owner] += 1


@numba.njit(cache=True)
def _pop(queue: I32, head: I32, count: I32, owner: int) -> Any:
    page = queue[owner, head[owner]]
    head[owner] = (head[owner] + 1) % queue.shape[1]
    count[owner] -= 1
    return page


@numba.njit(cache=True)
def _page_for(pages: Pages, owner: int, version: int, fresh: bool) -> Any:
    """An open page of this owner, oldest first; else a free one; else another owner's oldest open one.

    `fresh`: none that somebody else has begun.
    """
    if not fresh and pages.open_count[owner] > 0:
        return _pop(pages.open_queue, pages.open_head, pages.open_count, owner)
    if pages.free_count[0] > 0:
        pages.free_count[0] -= 1
        page = int(pages.free[pages.free_count[0]])
    else:
        victim = np.argmax(pages.open_count)
        if pages.open_count[victim] == 0:
            return -1
        page = _pop(pages.open_queue, pages.open_head, pages.open_count, victim)
    pages.owner[page] = owner
    pages.length[page] = 0
    pages.version[page] = version
    return page


@numba.njit(cache=True)
def record_decisions(
    pages: Pages,
    env: I32,
    seat: I32,
    owner_of: I32,
    versions: npt.NDArray[np.int64],
    obs: npt.NDArray[Any],
    legal: npt.NDArray[np.bool_],
    actions: npt.NDArray[Any],
    log_probs: F32,
    values: F32,
    memory: F32,
) -> int:
    """Appends each learning row to its seat's page; returns how many were learning rows.

    A page that others have begun holds no memory of what came before: only a seat that remembers nothing, at
    the begin of an episode, goes on with one.

    Args:
      memory: what each row's network remembered before it decided, [R, M].
      owner_of: who learns from a seat, [N, seats], -1: nobody.
      versions: the weights each owner acts with, [L].
    """
    steps = pages.actions.shape[1]
    learning = 0
    for row in range(env.shape[0]):
        e, s = env[row], seat[row]
        owner = owner_of[e, s]
        if owner < 0:
            continue
        learning += 1
        page = pages.lane[e, s]
        if page >= 0 and pages.length[page] == steps:
            # The decision after the last is what the page bootstraps from.
            for k in range(obs.shape[1]):
                pages.obs[page, steps, k] = obs[row, k]
            pages.values[page, steps] = values[row]
            _push(pages.full_queue, pages.full_head, pages.full_count, owner, page)
            page = -1
        if page < 0:
            remembers = False
            for m in range(memory.shape[1]):
                remembers = remembers or memory[row, m] != 0.0
            page = _page_for(pages, owner, versions[owner], remembers)
            pages.lane[e, s] = page
            if page < 0:
                continue
            if pages.length[page] == 0:
                for m in range(memory.shape[1]):
                    pages.memory[page, m] = memory[row, m]
        t = pages.length[page]
        for k in range(obs.shape[1]):
            pages.obs[page, t, k] = obs[row, k]
        for a in range(legal.shape[1]):
            pages.legal[page, t, a] = legal[row, a]
        pages.actions[page, t] = actions[row]
        pages.log_probs[page, t] = log_probs[row]
        pages.values[page, t] = values[row]
        pages.rewards[page, t] = 0.0
        pages.terminal[page, t] = False
        pages.length[page] = t + 1
    return learning


@numba.njit(cache=True)
def record_rewards(
    pages: Pages,
    rewards: F32,
    ended: npt.NDArray[np.bool_],
    truncated: npt.NDArray[np.bool_],
    scales: F32,
    discounts: F32,
) -> None:
    """Adds rewards to each seat's last decision; closes the episodes that ended.

    What would have come after a truncation was worth about what the last decision's value said: the state
    after it is not seen, the game has been reset.

    Args:
      rewards: [N, seats]. ended, truncated: [N].
      scales: what each owner multiplies rewards by, [L]. discounts: its γ, of what would have come, [L].
    """
    steps = pages.actions.shape[1]
    for e in range(ended.shape[0]):
        for s in range(rewards.shape[1]):
            page = pages.lane[e, s]
            if page < 0 or pages.length[page] == 0:
                continue
            t = pages.length[page] - 1
            owner = pages.owner[page]
            pages.rewards[page, t] += scales[owner] * rewards[e, s]
            if ended[e]:
                pages.terminal[page, t] = True
                if truncated[e]:
                    pages.rewards[page, t] += discounts[owner] * pages.values[page, t]
                pages.lane[e, s] = -1
                if t + 1 == steps:
                    pages.values[page, steps] = 0.0
                    pages.obs[page, steps, :] = 0
                    _push(pages.full_queue, pages.full_head, pages.full_count, owner, page)
                else:
                    _push(pages.open_queue, pages.open_head, pages.open_count, owner, page)


@numba.njit(cache=True)
def take_pages(
    pages: Pages,
    owner: int,
    obs: npt.NDArray[Any],
    legal: npt.NDArray[np.bool_],
    actions: npt.NDArray[Any],
    log_probs: F32,
    values: F32,
    rewards: F32,
    terminal: npt.NDArray[np.bool_],
    memory: F32,
) -> int:
    """Moves B full pages into time-major arrays [T, B, ...]; returns the oldest version among them."""
    steps, lanes = log_probs.shape
    oldest = 1 << 62
    for b in range(lanes):
        page = _pop(pages.full_queue, pages.full_head, pages.full_count, owner)
        oldest = min(oldest, int(pages.version[page]))
        for t in range(steps):
            obs[t, b, :] = pages.obs[page, t]
            legal[t, b, :] = pages.legal[page, t]
            actions[t, b] = pages.actions[page, t]
            log_probs[t, b] = pages.log_probs[page, t]
            values[t, b] = pages.values[page, t]
            rewards[t, b] = pages.rewards[page, t]
            terminal[t, b] = pages.terminal[page, t]
        memory[b, :] = pages.memory[page]
        obs[steps, b, :] = pages.obs[page, steps]
        values[steps, b] = pages.values[page, steps]
        pages.owner[page] = -1
        pages.free[pages.free_count[0]] = page
        pages.free_count[0] += 1
    return oldest


@numba.njit(cache=True)
def drop_pages(pages: Pages, owner: int) -> None:
    """Forgets everything that one owner has in flight."""
    for e in range(pages.lane.shape[0]):
        for s in range(pages.lane.shape[1]):
            page = pages.lane[e, s]
            if page >= 0 and pages.owner[page] == owner:
                pages.lane[e, s] = -1
    pages.open_count[owner] = 0
    pages.full_count[owner] = 0
    for page in range(pages.owner.shape[0]):
        if pages.owner[page] == owner:
            pages.owner[page] = -1
            pages.free[pages.free_count[0]] = page
            pages.free_count[0] += 1
