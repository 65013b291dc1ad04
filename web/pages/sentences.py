"""What happened, in a sentence."""

from __future__ import annotations

from collections.abc import Callable

from league.pool.records import EventRecord
from web.templating import compact


def _verification(event: EventRecord) -> str:
    holes = {"verify_exploiters": "exploiters that beat it", "verify_forgotten": "what it has forgotten"}
    hole = holes.get(event.data.get("branch", ""), "its weak spots")
    return f"{event.player} trains against {hole}, such as {event.data.get('opponent')}"


def sentence(event: EventRecord) -> str:
    """Returns an event as people read it."""
    who = event.player or "the run"
    data, by = event.data, f" by {event.actor}" if event.actor else ""
    steps = compact(data.get("steps", 0))
    sentences: dict[str, Callable[[], str]] = {
        "snapshot": lambda: f"{who} joined the pool, a copy of {data.get('parent')} at {steps} steps",
        "reset": lambda: f"{who} went back to its initial weights (generation {data.get('generation')})",
        "verification": lambda: _verification(event),
        "inherited": lambda: f"{who} goes on as a copy of {data.get('source')}",
        "bad_episode": lambda: f"an episode broke down: {data.get('reason')}",
        "run_started": lambda: f"the league began with {data.get('players')} players",
        "restarted": lambda: f"processes were restarted: {data.get('reason')}",
        "worker_lost": lambda: f"{data.get('worker')} died, another plays in its place: {data.get('reason')}",
        "checkpoint_damaged": lambda: f"{who}: {data.get('reason')}",
        "lost": lambda: f"{who} cannot be played any more and was retired: {data.get('reason')}",
        "rolled_back": lambda: f"{who} diverged and went back to its last good weights: {data.get('reason')}",
        "rolled_back_by_hand": lambda: f"{who} went back to the weights of {data.get('source')}{by}",
        "config_changed": lambda: f"the config was changed{by}: {', '.join(data.get('paths', ()))}",
        "played_by_hand": lambda: f"{who} played {' v '.join(data.get('players', ()))}",
        "branched": lambda: f"{who} was branched{by}",
        "added": lambda: f"{who} joined the pool, added{by}",
        "described": lambda: f"{who} was labelled{by}",
        "pinned": lambda: f"{who} became an anchor{by}",
        "unpinned": lambda: f"{who} is no anchor any more{by}",
    }
    known = sentences.get(event.kind)
    return known() if known else f"{who}: {event.kind.replace('_', ' ')}{by}"
