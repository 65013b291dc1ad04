"""What of a run's config may change while it runs, and why the rest may not."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING, Any

from league.errors import ConflictError

if TYPE_CHECKING:
    from league.config.run import RunConfig

# Taken over by a running league within a second.
LIVE = (
    "name",
    "stop.*",
    "evaluation.share",
    "evaluation.episodes",
    "evaluation.anchor_share",
    "evaluation.learner_share",
    "evaluation.coverage_share",
    "rollout.workers",
    "rollout.episodes_per_series",
    "envs.max_bad_share",
    "payoff.decay",
    "retention.copies",
    "learner.*",
    "players.*.share",
    "players.*.snapshot.*",
    "players.*.matching.*",
    "players.*.opponents",
    "players.*.opponents.*",
    "players.*.targets",
    "players.*.reset_probability",
    "players.*.population.*",
    "players.*.learner.*",
)
# Read when processes start: these take a run that is paused or not yet begun.
AT_START = (
    "rollout.num_envs",
    "rollout.fragment_length",
    "rollout.fragment_lanes",
    "evaluation.num_envs",
    "evaluation.temperature",
    "envs.isolation",
    "ratings.*",
    "learner_workers",
    "learner_processes",
    "placement.*",
    "save_interval_seconds",
    "*.precision",
    "*.device",
    "*.compile",
    "inference.*",
    "*.q_learning.*",
    "*.options.*",
    "players.*.inference",
    "*.reward_scale",
    "*.discount",
)
NEVER = {
    "game": "players of one game cannot play another; clone the run with the other game",
    "seed": "the run has been drawing from it since it began; clone the run with another seed",
    "topology": "a run stays with its assembly; clone it with the other topology",
    "anchors": "ratings hang on them; add a player with POST …/players, retire one with …/retire",
    "players.*.seats": "who plays which side is fixed with the players; clone the run",
    "network.*": "the weights are of this network; branch a player with another, or clone the run",
    "players.*.network*": "the weights are of this network; branch a player with another, or clone the run",
    "players*": "players join by branch and leave by retire, so that nobody's record is lost",
}


def merged(config: dict[str, Any], patch: Any) -> dict[str, Any]:
    """Returns a config with a JSON merge patch applied (RFC 7396): null removes, objects merge.

    `players` may also be an object by position (`{"0": {"share": 2}}`), for changing one entry alone.
    """
    result = dict(config)
    for key, value in patch.items():
        old = result.get(key)
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict) and isinstance(old, list):
            entries = list(old)
            for place, change in value.items():
                if not place.isdecimal() or int(place) >= len(entries) or not isinstance(change, dict):
                    raise ConflictError(f"{key}.{place}: entries are numbered 0 to {len(entries) - 1}")
                entries[int(place)] = merged(entries[int(place)], change)
            result[key] = entries
        elif isinstance(value, dict):
            result[key] = merged(old if isinstance(old, dict) else {}, value)
        else:
            result[key] = value
    return result


def changes(old: RunConfig, new: RunConfig) -> list[str]:
    """Returns the paths at which two configs differ, such as `players.0.share`."""
    before, after = (_flat(c.model_dump(mode="json")) for c in (old, new))
    return sorted(
        k for k in before.keys() | after.keys() if before.get(k, _Missing) != after.get(k, _Missing)
    )


def require_live(paths: list[str], *, playing: bool) -> None:
    """Checks that a run may go on with these changes.

    Args:
      playing: its processes are at work; else it is paused, pending or over.

    Raises:
      ConflictError: names each path that may not change and why.
    """
    refused = []
    for path in paths:
        if _matches(path, AT_START):
            if playing:
                refused.append(f"{path}: read when the processes start; pause the run, change it, resume it")
        elif not _matches(path, LIVE):
            why = next((w for p, w in NEVER.items() if fnmatch.fnmatchcase(path, p)), "fixed for the run")
            refused.append(f"{path}: {why}")
    if refused:
        raise ConflictError("; ".join(refused))


def require_same_logits(old: RunConfig, new: RunConfig) -> None:
    """Checks that what the weights there are say means the same to the learners of a changed config.

    Raises:
      ConflictError: a player would learn by an algorithm to whose logits its own are not alike.
    """
    before, after = old.roster(), new.roster()
    for name in before.keys() & after.keys():
        was, becomes = ((c.roster()[name].learner or c.learner) for c in (old, new))
        if not was.same_algorithm(becomes) and was.needs.sharpness != becomes.needs.sharpness:
            values = was if was.needs.sharpness != 1.0 else becomes
            raise ConflictError(
                f"{name}: the logits of {values.algorithm} are values divided by q_learning.temperature, "
                "those of other algorithms are not, so the weights do not go over; clone the run with it"
            )


def _matches(path: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(path, p) for p in patterns)


class _Missing:
    """Stands for a value that is not there."""


def _flat(data: Any, path: str = "") -> dict[str, Any]:
    if isinstance(data, dict) and (data or not path):
        items = [(f"{path}.{k}" if path else str(k), v) for k, v in data.items()]
    elif isinstance(data, list) and data and isinstance(data[0], dict):
        items = [(f"{path}.{k}", v) for k, v in enumerate(data)]
    else:
        return {path: data}
    return {key: value for child, part in items for key, value in _flat(part, child).items()}
