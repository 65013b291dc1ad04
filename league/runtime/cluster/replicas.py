"""Processes that learn as one with a learner process: it leads, they follow, update by update."""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
from typing import TYPE_CHECKING, Any

import ray
from ray.exceptions import GetTimeoutError

if TYPE_CHECKING:
    from agents.algorithms.config import LearningConfig
    from agents.fragment import Fragment
    from agents.learning.learner import Learner
    from agents.networks.spec import NetworkSpec

    News = tuple[NetworkSpec, LearningConfig, bytes]


class Replicas:
    """The leader's side.

    Attributes:
      data_parallel: what the leader's learners share.
    """

    def __init__(self, actors: list[Any], device: str, *, local: bool) -> None:
        """Meets them.

        Args:
          actors: `LearnerReplicaActor`s, rank 1 and on. device: see `agents.processor`.
          local: all of them are on this machine.
        """
        from agents.learning.data_parallel import DataParallel
        from agents.processor import resolve_device

        self._actors = actors
        self._told: dict[str, int] = {}
        self._calls: list[Any] = []
        place = _file() if local else _address()
        size = len(actors) + 1
        joined = [a.meet.remote(rank, size, place, device) for rank, a in enumerate(actors, 1)]
        self.data_parallel = DataParallel.meet(0, size, place, resolve_device(device))
        ray.get(joined)

    def hand_out(self, fragment: Fragment) -> Any:
        """Puts a fragment where all can read it; returns the reference that `follow` takes."""
        return ray.put(fragment)

    def follow(self, player: str, learner: Learner, fragment: Any, progress: float) -> None:
        """Has the others learn from a fragment as the leader is about to.

        Args:
          fragment: from `hand_out`.
        """
        news = None
        if self._told.get(player) != learner.revision:
            news = learner.spec, learner.config, learner.state()
            self._told[player] = learner.revision
        self._calls = [a.learn.remote(player, news, [fragment], progress) for a in self._actors]

    def explain(self) -> None:
        """Raises what went wrong with the others, if that is why the leader failed."""
        with contextlib.suppress(GetTimeoutError):
            ray.get(self._calls, timeout=10)

    def use_threads(self, count: int) -> None:
        """Has the others learn in so many threads."""
        ray.get([a.use_threads.remote(count) for a in self._actors])


class LearnerReplicaActor:
    """Follows: the same learners, the same fragments, its part of every minibatch."""

    def __init__(self) -> None:
        from agents.processor import prepare_process

        prepare_process()
        self._learners: dict[str, Learner] = {}
        self._data_parallel: Any = None

    def meet(self, rank: int, size: int, place: str, device: str) -> None:
        """Waits for the leader and the others; see `DataParallel.meet`."""
        from agents.learning.data_parallel import DataParallel
        from agents.processor import resolve_device

        self._data_parallel = DataParallel.meet(rank, size, place, resolve_device(device))

    def use_threads(self, count: int) -> None:
        """Learns in so many threads from the next fragment on."""
        import torch

        torch.set_num_threads(count)

    def learn(self, player: str, news: News | None, fragment: list[Any], progress: float) -> None:
        """Learns from one fragment.

        Args:
          news: the leader's network, config and state, where something else than updates has changed them.
        """
        from agents.errors import DivergenceError
        from agents.learning.data_parallel import leave_group
        from agents.learning.learner import Learner

        try:
            if news is not None:
                spec, config, state = news
                learner = Learner(spec, config, 0, self._data_parallel)
                learner.restore(state)
                self._learners[player] = learner
            self._learners[player].update(ray.get(fragment[0]), progress)
        except DivergenceError:
            pass  # the leader's diverged, too: it goes back, and the next call says to what
        except BaseException:
            leave_group()  # nobody shall wait for it
            raise


def _file() -> str:
    handle, path = tempfile.mkstemp(prefix="league-learners-")
    os.close(handle)
    return f"file:{path}"


def _address() -> str:
    host = ray.util.get_node_ip_address()
    with socket.socket() as probe:
        probe.bind((host, 0))
        return f"tcp:{host}:{probe.getsockname()[1]}"
