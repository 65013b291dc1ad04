"""What a person or a page asks of a league, answered from the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from league.control.cache import Kept
from league.errors import NotFoundError
from league.pool.records import (
    EpisodeRecord,
    EventRecord,
    MatchRecord,
    PlayerRecord,
    RunRecord,
    Snapshot,
    TournamentRecord,
)
from league.store.repositories.league_state import KEPT_EPISODES
from league.store.repositories.pages import LeaguePages
from league.store.repositories.runs import RunRepository
from league.store.repositories.tournaments import TournamentRepository
from league.store.repositories.views import LeagueViews
from league.store.session import Database
from league.study.payoffs import (
    CYCLE_PLAYERS,
    Cycle,
    Opponent,
    Pair,
    PayoffTable,
    clearest_cycles,
    opponents_of,
    pair_of,
    payoff_map,
    payoff_table,
)
from league.study.standings import Standing, standing_as_json, standings

if TYPE_CHECKING:  # it brings torch along, which those who only read need not wait for
    from agents.players.distillation import Distilled
    from league.config.run import RunConfig
    from league.store.checkpoints import CheckpointStore
    from league.study.analysis import Analysis
    from league.study.exploitability import Exploitabilities
    from league.study.games import GameFacts
    from league.study.tournaments import TournamentResults, TournamentRules


# Movement in the standings is since so long ago.
MOVEMENT_SECONDS = 3600.0
MAINS_CHARTED = 4


@dataclass(frozen=True)
class _Table:
    """The standings of one moment, in the forms that are asked for."""

    rows: list[Standing]
    as_json: list[dict[str, Any]]
    by_name: dict[str, Standing]
    cooperative: bool


class LeagueService:
    """Runs, standings, payoffs, matches, events. Every answer is of one committed moment.

    Standings and payoffs of thousands of players may be of a moment two seconds ago, see `Kept`.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._runs = RunRepository(database)
        self._views = LeagueViews(database)
        self._pages = LeaguePages(database)
        self._tournaments = TournamentRepository(database)
        self._kept: Kept[Any] = Kept()

    def launch(self, config: RunConfig) -> RunRecord:
        """Writes down a run that a supervisor shall run."""
        data = config.model_dump(mode="json", exclude_none=True)
        return self._runs.create(data, config.name, config.game, config.seed)

    def runs(self) -> list[RunRecord]:
        """Returns the newest runs first."""
        return self._runs.newest()

    def run(self, run_id: str) -> RunRecord:
        """Raises: NotFoundError."""
        return self._runs.get(run_id)

    def resolve(self, name: str) -> RunRecord:
        """Finds a run by id, by the beginning of one, or `latest`. Raises: NotFoundError."""
        runs = self._runs.newest(limit=1000)
        if name == "latest" and runs:
            return runs[0]
        matches = [r for r in runs if r.id == name] or [r for r in runs if name and r.id.startswith(name)]
        if len(matches) != 1:
            known = ", ".join(r.id for r in runs[:5]) or "none yet"
            problem = "no run" if not matches else f"{len(matches)} runs begin with"
            raise NotFoundError(f"{problem} {name!r}; newest runs: {known}")
        return matches[0]

    def want(self, run_id: str, desired: Any) -> RunRecord:
        """Writes down what a run shall do. Raises: NotFoundError."""
        return self._runs.desire(run_id, desired)

    def stamp(self, run_id: str) -> tuple[float, int]:
        """Returns what changes whenever anything of a run does. Raises: NotFoundError."""
        return self._pages.stamp(run_id)

    def standings(self, run_id: str) -> list[Standing]:
        """Returns the players, best first. Raises: NotFoundError."""
        return self._table(run_id).rows

    def standings_json(self, run_id: str) -> list[dict[str, Any]]:
        """The same as JSON objects, numbers rounded as they are shown; not to be changed."""
        return self._table(run_id).as_json

    def is_cooperative(self, run_id: str) -> bool:
        """Whether nobody plays against anybody: standings are by score. Raises: NotFoundError."""
        return self._table(run_id).cooperative

    def payoffs(self, run_id: str, limit: int = 60) -> PayoffTable:
        """Returns the best `limit` players' win rates against each other. Raises: NotFoundError."""
        key = ("payoffs", run_id, limit)
        table: PayoffTable = self._kept.get(key, self.stamp(run_id), lambda: self._payoffs(run_id, limit))
        return table

    def payoff_map(self, run_id: str, limit: int) -> bytes:
        """Returns the best `limit` players' payoffs as one binary; see docs/rest.md for its layout.

        Raises:
          NotFoundError.
        """
        key = ("map", run_id, limit)
        result: bytes = self._kept.get(key, self.stamp(run_id), lambda: self._payoff_map(run_id, limit))
        return result

    def cycles(self, run_id: str, limit: int = CYCLE_PLAYERS) -> list[Cycle]:
        """Returns triples of the best `limit` players of whom each beats the next, clearest first.

        Raises:
          NotFoundError.
        """
        key = ("cycles", run_id, limit)
        result: list[Cycle] = self._kept.get(key, self.stamp(run_id), lambda: self._cycles(run_id, limit))
        return result

    def doing(self, run_id: str) -> dict[str, Any]:
        """Returns what a run's processes are at; see `Activity.as_json`. Raises: NotFoundError."""
        return self._views.doing(run_id)

    def marks(self, run_id: str) -> list[tuple[str, str | None, float]]:
        """Returns (kind, player, play seconds) of resets, resumes and restarts. Raises: NotFoundError."""
        self._runs.get(run_id)
        return self._views.marks(run_id, ("reset", "resumed", "restarted"))

    def anchor_scores(self, run_id: str) -> dict[tuple[str, str], list[tuple[float, float, int]]]:
        """Returns (play seconds, score, rating games) of the best mains against each anchor, over time.

        Raises:
          NotFoundError.
        """
        rows = self._table(run_id).rows
        mains = [row.player for row in rows if row.role == "main"][:MAINS_CHARTED]
        anchors = [row.player for row in rows if row.role == "anchor"]
        key = ("anchors", run_id)
        result: dict[tuple[str, str], list[tuple[float, float, int]]] = self._kept.get(
            key, self.stamp(run_id), lambda: self._views.scores_over_time(run_id, mains, anchors)
        )
        return result

    def pair(self, run_id: str, first: str, second: str) -> Pair | None:
        """Returns what one player got against another, None when they have not met. Raises: NotFoundError."""
        row = self._pages.pair(run_id, first, second)
        if row is None:
            return None
        payoff = Snapshot(self.run(run_id), [], [row], {}).payoff()
        return pair_of(payoff, first, second)

    def player(self, run_id: str, name: str) -> PlayerRecord:
        """Raises: NotFoundError: no such run or player."""
        return self._pages.player(run_id, name)

    def config_of(self, run_id: str, name: str) -> dict[str, Any] | None:
        """Returns what the run's config says of a learner, or of the one a player is a copy of.

        Raises:
          NotFoundError.
        """
        config = self._runs.get(run_id).config
        wanted = {player.name for player in self.lineage(run_id, name)}
        counts: dict[str, int] = {}
        for entry in config.get("players", []):
            for _ in range(entry.get("count", 1)):
                number = counts.get(entry["role"], 0)
                counts[entry["role"]] = number + 1
                if f"{entry['role']}.{number}" in wanted:
                    general = {key: config[key] for key in ("network", "learner") if key in config}
                    return {**general, **entry}
        return None

    def players(self, run_id: str, **conditions: Any) -> list[PlayerRecord]:
        """Returns a page of players; see `LeaguePages.players`. Raises: NotFoundError."""
        return self._pages.players(run_id, **conditions)

    def standing(self, run_id: str, name: str) -> Standing:
        """Returns a player's row of the standings. Raises: NotFoundError."""
        row = self._table(run_id).by_name.get(name)
        if row is None:
            raise NotFoundError(f"no player {name!r} in run {run_id}")
        return row

    def head_to_head(self, run_id: str, name: str) -> list[Opponent]:
        """Returns what a player scored against everybody it has met, by games. Raises: NotFoundError."""
        return opponents_of(name, self._pages.pairs_of(run_id, name))

    def lineage(self, run_id: str, name: str) -> list[PlayerRecord]:
        """Returns a player and whom it comes from, itself first. Raises: NotFoundError."""
        line = [self._pages.player(run_id, name)]
        visited = {name}
        while (parent := line[-1].parent) is not None and parent not in visited:
            visited.add(parent)
            line.append(self._pages.player(run_id, parent))
        return line

    def matches(self, run_id: str, **conditions: Any) -> list[MatchRecord]:
        """Returns a page of series; see `LeaguePages.matches`. Raises: NotFoundError."""
        return self._pages.matches(run_id, **conditions)

    def episodes(self, run_id: str, **conditions: Any) -> list[EpisodeRecord]:
        """Returns a page of kept games; see `LeaguePages.episodes`. Raises: NotFoundError."""
        return self._pages.episodes(run_id, **conditions)

    def episode(self, run_id: str, episode_id: int) -> EpisodeRecord:
        """Returns a game move by move. Raises: NotFoundError."""
        return self._pages.episode(run_id, episode_id)

    def recorded_games(self, run_id: str) -> Iterator[dict[str, Any]]:
        """Yields the games that a run has written down, newest first. Raises: NotFoundError."""
        for heading in self.episodes(run_id, limit=KEPT_EPISODES):
            episode = self.episode(run_id, heading.id)
            yield {"returns": episode.returns, "moves": episode.moves or []}

    def runs_page(self, **conditions: Any) -> list[RunRecord]:
        """Returns a page of runs; see `RunRepository.page`."""
        return self._runs.page(**conditions)

    def tournament_record(self, tournament_id: int) -> TournamentRecord:
        """Raises: NotFoundError."""
        return self._tournaments.get(tournament_id)

    def tournaments_page(self, run_id: str, limit: int, before: int | None) -> list[TournamentRecord]:
        """Returns tournaments, newest first. Raises: NotFoundError."""
        self._runs.get(run_id)
        return self._tournaments.newest(run_id, limit, before)

    def games(self, family: str | None = None) -> list[str]:
        """Returns the ids of games that need no parameters. Raises: NotFoundError: no such family."""
        from league.study.games import listed

        return listed(family)

    def game(self, game_id: str) -> GameFacts:
        """Returns what a game is like. Raises: GameError."""
        from league.study.games import facts

        return facts(game_id)

    def _table(self, run_id: str) -> _Table:
        key = ("standings", run_id)
        table: _Table = self._kept.get(key, self.stamp(run_id), lambda: self._ranked(run_id))
        return table

    def _ranked(self, run_id: str) -> _Table:
        pool = self._pages.pool(run_id)
        rows = standings(pool, self._ranks_before(pool.run))
        shown = [standing_as_json(row) for row in rows]
        return _Table(rows, shown, {row.player: row for row in rows}, "score" in pool.ratings)

    def _ranks_before(self, run: RunRecord) -> dict[str, int]:
        """Returns the ranks an hour of play ago, or half-way through a younger run; anew every minute."""
        since = max(run.play_seconds - MOVEMENT_SECONDS, 0.5 * run.play_seconds)
        key, minute = ("before", run.id), int(since // 60)
        result: dict[str, int] = self._kept.get(key, minute, lambda: self._views.ranks_at(run.id, since))
        return result

    def _payoff_map(self, run_id: str, limit: int) -> bytes:
        rows = self._table(run_id).rows[:limit]
        scores = self._pages.scores_among(run_id, [row.player for row in rows])
        return payoff_map(rows, scores, self.cycles(run_id))

    def _cycles(self, run_id: str, limit: int) -> list[Cycle]:
        names = [row.player for row in self._table(run_id).rows[:limit]]
        return clearest_cycles(names, self._pages.scores_among(run_id, names))

    def _payoffs(self, run_id: str, limit: int) -> PayoffTable:
        names = [row.player for row in self._table(run_id).rows[:limit]]
        payoff = Snapshot(self.run(run_id), [], self._pages.pairs_among(run_id, names), {}).payoff()
        return payoff_table(payoff, names)

    def events(self, run_id: str, after: int = 0) -> list[EventRecord]:
        """Returns the events after one, oldest first. Raises: NotFoundError."""
        self._runs.get(run_id)
        return self._views.events_after(run_id, after)

    def last_event(self, run_id: str) -> int:
        """Returns the id of a run's newest event, 0 before the first."""
        events = self._views.latest_events(run_id, 1)
        return events[0].id if events else 0

    def past_events(self, run_id: str, **conditions: Any) -> list[EventRecord]:
        """Returns a page of events, newest first; see `LeagueViews.past_events`. Raises: NotFoundError."""
        self._runs.get(run_id)
        return self._views.past_events(run_id, **conditions)

    def latest_events(self, run_id: str, limit: int = 30) -> list[EventRecord]:
        """Returns the newest events, newest first."""
        return self._views.latest_events(run_id, limit)

    def rating_history(
        self, run_id: str, system: str = "trueskill", players: Sequence[str] | None = None
    ) -> dict[str, list[tuple[float, ...]]]:
        """Returns (play seconds, moves, its steps, mu, sigma) by player, of all or these.

        Raises:
          NotFoundError.
        """
        self._runs.get(run_id)
        return self._views.rating_history(run_id, system, players=players)

    def latest_metrics(self, run_id: str) -> dict[str, Any] | None:
        """Returns the newest throughput and learning metrics, None before the first."""
        return self._views.latest_metrics(run_id)

    def metrics(self, run_id: str) -> list[dict[str, Any]]:
        """Returns throughput and learning metrics over the run. Raises: NotFoundError."""
        self._runs.get(run_id)
        return self._views.metrics(run_id)

    def analyse(self, run_id: str) -> Analysis:
        """Analyses the pool: ratings, meta-game, calibration. Raises: NotFoundError."""
        from league.study.analysis import analyse  # scipy's optimisers take half a second to import

        views = self._views
        return analyse(views.snapshot(run_id), views.rating_series(run_id), views.branches(run_id))

    def exploitability(
        self, run_id: str, store: CheckpointStore, names: Sequence[str] = ()
    ) -> Exploitabilities:
        """Returns what best responders win against players of a small game.

        See `league.study.exploitability`.

        Raises:
          NotFoundError. BadRequestError: the game is too large, or a player has no network.
        """
        from league.study.exploitability import of_run

        return of_run(self._views.snapshot(run_id), store, names)

    def distilled(
        self, run_id: str, store: CheckpointStore, players: Sequence[str] = (), decisions: int = 1_000_000
    ) -> tuple[Distilled, dict[str, float]]:
        """Returns one player made of many, and their shares. Raises: as `league.study.teachers`."""
        from league.study.teachers import distilled

        return distilled(self._views.snapshot(run_id), store, players=players, decisions=decisions)

    def tournament(
        self,
        run_id: str,
        store: CheckpointStore,
        rules: TournamentRules,
        keep_on: Callable[[int], bool] = lambda _: True,
    ) -> TournamentResults:
        """Plays a tournament between a run's players, here and now, and keeps what came of it.

        Args:
          keep_on: asked at every move, told how many games have been played; False breaks off, and what has
            been played until then is kept.

        Raises:
          NotFoundError: no such run or player. MatchmakingError: the rules do not fit the players.
        """
        from league.study.tournaments import play

        results = play(self._views.snapshot(run_id), store, rules, keep_on=keep_on)
        if results.games:
            self._tournaments.add(run_id, asdict(rules), results.to_json())
        return results

    def tournaments(self, run_id: str) -> list[TournamentRecord]:
        """Returns the newest tournaments, newest first. Raises: NotFoundError."""
        self._runs.get(run_id)
        return self._tournaments.newest(run_id)

    def require_ready(self) -> None:
        """Raises: DatabaseError: the database cannot be read or is not at this program's schema."""
        self._database.require_current()
