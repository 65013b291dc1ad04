"""A policy behind a URL: another program, in any language, that is asked for its moves.

It is sent `{"observations": [[…], …]}` and answers `{"logits": [[…], …]}`, or `{"actions": [a, …]}`. One that
does not answer in time, or answers nonsense, plays at random for a while and is said to have failed: a league
waits for nobody.
"""

from __future__ import annotations

import json
import time
import urllib.request
from typing import Any
from urllib.error import URLError

import numpy as np
import numpy.typing as npt

from agents.acting.policy import NetworkPolicy

TIMEOUT_SECONDS = 3.0
PAUSE_SECONDS = 15.0
MOST_ANSWER_BYTES = 32_000_000
CHOSEN = 50.0  # logit of the action of one that gives no logits: nobody else's chance is worth mentioning


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Who was let in by name is not to send the league elsewhere."""

    def redirect_request(self, *_: Any) -> None:
        return None


class RemotePolicy(NetworkPolicy):
    """Asks a URL for every batch of moves."""

    def __init__(self, url: str, num_actions: int) -> None:
        self._url, self._num_actions = url, num_actions
        self._opener = urllib.request.build_opener(_NoRedirects, urllib.request.ProxyHandler({}))
        self._silent_until = 0.0
        self._errors: list[str] = []

    def take_errors(self) -> list[str]:
        """Returns what went wrong since the last call."""
        errors, self._errors = self._errors, []
        return errors

    def heads(self, obs: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        heads = np.zeros((len(obs), self._num_actions + 1), np.float32)
        if time.monotonic() < self._silent_until:
            return heads
        try:
            heads[:, :-1] = self._ask(obs)
        except (OSError, URLError, ValueError, TypeError, KeyError) as error:
            self._silent_until = time.monotonic() + PAUSE_SECONDS
            self._errors.append(f"{self._url} plays at random for {PAUSE_SECONDS:.0f} s: {error}")
        return heads

    def _ask(self, obs: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        body = json.dumps({"observations": obs.astype(np.float64).tolist()}).encode()
        request = urllib.request.Request(  # noqa: S310  http and https only, checked where it is added
            self._url, body, {"Content-Type": "application/json", "Accept": "application/json"}
        )
        with self._opener.open(request, timeout=TIMEOUT_SECONDS) as answer:
            data = json.loads(answer.read(MOST_ANSWER_BYTES))
        rows = len(obs)
        if "logits" in data:
            logits = np.asarray(data["logits"], np.float32)
            if logits.shape != (rows, self._num_actions) or not np.isfinite(logits).all():
                raise ValueError(
                    f"logits of shape {logits.shape}, expected {(rows, self._num_actions)} finite"
                )
            return logits
        actions = np.asarray(data["actions"], np.int64)
        if actions.shape != (rows,) or actions.min() < 0 or actions.max() >= self._num_actions:
            raise ValueError(f"actions must be {rows} numbers from 0 to {self._num_actions - 1}")
        logits = np.zeros((rows, self._num_actions), np.float32)
        logits[np.arange(rows), actions] = CHOSEN
        return logits
