"""Objects that another process owns, for those who can do without one.

Ray's count of who still needs an object is kept by messages between processes, and on a machine with more to
do than it can an owner was seen to let one go that somebody had just heard of
(ReferenceCountingAssertionError). Whoever only wants the newest weights asks again.
"""

from __future__ import annotations

from typing import Any

import ray
from ray.exceptions import ObjectLostError


def fetch_or_none(ref: Any) -> Any:
    """Returns the object; None when it is lost, with its owner or by a miscount."""
    try:
        return ray.get(ref)
    except ObjectLostError:
        return None
