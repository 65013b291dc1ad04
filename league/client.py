"""A typed client of the control plane.

Written by `make client` from `league/async_client.py`, which is the same for asyncio; change that.

    league = LeagueClient("http://127.0.0.1:8000")
    run = league.launch({"game": "native:connect_four", "stop": {"minutes": 5}, "players": [...]})
    for event in league.events(run.id):
        print(event.kind, event.player)
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar
from urllib.parse import quote

import httpx
from pydantic import BaseModel

from league import schemas
from league.errors import ApiError, TransportError

M = TypeVar("M", bound=BaseModel)

API = "/api/v1"
TRIES = 4
FIRST_WAIT_SECONDS = 0.3
TIMEOUT_SECONDS = 30.0
# Answers after which a request may be sent again as it was.
AGAIN = frozenset({429, 502, 503, 504})


class LeagueClient:
    """Everything that the REST API offers. Players are named by (run, name).

    A request that finds the server busy or away is sent again, a POST with an idempotency key of its own, so
    that it is done once. Every method raises `ApiError`, which says what the server said.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        verify: bool | str = True,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """Args:
        url: such as http://127.0.0.1:8000. token: an access token.
        verify: False, or a file of certificates to trust. transport: instead of the network.
        """
        headers = {"Accept": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self._http = httpx.Client(
            base_url=url.rstrip("/"),
            headers=headers,
            timeout=TIMEOUT_SECONDS,
            verify=verify,
            transport=transport,
        )

    def __enter__(self) -> LeagueClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connections."""
        self._http.close()

    def runs(self, limit: int = 50, cursor: str | None = None, **filters: Any) -> schemas.RunList:
        """Returns a page of runs. Args: filters: state, game, tag, text, sort, order."""
        return self._get(schemas.RunList, "/runs", limit=limit, cursor=cursor, **filters)

    def run(self, run: str) -> schemas.RunDetails:
        """Returns a run with its config."""
        return self._get(schemas.RunDetails, f"/runs/{_part(run)}")

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
        return self._patch(schemas.RunDetails, f"/runs/{_part(run)}", _given(body), headers)

    def pause(self, run: str) -> schemas.Run:
        """Saves the learners and ends a run's processes."""
        return self._post(schemas.Run, f"/runs/{_part(run)}/pause")

    def resume(self, run: str) -> schemas.Run:
        """Lets a run go on."""
        return self._post(schemas.Run, f"/runs/{_part(run)}/resume")

    def stop(self, run: str) -> schemas.Run:
        """Ends a run."""
        return self._post(schemas.Run, f"/runs/{_part(run)}/stop")

    def clone(
        self, run: str, name: str | None = None, config: dict[str, Any] | None = None
    ) -> schemas.RunDetails:
        """Launches another run from a run's config. Args: config: a JSON merge patch."""
        return self._post(
            schemas.RunDetails, f"/runs/{_part(run)}/clone", _given({"name": name, "config": config})
        )

    def delete_run(self, run: str, confirm: str) -> None:
        """Removes a run with its data. Args: confirm: its name."""
        self._request("DELETE", f"/runs/{_part(run)}", params={"confirm": confirm})

    def standings(self, run: str, limit: int = 500, cursor: str | None = None) -> schemas.Standings:
        """Returns the players, best first."""
        return self._get(schemas.Standings, f"/runs/{_part(run)}/standings", limit=limit, cursor=cursor)

    def payoffs(self, run: str, limit: int = 60) -> schemas.Payoffs:
        """Returns win rates between the best players."""
        return self._get(schemas.Payoffs, f"/runs/{_part(run)}/payoffs", limit=limit)

    def ratings(
        self, run: str, system: str = "trueskill", players: Sequence[str] = ()
    ) -> schemas.RatingHistory:
        """Returns ratings over time."""
        return self._get(
            schemas.RatingHistory, f"/runs/{_part(run)}/ratings", system=system, player=list(players)
        )

    def metrics(self, run: str) -> schemas.Metrics:
        """Returns throughput, lag and losses over the run."""
        return self._get(schemas.Metrics, f"/runs/{_part(run)}/metrics")

    def anchor_scores(self, run: str) -> schemas.AnchorScores:
        """Returns what the best mains scored against the anchors, over time."""
        return self._get(schemas.AnchorScores, f"/runs/{_part(run)}/anchors")

    def cycles(self, run: str) -> schemas.CycleList:
        """Returns three players each, of whom each beats the next."""
        return self._get(schemas.CycleList, f"/runs/{_part(run)}/cycles")

    def doing(self, run: str) -> schemas.Doing:
        """Returns what the run's processes are at."""
        return self._get(schemas.Doing, f"/runs/{_part(run)}/doing")

    def players(
        self, run: str, limit: int = 100, cursor: str | None = None, **filters: Any
    ) -> schemas.PlayerList:
        """Returns a page of a run's players. Args: filters: role, state, parent, text."""
        return self._get(
            schemas.PlayerList, f"/runs/{_part(run)}/players", limit=limit, cursor=cursor, **filters
        )

    def player(self, run: str, name: str) -> schemas.Player:
        """Returns a player."""
        return self._get(schemas.Player, _player(run, name))

    def add_player(
        self,
        run: str,
        name: str,
        *,
        checkpoint: str | None = None,
        source: tuple[str | None, str] | None = None,
        bot: str | None = None,
        url: str | None = None,
        label: str | None = None,
        tags: Sequence[str] = (),
    ) -> schemas.Command:
        """Takes somebody into the pool; give one of checkpoint (sha256), source (run, player), bot, url."""
        body = _given({"checkpoint": checkpoint, "bot": bot, "url": url, "label": label})
        if source is not None:
            body["from"] = _given({"run": source[0], "player": source[1]})
        return self._post(
            schemas.Command, f"/runs/{_part(run)}/players", {"name": name, "tags": list(tags), **body}
        )

    def describe_player(
        self, run: str, name: str, *, label: str | None = None, tags: Sequence[str] | None = None
    ) -> schemas.Command:
        """Gives a player a label or tags."""
        body = _given({"label": label, "tags": None if tags is None else list(tags)})
        return self._patch(schemas.Command, _player(run, name), body)

    def freeze(self, run: str, name: str) -> schemas.Command:
        """Ends a player's learning."""
        return self._post(schemas.Command, f"{_player(run, name)}/freeze")

    def unfreeze(self, run: str, name: str) -> schemas.Command:
        """Lets a frozen learner go on."""
        return self._post(schemas.Command, f"{_player(run, name)}/unfreeze")

    def retire(self, run: str, name: str) -> schemas.Command:
        """Takes a player out of every match."""
        return self._post(schemas.Command, f"{_player(run, name)}/retire")

    def pin(self, run: str, name: str) -> schemas.Command:
        """Makes a frozen player an anchor."""
        return self._post(schemas.Command, f"{_player(run, name)}/pin")

    def unpin(self, run: str, name: str) -> schemas.Command:
        """Makes an anchor what it was."""
        return self._post(schemas.Command, f"{_player(run, name)}/unpin")

    def roll_back(self, run: str, name: str, to: str) -> schemas.Command:
        """Lets a learner go on from another player's weights."""
        return self._post(schemas.Command, f"{_player(run, name)}/rollback", {"to": to})

    def branch(
        self,
        run: str,
        name: str,
        *,
        copy: str | None = None,
        learn: bool = False,
        role: str | None = None,
        share: float | None = None,
    ) -> schemas.Command:
        """Copies a player.

        Args:
          copy: the copy's name, of one that stays as it is. role, share: of one that learns.
        """
        body = _given({"name": copy, "learn": learn, "role": role, "share": share})
        return self._post(schemas.Command, f"{_player(run, name)}/branch", body)

    def command(self, run: str, command: int) -> schemas.Command:
        """Returns whether something asked for has been done."""
        return self._get(schemas.Command, f"/runs/{_part(run)}/commands/{command}")

    def checkpoint(self, run: str, name: str) -> bytes:
        """Returns a player's weights, safetensors."""
        return (self._request("GET", f"{_player(run, name)}/checkpoint")).content

    def upload(self, data: bytes, network: dict[str, Any] | None = None) -> schemas.Checkpoint:
        """Uploads weights; returns their sha256. Args: network: what they are of, if they do not say it."""
        params = {} if network is None else {"network": json.dumps(network)}
        headers = {"Content-Type": "application/octet-stream", "Idempotency-Key": secrets.token_hex(16)}
        answer = self._request("POST", "/checkpoints", params=params, content=data, headers=headers)
        return schemas.Checkpoint.model_validate_json(answer.content)

    def standing(self, run: str, name: str) -> schemas.Standing:
        """Returns a player's row of the standings."""
        return self._get(schemas.Standing, f"{_player(run, name)}/standing")

    def player_ratings(self, run: str, name: str, system: str = "trueskill") -> schemas.RatingHistory:
        """Returns a player's rating over time."""
        return self._get(schemas.RatingHistory, f"{_player(run, name)}/ratings", system=system)

    def opponents(self, run: str, name: str) -> schemas.HeadToHead:
        """Returns what a player scored against everybody it has met."""
        return self._get(schemas.HeadToHead, f"{_player(run, name)}/opponents")

    def lineage(self, run: str, name: str) -> schemas.PlayerList:
        """Returns a player and whom it was copied from."""
        return self._get(schemas.PlayerList, f"{_player(run, name)}/lineage")

    def act(
        self,
        run: str,
        name: str,
        observation: Sequence[Any],
        legal: Sequence[Any] | None = None,
        *,
        memory: Sequence[Any] | None = None,
        temperature: float = 1.0,
        details: bool = False,
    ) -> schemas.Acted:
        """Returns what a player would do. Args: memory: of the answer before, for a player with one."""
        body = {"observation": observation, "legal": legal, "temperature": temperature, "details": details}
        if memory is not None:
            body["memory"] = memory
        return self._post(schemas.Acted, f"{_player(run, name)}/act", body, once=False)

    def matches(
        self, run: str, limit: int = 100, cursor: str | None = None, **filters: Any
    ) -> schemas.MatchList:
        """Returns a page of series. Args: filters: player, opponent, purpose, outcome, since, until."""
        return self._get(
            schemas.MatchList, f"/runs/{_part(run)}/matches", limit=limit, cursor=cursor, **filters
        )

    def episodes(
        self, run: str, limit: int = 50, cursor: str | None = None, player: str | None = None
    ) -> schemas.EpisodeList:
        """Returns games that were written down."""
        return self._get(
            schemas.EpisodeList, f"/runs/{_part(run)}/episodes", limit=limit, cursor=cursor, player=player
        )

    def replay(self, run: str, episode: int) -> schemas.Replay:
        """Returns a game move by move."""
        return self._get(schemas.Replay, f"/runs/{_part(run)}/episodes/{episode}")

    def ask_tournament(self, run: str, players: Sequence[str], **rules: Any) -> schemas.Tournament:
        """Asks for a tournament. Args: rules: form, opponents, rounds, greedy, max_games, precision, …"""
        body = {"players": list(players), **rules}
        return self._post(schemas.Tournament, f"/runs/{_part(run)}/tournaments", body)

    def tournament(self, tournament: int) -> schemas.Tournament:
        """Returns a tournament as far as it has been played."""
        return self._get(schemas.Tournament, f"/tournaments/{tournament}")

    def tournaments(self, run: str, limit: int = 50, cursor: str | None = None) -> schemas.TournamentList:
        """Returns a page of a run's tournaments."""
        return self._get(
            schemas.TournamentList, f"/runs/{_part(run)}/tournaments", limit=limit, cursor=cursor
        )

    def cancel_tournament(self, tournament: int) -> schemas.Tournament:
        """Breaks a tournament off."""
        return self._post(schemas.Tournament, f"/tournaments/{tournament}/cancel")

    def wait_for_tournament(self, tournament: int, poll_seconds: float = 1.0) -> schemas.Tournament:
        """Returns a tournament when it is over."""
        while (found := self.tournament(tournament)).state in ("pending", "running"):
            time.sleep(poll_seconds)
        return found

    def past_events(
        self, run: str, limit: int = 100, cursor: str | None = None, **filters: Any
    ) -> schemas.EventList:
        """Returns a page of events, newest first. Args: filters: kind (a list), player."""
        return self._get(
            schemas.EventList, f"/runs/{_part(run)}/events/log", limit=limit, cursor=cursor, **filters
        )

    def events(
        self, run: str, after: int = 0, kinds: Sequence[str] = (), player: str | None = None
    ) -> Iterator[schemas.Event]:
        """Yields a run's events from after one on, as they come; a stream that breaks is taken up again."""
        last = after
        while True:
            params = _given({"after": last, "kind": list(kinds), "player": player})
            path = f"{API}/runs/{_part(run)}/events"
            try:
                with self._http.stream("GET", path, params=params, timeout=60.0) as answer:
                    if answer.status_code != 200:
                        answer.read()
                        raise _error(answer)
                    fields: dict[str, str] = {}
                    for line in answer.iter_lines():
                        name, _, value = line.partition(":")
                        if name:
                            fields[name] = value.removeprefix(" ")
                        elif not line:
                            if "id" in fields:
                                last = int(fields["id"])
                                yield _event(last, json.loads(fields["data"]))
                            fields = {}
            except httpx.TransportError:
                pass
            time.sleep(FIRST_WAIT_SECONDS)

    def begin_play(
        self, run: str, player: str, name: str, *, seat: int = 0, rated: bool = False
    ) -> schemas.Play:
        """Begins a game against a player. Args: name: yours. seat: yours. rated: the result counts."""
        body = {"player": player, "name": name, "seat": seat, "rated": rated}
        return self._post(schemas.Play, f"/runs/{_part(run)}/plays", body)

    def play(self, play: str) -> schemas.Play:
        """Returns a game as it stands."""
        return self._get(schemas.Play, f"/plays/{_part(play)}")

    def move(self, play: str, action: int) -> schemas.Play:
        """Plays your move and the player's answer."""
        return self._post(schemas.Play, f"/plays/{_part(play)}/moves", {"action": action})

    def undo(self, play: str) -> schemas.Play:
        """Takes your last move back."""
        return self._post(schemas.Play, f"/plays/{_part(play)}/undo")

    def resign(self, play: str) -> schemas.Play:
        """Gives a game up."""
        return self._post(schemas.Play, f"/plays/{_part(play)}/resign")

    def hint(self, play: str) -> schemas.Hint:
        """Returns what the player would do in your place."""
        return self._get(schemas.Hint, f"/plays/{_part(play)}/hint")

    def check_config(self, config: dict[str, Any] | str) -> schemas.CheckedConfig:
        """Says whether a config would do; launches nothing. Args: config: as data or as YAML text."""
        source = {"yaml": config} if isinstance(config, str) else {"config": config}
        return self._post(schemas.CheckedConfig, "/configs/check", source, once=False)

    def tokens(self) -> schemas.TokenList:
        """Returns access tokens without themselves."""
        return self._get(schemas.TokenList, "/tokens")

    def create_token(self, name: str, scope: str, expires: str | None = None) -> schemas.NewToken:
        """Makes an access token; it is shown this once."""
        body = _given({"name": name, "scope": scope, "expires": expires})
        return self._post(schemas.NewToken, "/tokens", body, once=False)

    def revoke_token(self, token_id: str) -> schemas.Token:
        """Ends an access token."""
        return self._post(schemas.Token, f"/tokens/{_part(token_id)}/revoke")

    def audit(self, limit: int = 100, cursor: str | None = None) -> schemas.AuditList:
        """Returns who did what, newest first."""
        return self._get(schemas.AuditList, "/audit", limit=limit, cursor=cursor)

    def webhooks(self) -> schemas.WebhookList:
        """Returns where events are sent."""
        return self._get(schemas.WebhookList, "/webhooks")

    def add_webhook(self, url: str, kinds: Sequence[str] = (), run: str | None = None) -> schemas.NewWebhook:
        """Sends events to a URL; the secret that signs them is shown this once."""
        body = _given({"url": url, "kinds": list(kinds), "run": run})
        return self._post(schemas.NewWebhook, "/webhooks", body, once=False)

    def delete_webhook(self, webhook_id: str) -> None:
        """Sends no more there."""
        self._request("DELETE", f"/webhooks/{_part(webhook_id)}")

    def games(self, family: str | None = None) -> schemas.GameList:
        """Returns games by id."""
        return self._get(schemas.GameList, "/games", family=family)

    def game(self, game: str) -> schemas.Game:
        """Returns what a game is like."""
        return self._get(schemas.Game, f"/games/{_part(game)}")

    def _get(self, model: type[M], path: str, **params: Any) -> M:
        answer = self._request("GET", path, params=_given(params))
        return model.model_validate_json(answer.content)

    def _post(self, model: type[M], path: str, body: dict[str, Any] | None = None, *, once: bool = True) -> M:
        headers = {"Idempotency-Key": secrets.token_hex(16)} if once else {}
        answer = self._request("POST", path, json=body, headers=headers, again=once)
        return model.model_validate_json(answer.content)

    def _patch(
        self, model: type[M], path: str, body: dict[str, Any], headers: dict[str, str] | None = None
    ) -> M:
        answer = self._request("PATCH", path, json=body, headers=headers or {})
        return model.model_validate_json(answer.content)

    def _request(self, method: str, path: str, *, again: bool = True, **how: Any) -> httpx.Response:
        wait = FIRST_WAIT_SECONDS
        for left in reversed(range(TRIES)):
            try:
                answer = self._http.request(method, API + path, **how)
            except httpx.TransportError as error:
                if not (again and left) or isinstance(error, httpx.UnsupportedProtocol):
                    raise TransportError(f"{self._http.base_url}: {error or type(error).__name__}") from error
            else:
                if answer.is_success:
                    return answer
                if not (again and left and answer.status_code in AGAIN):
                    raise _error(answer)
            time.sleep(wait)
            wait *= 2
        raise AssertionError("unreachable")


def _part(text: str) -> str:
    """Returns one part of a path, whatever is in it."""
    return quote(text, safe=":@")


def _player(run: str, name: str) -> str:
    return f"/players/{_part(f'{run}:{name}')}"


def _given(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _error(answer: httpx.Response) -> ApiError:
    try:
        problem = schemas.Problem.model_validate_json(answer.content)
    except ValueError:
        problem = schemas.Problem(
            type="about:blank",
            title=answer.reason_phrase,
            status=answer.status_code,
            detail=f"{answer.request.url} answered {answer.status_code}, not by League",
        )
    return ApiError(problem.status, problem.type, problem.detail)


def _event(number: int, data: dict[str, Any]) -> schemas.Event:
    known = {name: data.pop(name, None) for name in ("kind", "player", "by", "at")}
    return schemas.Event(id=number, data=data, **known)
