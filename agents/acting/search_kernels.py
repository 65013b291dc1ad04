"""The loops over search trees, compiled. Pure functions of arrays; see `agents.acting.search`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]

# σ(q) = (c_visit + max_b N(b)) c_scale q, q scaled to [0, 1] by what the tree has seen (appendix E).
VISIT_SCALE, VALUE_SCALE = 50.0, 0.1


class Trees(NamedTuple):
    """B trees of at most M nodes; node 0 is the root. Values are for the seat that moves at the node."""

    logits: F32  # [B, M, A]; −inf: not legal
    value: F32  # [B, M], the network's
    seat: I32  # [B, M]
    over: npt.NDArray[np.bool_]  # [B, M], the game has ended here
    child: I32  # [B, M, A], −1: none
    reward: F32  # [B, M, A], of the step to the child, for the seat that moves at the node
    visits: I32  # [B, M, A]
    total: F32  # [B, M, A], returns summed, for the seat that moves at the node
    parent: I32  # [B, M]
    action: I32  # [B, M], that led here


def new_trees(count: int, nodes: int, actions: int) -> Trees:
    """Returns room for trees."""
    shape = count, nodes, actions
    return Trees(
        logits=np.full(shape, -np.inf, np.float32),
        value=np.zeros(shape[:2], np.float32),
        seat=np.zeros(shape[:2], np.int32),
        over=np.zeros(shape[:2], np.bool_),
        child=np.full(shape, -1, np.int32),
        reward=np.zeros(shape, np.float32),
        visits=np.zeros(shape, np.int32),
        total=np.zeros(shape, np.float32),
        parent=np.full(shape[:2], -1, np.int32),
        action=np.full(shape[:2], -1, np.int32),
    )


@numba.njit(cache=True)
def _scores(trees: Trees, b: int, node: int, out: F32) -> Any:
    """Writes logits + σ(completed Q) of a node; returns what the position is worth by its visits (eq. 33).

    Q is scaled to [0, 1] by the returns that are possible in a game of wins and losses, −1 to 1.
    """
    actions = out.shape[0]
    best = np.float32(-np.inf)
    for a in range(actions):
        best = max(best, trees.logits[b, node, a])
    mass, seen_mass, weighted = np.float32(0.0), np.float32(0.0), np.float32(0.0)
    visits, most = 0, 0
    for a in range(actions):
        if trees.logits[b, node, a] == -np.inf:
            continue
        p = np.exp(trees.logits[b, node, a] - best)
        mass += p
        n = trees.visits[b, node, a]
        if n > 0:
            seen_mass += p
            weighted += p * trees.total[b, node, a] / n
            visits += n
            most = max(most, n)
    value = trees.value[b, node]
    mixed = value
    if visits > 0:
        mixed = (value + visits * weighted / seen_mass) / (1.0 + visits)
    scale = np.float32((VISIT_SCALE + most) * VALUE_SCALE)
    for a in range(actions):
        n = trees.visits[b, node, a]
        q = trees.total[b, node, a] / n if n > 0 else mixed
        out[a] = trees.logits[b, node, a] + scale * np.float32(0.5) * (q + np.float32(1.0))
    return mixed


@numba.njit(cache=True)
def walk(trees: Trees, gumbel: F32, considered: I32, parents: I32, actions: I32) -> None:
    """Walks down every tree to a step that has not been taken, or to the last before an end.

    Args:
      gumbel: on the roots' logits, [B, A]. considered: visits of the root's actions that count now, [B].
      parents, actions: [B], written: the node to go on from, and how.
    """
    count, _, num_actions = trees.child.shape
    scores = np.empty(num_actions, np.float32)
    for b in range(count):
        node = 0
        while True:
            _scores(trees, b, node, scores)
            best, chosen = np.float32(-np.inf), -1
            if node == 0:
                for attempt in range(2):
                    for a in range(num_actions):
                        if trees.logits[b, 0, a] == -np.inf:
                            continue
                        if attempt == 0 and trees.visits[b, 0, a] != considered[b]:
                            continue
                        if chosen < 0 or gumbel[b, a] + scores[a] > best:
                            best, chosen = gumbel[b, a] + scores[a], a
                    if chosen >= 0:
                        break
            else:
                top, mass, visits = np.float32(-np.inf), np.float32(0.0), 0
                for a in range(num_actions):
                    top = max(top, scores[a])
                for a in range(num_actions):
                    if trees.logits[b, node, a] != -np.inf:
                        mass += np.exp(scores[a] - top)
                        visits += trees.visits[b, node, a]
                for a in range(num_actions):
                    if trees.logits[b, node, a] == -np.inf:
                        continue
                    lag = np.exp(scores[a] - top) / mass - trees.visits[b, node, a] / np.float32(1.0 + visits)
                    if chosen < 0 or lag > best:
                        best, chosen = lag, a
            child = trees.child[b, node, chosen]
            if child < 0 or trees.over[b, child]:
                parents[b], actions[b] = node, chosen
                break
            node = child


@numba.njit(cache=True)
def backup(trees: Trees, new: int) -> None:
    """Adds what a new node of every tree is worth to the steps that led to it."""
    for b in range(trees.child.shape[0]):
        node, action = trees.parent[b, new], trees.action[b, new]
        trees.child[b, node, action] = new
        worth = np.float32(0.0) if trees.over[b, new] else trees.value[b, new]
        seat = trees.seat[b, new]
        while node >= 0:
            mover = trees.seat[b, node]
            if seat != mover and worth != 0.0:
                worth = -worth
            worth += trees.reward[b, node, action]
            trees.visits[b, node, action] += 1
            trees.total[b, node, action] += worth
            seat, action, node = mover, trees.action[b, node], trees.parent[b, node]


@numba.njit(cache=True)
def conclude(trees: Trees, gumbel: F32, policy: F32, chosen: npt.NDArray[np.int64], values: F32) -> None:
    """Writes each root's improved policy, the action it settles on, and what that policy is worth.

    Args: policy: [B, A]. chosen, values: [B].
    """
    count, _, num_actions = trees.child.shape
    scores = np.empty(num_actions, np.float32)
    for b in range(count):
        mixed = _scores(trees, b, 0, scores)
        most, top, mass = 0, np.float32(-np.inf), np.float32(0.0)
        for a in range(num_actions):
            most = max(most, trees.visits[b, 0, a])
            top = max(top, scores[a])
        best = np.float32(-np.inf)
        chosen[b] = -1
        for a in range(num_actions):
            policy[b, a] = 0.0
            if trees.logits[b, 0, a] == -np.inf:
                continue
            policy[b, a] = np.exp(scores[a] - top)
            mass += policy[b, a]
            if trees.visits[b, 0, a] == most and (chosen[b] < 0 or gumbel[b, a] + scores[a] > best):
                best, chosen[b] = gumbel[b, a] + scores[a], a
        values[b] = 0.0
        for a in range(num_actions):
            policy[b, a] /= mass
            n = trees.visits[b, 0, a]
            if policy[b, a] > 0.0:
                values[b] += policy[b, a] * (trees.total[b, 0, a] / n if n > 0 else mixed)
