"""Ids, and what a wrong one is told."""

from __future__ import annotations

import pytest

import envs
from envs.errors import UnknownGameError


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ("native:conect_four", "did you mean native:connect_four?"),
        ("connect_four", "did you mean native:connect_four?"),
        ("openspiel:leduc", "did you mean openspiel:leduc_poker?"),
        ("openspiel:go(bord=3)", "Unknown parameter 'bord'"),
        ("atari:pong", "unknown game 'atari:pong'"),
        ("openspiel:", "unknown game 'openspiel:'"),
    ],
)
def test_a_wrong_id_is_told_what_would_be_right(wrong: str, hint: str) -> None:
    with pytest.raises(UnknownGameError) as caught:
        envs.make(wrong, 1)
    assert hint in str(caught.value)
