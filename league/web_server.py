"""Serves the web app from this process, by uvicorn's import string."""

from __future__ import annotations

import ipaddress
import socket
import threading
import time

import uvicorn

from league.errors import LeagueError

APP = "web.app:create_app"


class PortInUseError(LeagueError):
    """Somebody else listens there."""


def bind(host: str, port: int) -> socket.socket:
    """Returns a listening socket.

    Raises:
      PortInUseError: the port is taken, or the address is not this machine's.
      LeagueError: the host is not loopback; nobody is asked for a token yet, so nobody else is let in.
    """
    try:
        loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        raise LeagueError(
            f"refusing to listen on {host}: without access tokens the control plane serves loopback only; "
            "use --host 127.0.0.1 and an SSH tunnel"
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(128)
    except (OSError, OverflowError) as error:
        listener.close()
        raise PortInUseError(
            f"cannot listen on {host}:{port}: {error}; choose another with --port"
        ) from error
    return listener


def server() -> uvicorn.Server:
    """Returns a server for the web app; an open event stream does not hold its end for long."""
    config = uvicorn.Config(
        APP, factory=True, log_level="warning", timeout_graceful_shutdown=2, access_log=False
    )
    return uvicorn.Server(config)


class BackgroundServer:
    """The web app in a thread, for a run that brings its own control plane."""

    def __init__(self, listener: socket.socket) -> None:
        self._server = server()
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [listener]}, name="web", daemon=True
        )

    def __enter__(self) -> BackgroundServer:
        self._thread.start()
        deadline = time.monotonic() + 15
        while not self._server.started and self._thread.is_alive() and time.monotonic() < deadline:
            time.sleep(0.02)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(timeout=5)
