"""Orders in which equal values do not change places by rounding noise.

The last digit of a sum depends on the processor that adds it up. Wherever an order is shown to people, or
decides something, values closer than a tolerance are equal and keep the order they came in: by age, in a
pool.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T")

# Far above what rounding does to ratings, scores and shares, far below what anybody would call a difference.
TOLERANCE = 1e-6


def best_first(items: Iterable[T], value: Callable[[T], float], tolerance: float = TOLERANCE) -> list[T]:
    """Returns items by falling value; of equal ones the first stays first."""
    listed = list(items)
    order = descending(np.array([value(item) for item in listed], np.float64), tolerance)
    return [listed[k] for k in order.tolist()]


def descending(values: npt.ArrayLike, tolerance: float = TOLERANCE) -> npt.NDArray[np.int64]:
    """Returns the places of values, highest first; of equal ones the first stays first. Args: values: [N]."""
    return ascending(-np.asarray(values, np.float64), tolerance)


def ascending(values: npt.ArrayLike, tolerance: float = TOLERANCE) -> npt.NDArray[np.int64]:
    """Returns the places of values, lowest first; of equal ones the first stays first.

    Neighbours in the order that differ by no more than the tolerance are equal, and so are those whom such
    neighbours link: unlike rounding this splits nobody who stands close.

    Args:
      values: [N]; infinite ones are equal to their like.
    """
    x = np.asarray(values, np.float64)
    order = np.argsort(x, kind="stable")
    low, high = x[order][:-1], x[order][1:]
    with np.errstate(invalid="ignore"):
        begins = (high - low > tolerance) & (high != low)
    group = np.empty(len(x), np.int64)
    group[order] = np.concatenate([np.zeros(min(1, len(x)), np.int64), np.cumsum(begins)])
    return np.argsort(group, kind="stable")
