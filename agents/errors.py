"""What can go wrong with a policy, its weights or its learning."""

from __future__ import annotations


class AgentError(Exception):
    """Base of every error that policies, weights and learners raise."""


class ShapeError(AgentError):
    """Tensors that belong together differ in shape."""


class WeightsError(AgentError):
    """Bytes that are not the weights they should be."""


class UnknownBotError(AgentError):
    """No bot answers to this id, or it cannot play this game."""


class DivergenceError(AgentError):
    """Learning produced a loss or gradient that is not a number."""


class DeviceError(AgentError):
    """A network is to run on hardware that this machine does not have."""
