"""Positions copied from batch to batch: the rows of the arrays that a game keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from envs.vector_game import VectorGame


def copy_state(
    target: VectorGame,
    source: VectorGame,
    arrays: Sequence[str],
    origins: npt.NDArray[np.integer[Any]],
    targets: npt.NDArray[np.integer[Any]],
) -> None:
    """Copies rows `origins` of the named arrays of `source` to rows `targets` of those of `target`."""
    for name in arrays:
        getattr(target, name)[targets] = getattr(source, name)[origins]
