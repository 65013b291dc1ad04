"""Runs: launched, steered, and what their pages show."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from league.client import schemas
from league.client.synchronous.transport import Transport, given, path_part


class Runs(Transport):
    """Runs: launched, steered, and what their pages show."""

    def runs(self, limit: int = 50, cursor: str | None = None, **filters: Any) -> schemas.RunList:
        """Returns a page of runs. Args: filters: state, game, tag, text, sort, order."""
        return self._get(schemas.RunList, "/runs", limit=limit, cursor=cursor, **filters)

    def run(self, run: str) -> schemas.RunDetails:
        """Returns a run with its config."""
        return self._get(schemas.RunDetails, f"/runs/{path_part(run)}")

    def launch(self, config: dict[str, Any] | str | Path, tags: Sequence[str] = ()) -> schemas.RunDetails:
        """Launches a run. Args: config: as data, as YAML text, or a YAML file's path."""
        if isinstance(config, Path):
            config = config.read_text(encoding="utf-8")
        source = {"yaml": config} if isinstance(config, str) else {"config": config}
        return self._post(schemas.RunDetails, "/runs", {**source, "tags": list(tags)})

    def edit_run(
        self,
        run: str,
        *,
        name: str | None = None,
        tags: Sequence[str] | None = None,
        config: dict[str, Any] | None = None,
        if_match: str | None = None,
    ) -> schemas.RunDetails:
        """Renames, tags, or changes the config. Args: config: a JSON merge patch. if_match: an ETag."""
        body = {"name": name, "tags": None if tags is None else list(tags), "config": config}
        headers = {} if if_match is None else {"If-Match": if_match}
        return self._patch(schemas.RunDetails, f"/runs/{path_part(run)}", given(body), headers)

    def pause(self, run: str) -> schemas.Run:
        """Saves the learners and ends a run's processes."""
        return self._post(schemas.Run, f"/runs/{path_part(run)}/pause")

    def resume(self, run: str) -> schemas.Run:
        """Lets a run go on."""
        return self._post(schemas.Run, f"/runs/{path_part(run)}/resume")

    def stop(self, run: str) -> schemas.Run:
        """Ends a run."""
        return self._post(schemas.Run, f"/runs/{path_part(run)}/stop")

    def clone(
        self, run: str, name: str | None = None, config: dict[str, Any] | None = None
    ) -> schemas.RunDetails:
        """Launches another run from a run's config. Args: config: a JSON merge patch."""
        return self._post(
            schemas.RunDetails, f"/runs/{path_part(run)}/clone", given({"name": name, "config": config})
        )

    def delete_run(self, run: str, confirm: str) -> None:
        """Removes a run with its data. Args: confirm: its name."""
        self._request("DELETE", f"/runs/{path_part(run)}", params={"confirm": confirm})

    def standings(self, run: str, limit: int = 500, cursor: str | None = None) -> schemas.Standings:
        """Returns the players, best first."""
        return self._get(schemas.Standings, f"/runs/{path_part(run)}/standings", limit=limit, cursor=cursor)

    def payoffs(self, run: str, limit: int = 60) -> schemas.Payoffs:
        """Returns win rates between the best players."""
        return self._get(schemas.Payoffs, f"/runs/{path_part(run)}/payoffs", limit=limit)

    def ratings(
        self, run: str, system: str = "trueskill", players: Sequence[str] = ()
    ) -> schemas.RatingHistory:
        """Returns ratings over time."""
        return self._get(
            schemas.RatingHistory, f"/runs/{path_part(run)}/ratings", system=system, player=list(players)
        )

    def metrics(self, run: str) -> schemas.Metrics:
        """Returns throughput, lag and losses over the run."""
        return self._get(schemas.Metrics, f"/runs/{path_part(run)}/metrics")

    def anchor_scores(self, run: str) -> schemas.AnchorScores:
        """Returns what the best mains scored against the anchors, over time."""
        return self._get(schemas.AnchorScores, f"/runs/{path_part(run)}/anchors")

    def cycles(self, run: str) -> schemas.CycleList:
        """Returns three players each, of whom each beats the next."""
        return self._get(schemas.CycleList, f"/runs/{path_part(run)}/cycles")

    def doing(self, run: str) -> schemas.Doing:
        """Returns what the run's processes are at."""
        return self._get(schemas.Doing, f"/runs/{path_part(run)}/doing")
