"""Figures for Prometheus: of the server's own requests, and of the runs as the database has them."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from starlette.types import Scope

from league.control.services import LeagueService

MOST_RUNS = 50
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class RequestMetrics:
    """Counts requests by route, never by path: a path has ids in it."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._count = Counter(
            "league_http_requests",
            "Requests answered.",
            ("method", "route", "status"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "league_http_request_seconds",
            "Time to answer.",
            ("route",),
            buckets=BUCKETS,
            registry=self.registry,
        )

    def observe(self, scope: Scope, status: int, seconds: float) -> None:
        """Takes in an answered request."""
        route = getattr(scope.get("route"), "path", "none")
        method = scope["method"] if scope["method"].isalpha() and len(scope["method"]) < 10 else "other"
        self._count.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)


class RunMetrics:
    """What the newest runs are doing, read when asked."""

    def __init__(self, league: LeagueService) -> None:
        self._league = league

    def collect(self) -> Iterator[GaugeMetricFamily]:
        labels = ("run", "name", "state")
        names = {
            "moves": "Decisions of all seats so far.",
            "games": "Games so far.",
            "play_seconds": "Seconds of play so far.",
        }
        families = {n: GaugeMetricFamily(f"league_run_{n}", text, labels=labels) for n, text in names.items()}
        rates = {
            n: GaugeMetricFamily(f"league_run_{n}", text, labels=labels)
            for n, text in (
                ("moves_per_second", "Decisions a second, lately."),
                ("learner_steps_per_second", "Decisions learnt from a second, lately."),
                ("policy_lag", "Age of what is learnt from, in updates."),
                ("rollout_waiting", "Share of time that workers wait for learners."),
            )
        }
        learners = {
            n: GaugeMetricFamily(f"league_learner_{n}", text, labels=("run", "player"))
            for n, text in (
                ("entropy", "Of the policy, in nats."),
                ("policy_loss", "The algorithm's."),
                ("value_loss", "Mean squared error."),
                ("approximate_kl", "Between before and after an update."),
                ("gradient_norm", "Before it is clipped."),
                ("policy_lag", "In updates."),
                ("clip_fraction", "Share of decisions at which the surrogate or V-trace clipped."),
                ("explained_variance", "Of the returns by the values; 1 is perfect."),
                ("entropy_coefficient", "As scheduled or steered."),
                ("sample_reuse", "How often each decision is learnt from."),
            )
        }
        workers = {
            n: GaugeMetricFamily(f"league_worker_{n}", text, labels=("run", "worker"))
            for n, text in (
                ("moves_per_second", "Decisions a second, lately."),
                ("waiting", "Share of time that it waits for learners."),
                ("aborted", "Episodes that broke down."),
            )
        }
        spent = GaugeMetricFamily(
            "league_process_time",
            "Share of a process's time by what it is spent on.",
            labels=("run", "process", "kind"),
        )
        for run in self._league.runs_page(limit=MOST_RUNS):
            key = (run.id, run.name, run.state)
            for name, family in families.items():
                family.add_metric(key, getattr(run, name))
            now = self._league.latest_metrics(run.id) if run.state == "running" else None
            if now is None:
                continue
            for name, family in rates.items():
                family.add_metric(key, now.get(name, 0.0))
            for player, values in now.get("learners", {}).items():
                for name, family in learners.items():
                    if name in values:
                        family.add_metric((run.id, player), values[name])
            doing = self._league.doing(run.id)
            for worker in doing.get("workers", []):
                for name, family in workers.items():
                    family.add_metric((run.id, worker["name"]), worker[name])
                for kind, share in worker.get("spent", {}).items():
                    spent.add_metric((run.id, worker["name"], kind), share)
            for process in doing.get("learners", []):
                for kind, share in process.get("spent", {}).items():
                    spent.add_metric((run.id, process["name"], kind), share)
        yield from (*families.values(), *rates.values(), *learners.values(), *workers.values(), spent)


def exposition(requests: RequestMetrics, league: LeagueService) -> bytes:
    """Returns everything in Prometheus' text format."""
    registry = CollectorRegistry()
    registry.register(RunMetrics(league))
    return generate_latest(requests.registry) + generate_latest(registry)
