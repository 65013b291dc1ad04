"""A fragment on the device that learns from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from agents.fragment import Fragment
from agents.processor import moved


@dataclass(frozen=True)
class PrefetchedFragment:
    """A fragment's arrays as tensors, see `Fragment`; made while the learner is busy with another one."""

    player: str
    generation: int
    version: int
    steps: int
    obs: torch.Tensor
    legal: torch.Tensor
    actions: torch.Tensor
    log_probs: torch.Tensor
    values: torch.Tensor
    rewards: torch.Tensor
    terminal: torch.Tensor
    memory: torch.Tensor

    @classmethod
    def of(cls, fragment: Fragment, device: torch.device) -> PrefetchedFragment:
        """Copies a fragment to a device."""
        lanes = fragment.actions.shape[1]
        memory = fragment.memory if len(fragment.memory) else np.zeros((lanes, 0), np.float32)
        return cls(
            fragment.player,
            fragment.generation,
            fragment.version,
            fragment.steps,
            moved(fragment.obs, device),
            moved(fragment.legal, device),
            _actions(fragment, device),
            moved(fragment.log_probs, device),
            moved(fragment.values, device),
            moved(fragment.rewards, device),
            moved(fragment.terminal, device),
            moved(memory, device),
        )


def _actions(fragment: Fragment, device: torch.device) -> torch.Tensor:
    actions = moved(fragment.actions, device)
    return actions if actions.is_floating_point() else actions.long()
