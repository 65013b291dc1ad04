"""Checkpoints are whole or not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from league.errors import CheckpointError
from league.store.checkpoints import CheckpointStore


@pytest.mark.parametrize("scheme", ["", "file://", "memory://"])
def test_what_is_put_is_got(scheme: str, tmp_path: Path) -> None:
    store = CheckpointStore(f"{scheme}{tmp_path}/checkpoints")
    sha = store.put(b"weights")
    assert store.put(b"weights") == sha
    assert store.get(sha) == b"weights"
    store.delete(sha)
    store.delete(sha)
    with pytest.raises(CheckpointError, match=f"{sha} is not in"):
        store.get(sha)


def test_an_altered_file_is_named(tmp_path: Path) -> None:
    store = CheckpointStore(str(tmp_path))
    sha = store.put(b"weights" * 100)
    (file,) = tmp_path.rglob("*.safetensors")
    file.write_bytes(b"weights" * 99)
    with pytest.raises(CheckpointError, match=f"{sha} .* is damaged: 693 bytes"):
        store.get(sha)


def test_a_crash_before_the_rename_leaves_no_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = CheckpointStore(str(tmp_path))

    def crash(*_: object) -> None:
        raise OSError("power cut")

    monkeypatch.setattr("league.store.checkpoints.os.replace", crash)
    with pytest.raises(OSError, match="power cut"):
        store.put(b"weights")
    assert not list(tmp_path.rglob("*.safetensors"))
    monkeypatch.undo()
    assert store.get(store.put(b"weights")) == b"weights"


def test_a_store_that_cannot_be_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CheckpointError, match="checkpoint store"):
        CheckpointStore(str(tmp_path / "file" / "checkpoints"))
    with pytest.raises(CheckpointError, match="checkpoint store nonsense://x"):
        CheckpointStore("nonsense://x")
