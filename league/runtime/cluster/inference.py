"""Inference servers: networks that run in a process of their own and answer all rollout workers.

`InferenceActor` puts together what several workers ask at the same time; `RemoteCentre` is a worker's end.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import ray
from ray.exceptions import RayActorError

from league.config.run import RunConfig
from league.errors import RuntimeFailedError

if TYPE_CHECKING:
    from agents.acting.central import InferenceServer, Request, Tensors
    from agents.networks.spec import NetworkSpec

# Requests answered together, at most.
MOST_IN_BATCH = 64


def new_server(config: RunConfig, checkpoint_url: str) -> InferenceServer:
    """Returns a server for a run's networks, in this process. Raises: DeviceError: no such device here."""
    from agents.acting.central import InferenceServer
    from agents.processor import resolve_device, resolve_precision
    from league.store.checkpoints import CheckpointStore
    from league.store.policies import load_network

    spec, store = config.game_spec(), CheckpointStore(checkpoint_url)
    device = resolve_device(config.inference.device)
    return InferenceServer(
        lambda sha: load_network(store, spec, sha),
        device,
        resolve_precision(config.learner.precision, device),
    )


class InferenceActor:
    """Answers in one thread; what comes in while it is busy is answered together next."""

    def __init__(self, config: RunConfig, checkpoint_url: str) -> None:
        from agents.processor import prepare_process

        prepare_process()
        self._server = new_server(config, checkpoint_url)
        self._lock = threading.Lock()
        self._asked: queue.Queue[tuple[Request, Future[npt.NDArray[np.float32]]]] = queue.Queue()
        threading.Thread(target=self._answer, name="inference", daemon=True).start()

    def ask(self, request: Request) -> npt.NDArray[np.float32]:
        """Returns logits and value, [R, A + 1]."""
        answer: Future[npt.NDArray[np.float32]] = Future()
        self._asked.put((request, answer))
        return answer.result()

    def hold(self, key: str) -> None:
        """Fetches a checkpoint's network. Raises: CheckpointError, WeightsError."""
        with self._lock:
            self._server.hold(key)

    def has(self, key: str, version: tuple[int, int]) -> bool:
        """Whether a learning player's weights are these, or newer."""
        return self._server.has(key, version)

    def put(self, key: str, version: tuple[int, int], spec: NetworkSpec, tensors: Tensors) -> None:
        """Plays a learning player with these weights from now on."""
        with self._lock:
            self._server.put(key, version, spec, tensors)

    def _answer(self) -> None:
        while True:
            batch = [self._asked.get()]
            while len(batch) < MOST_IN_BATCH and not self._asked.empty():
                batch.append(self._asked.get_nowait())
            try:
                with self._lock:
                    answers = self._server.answer([request for request, _ in batch])
            except Exception as error:
                for _, future in batch:
                    future.set_exception(error)
            else:
                for (_, future), answer in zip(batch, answers, strict=True):
                    future.set_result(answer)


class RemoteCentre:
    """An `InferenceActor` as a worker sees it, see `agents.acting.central.Centre`."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    def ask(self, request: Request) -> Callable[[], npt.NDArray[np.float32]]:
        ref = self._actor.ask.remote(request)
        return lambda: _got(ref)

    def hold(self, key: str) -> None:
        _got(self._actor.hold.remote(key))

    def put(self, key: str, version: tuple[int, int], spec: NetworkSpec, tensors: Tensors) -> None:
        if not _got(self._actor.has.remote(key, version)):
            _got(self._actor.put.remote(key, version, spec, tensors))


def _got(ref: Any) -> Any:
    """What a call returns. Raises: RuntimeFailedError: the server has died; else what it raised itself."""
    try:
        return ray.get(ref)
    except RayActorError as error:
        raise RuntimeFailedError(f"an inference server has died: {error}") from error
