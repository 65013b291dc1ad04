"""Serves the web app from this process, by uvicorn's import string."""

from __future__ import annotations

import ipaddress
import socket
import ssl
import threading
import time
from pathlib import Path

import uvicorn

from league.errors import LeagueError

APP = "web.app:create_app"


class PortInUseError(LeagueError):
    """Somebody else listens there."""


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what listens there."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def bind(host: str, port: int) -> socket.socket:
    """Returns a listening socket.

    Raises:
      PortInUseError: the port is taken, or the address is not this machine's.
    """
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


def server(cert: Path | None = None, key: Path | None = None) -> uvicorn.Server:
    """Returns a server for the web app; an open event stream does not hold its end for long.

    Args:
      cert, key: PEM files to serve HTTPS with.

    Raises:
      LeagueError: one without the other, or they cannot be read.
    """
    if (cert is None) != (key is None):
        raise LeagueError("TLS needs both a certificate and its key: --tls-cert FILE --tls-key FILE")
    for file in (cert, key):
        if file is not None and not file.is_file():
            raise LeagueError(f"TLS: {file}: no such file")
    config = uvicorn.Config(
        APP,
        factory=True,
        log_level="warning",
        timeout_graceful_shutdown=2,
        access_log=False,
        ssl_certfile=cert,
        ssl_keyfile=key,
        server_header=False,
        h11_max_incomplete_event_size=65_536,
    )
    try:
        config.load()
    except (OSError, ssl.SSLError) as error:
        raise LeagueError(f"TLS: {cert}, {key}: {error}") from error
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
