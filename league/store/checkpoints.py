"""Immutable bytes by their sha256: written whole or not at all, verified on every read."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
from pathlib import PurePosixPath

import fsspec

from league.errors import CheckpointError, StoreWaitsError


class CheckpointStore:
    """A folder at any fsspec URL (`/path`, `file:///path`, `s3://bucket/prefix`)."""

    def __init__(self, url: str) -> None:
        """Raises: CheckpointError: the folder cannot be made."""
        self.url = url
        try:
            self._fs, self._root = fsspec.core.url_to_fs(url)
            self._fs.makedirs(self._root, exist_ok=True)
        except (OSError, ValueError, ImportError) as error:
            raise CheckpointError(f"checkpoint store {url}: {error}") from error
        self._local = "file" in self._fs.protocol

    def put(self, data: bytes) -> str:
        """Stores bytes and returns their sha256. Storing the same bytes twice is storing them once.

        The bytes are under a temporary name until they are on the disk, so that no crash leaves half a
        checkpoint behind.

        Raises:
          StoreWaitsError: there is no room.
        """
        sha = hashlib.sha256(data).hexdigest()
        path = self._path(sha)
        if self._fs.exists(path):
            return sha
        temporary = f"{path}.{secrets.token_hex(4)}.tmp"
        try:
            self._fs.makedirs(str(PurePosixPath(path).parent), exist_ok=True)
            if self._local:
                _write_through(temporary, path, data)
            else:
                self._fs.pipe_file(temporary, data)
                self._fs.mv(temporary, path)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
                raise StoreWaitsError(f"checkpoint store {self.url}: {error.strerror}") from error
            raise
        return sha

    def get(self, sha: str) -> bytes:
        """Returns the bytes. Raises: CheckpointError: missing, truncated or altered."""
        try:
            data: bytes = self._fs.cat_file(self._path(sha))
        except FileNotFoundError as error:
            raise CheckpointError(f"checkpoint {sha} is not in {self.url}") from error
        result = hashlib.sha256(data).hexdigest()
        if result != sha:
            raise CheckpointError(
                f"checkpoint {sha} in {self.url} is damaged: {len(data)} bytes with sha256 {result}"
            )
        return data

    def has(self, sha: str) -> bool:
        """Whether bytes of this name are there, whole or not."""
        return bool(self._fs.exists(self._path(sha)))

    def quarantine(self, sha: str) -> None:
        """Puts bytes that are not what they should be out of the way, to be looked at: `SHA.damaged`."""
        path = self._path(sha)
        if self._fs.exists(path):
            self._fs.mv(path, f"{path}.damaged")

    def delete(self, sha: str) -> None:
        """Removes bytes that nothing points at any more; missing ones are no error."""
        path = self._path(sha)
        if self._fs.exists(path):
            self._fs.rm_file(path)

    def _path(self, sha: str) -> str:
        return f"{self._root}/{sha[:2]}/{sha}.safetensors"


def _write_through(temporary: str, path: str, data: bytes) -> None:
    """Writes a file and its name to the disk itself, not only to the system's cache."""
    with open(temporary, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
