"""What a seat of a single environment sees and does, as flat arrays and one integer.

Spaces are gymnasium's. Observations become one array in a compact dtype; actions become the choices of
`envs.actions`, continuous ones cut into steps (Tang & Agrawal 2020, "Discretizing continuous action space for
on-policy optimization": a handful of steps a dimension learns as well as a Gaussian).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from envs.actions import MOST_ACTIONS
from envs.errors import GameError


@dataclass(frozen=True)
class ImageOptions:
    """How images [H, W, C] are made small.

    Attributes:
      size: edge of the square they are shrunk to; 0 keeps them. grayscale: one channel instead of three.
      frame_stack: how many of the last ones are seen together, oldest first.
    """

    size: int = 0
    grayscale: bool = False
    frame_stack: int = 1


class ObservationEncoder:
    """Turns what one seat's environment says into an array of fixed shape.

    Attributes:
      has_mask: a dictionary brings the legal actions. dtype, shape: of the array.
    """

    def __init__(self, space: spaces.Space[Any], image: ImageOptions) -> None:
        """Args: space: the seat's; a dictionary with `observation` and `action_mask` is taken apart."""
        self._space = space
        self.has_mask = isinstance(space, spaces.Dict) and "action_mask" in space.spaces
        inner = (
            space["observation"]
            if isinstance(space, spaces.Dict) and "observation" in space.spaces
            else space
        )
        self._inner = inner
        self._image = image
        self._is_image = isinstance(inner, spaces.Box) and len(inner.shape) == 3 and inner.dtype == np.uint8
        self._flatten = not isinstance(inner, spaces.Box | spaces.MultiBinary)
        self.dtype = np.dtype(np.uint8 if inner.dtype in (np.uint8, np.bool_, np.int8) else np.float32)
        if inner.dtype == np.int8 and isinstance(inner, spaces.Box) and float(np.min(inner.low)) < 0:
            self.dtype = np.dtype(np.float32)
        if self._flatten:
            self.dtype = np.dtype(np.float32)
        self.shape: tuple[int, ...] = self._shape()
        # The shape of what needs no work at all, which is most of what there is.
        self._as_it_is = None if self._is_image or self._flatten else self.shape
        self._frames: list[npt.NDArray[Any]] = []

    @property
    def space(self) -> spaces.Box:
        """What `encode` returns; of bytes it says how high they go, for the network scales them by that."""
        if self.dtype != np.uint8:
            return spaces.Box(-np.inf, np.inf, self.shape, np.float32)
        high = 1 if self._inner.dtype == np.bool_ else int(np.max(getattr(self._inner, "high", 1)))
        return spaces.Box(0, max(1, high), self.shape, np.uint8)

    def reset(self) -> None:
        """Forgets the frames of the last episode."""
        self._frames = []

    def encode(self, observation: Any) -> npt.NDArray[Any]:
        """Returns the array. Raises: ValueError: it does not have the space's shape."""
        if (
            type(observation) is np.ndarray
            and observation.dtype == self.dtype
            and observation.shape == self._as_it_is
        ):
            return observation
        inner = (
            observation["observation"]
            if isinstance(observation, dict) and "observation" in observation
            else observation
        )
        array = np.asarray(spaces.flatten(self._inner, inner) if self._flatten else inner)
        if not self._flatten and array.shape != self._inner.shape:
            raise ValueError(f"an observation of shape {array.shape}, the space says {self._inner.shape}")
        if self._is_image:
            return self._stacked(_shrink(array, self._image)).astype(self.dtype, copy=False)
        return array.astype(self.dtype, copy=False)

    def mask(self, observation: Any, info: Any) -> npt.NDArray[np.bool_] | None:
        """Returns the legal actions, from the observation or the info; None when all are."""
        result = None
        if self.has_mask:
            result = observation["action_mask"]
        elif info:
            result = info.get("action_mask")
        return None if result is None else np.asarray(result, np.bool_)

    def _shape(self) -> tuple[int, ...]:
        if self._flatten:
            return (int(spaces.flatdim(self._inner)),)
        shape = tuple(int(n) for n in self._inner.shape or ())
        if not self._is_image:
            return shape
        height, width, channels = shape
        size = self._image.size
        channels = (1 if self._image.grayscale else channels) * self._image.frame_stack
        return (channels, size or height, size or width)

    def _stacked(self, frame: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if self._image.frame_stack == 1:
            return frame
        missing = self._image.frame_stack - len(self._frames) - 1
        self._frames = [*self._frames[-self._image.frame_stack + 1 :], *[frame] * max(missing, 0), frame]
        return np.concatenate(self._frames)


class NamedEncoder:
    """Keeps the parts of a dictionary or tuple apart: one row with a named array for each.

    Parts within parts are named `outer.inner`, those of tuples by their place. Discrete parts become one-hot.
    """

    def __init__(self, space: spaces.Space[Any], image: ImageOptions) -> None:
        """Raises: GameError: it has no parts, or one that has no fixed shape."""
        self._plain = ObservationEncoder(spaces.Discrete(2), image)  # knows where a mask stands
        self.has_mask = isinstance(space, spaces.Dict) and "action_mask" in space.spaces
        inner = space
        if isinstance(space, spaces.Dict) and "observation" in space.spaces:
            inner = space["observation"]
        elif isinstance(space, spaces.Dict) and self.has_mask:
            inner = spaces.Dict({k: v for k, v in space.spaces.items() if k != "action_mask"})
        self._unwraps = (
            inner is not space and isinstance(space, spaces.Dict) and "observation" in space.spaces
        )
        leaves = dict(_leaves(inner, ()))
        if () in leaves:
            raise GameError(f"observations=named needs a dictionary or tuple of parts, not {inner}")
        self._encoders = {}
        for path, leaf in leaves.items():
            try:
                self._encoders[path] = ObservationEncoder(leaf, image)
            except (NotImplementedError, TypeError, ValueError) as error:
                raise GameError(f"observation {'.'.join(path)} of {leaf} has no fixed shape") from error
        self.space = spaces.Dict({".".join(p): e.space for p, e in self._encoders.items()})
        fields = [(".".join(p), e.dtype.str, e.shape) for p, e in self._encoders.items()]
        self._row = np.zeros((), np.dtype(fields))

    def reset(self) -> None:
        """Forgets the frames of the last episode."""
        for encoder in self._encoders.values():
            encoder.reset()

    def encode(self, observation: Any) -> npt.NDArray[Any]:
        """Returns the row's bytes, valid until the next call. Raises: ValueError: a part does not fit."""
        observation = observation["observation"] if self._unwraps else observation
        for path, encoder in self._encoders.items():
            part = observation
            for key in path:
                part = part[int(key) if isinstance(part, tuple | list) else key]
            array = encoder.encode(part)
            if array.dtype == np.float32 and not np.isfinite(array).all():
                raise ValueError(f"{'.'.join(path)} holds NaN or infinity")
            self._row[".".join(path)] = array
        return self._row.reshape(1).view(np.uint8)

    def mask(self, observation: Any, info: Any) -> npt.NDArray[np.bool_] | None:
        """Returns the legal actions, from the observation or the info; None when all are."""
        if self.has_mask:
            return np.asarray(observation["action_mask"], np.bool_)
        return self._plain.mask(observation, info)


def _leaves(
    space: spaces.Space[Any], path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], spaces.Space[Any]]]:
    """Yields the spaces that are no dictionaries or tuples, by their paths."""
    if isinstance(space, spaces.Dict):
        for key, inner in space.spaces.items():
            yield from _leaves(inner, (*path, str(key)))
    elif isinstance(space, spaces.Tuple):
        for number, inner in enumerate(space.spaces):
            yield from _leaves(inner, (*path, str(number)))
    else:
        yield path, space


class VectorActions:
    """Vectors of numbers as one seat's environment takes them: −1 to 1 is low to high, if it has bounds.

    What has none on a side is passed on as it is.
    """

    factors: tuple[int, ...] = ()

    def __init__(self, space: spaces.Space[Any]) -> None:
        """Raises: GameError: actions that are no vectors."""
        if not isinstance(space, spaces.Box):
            raise GameError(f"actions=continuous needs a Box, not {space}")
        self._space = space
        low, high = space.low.ravel().astype(np.float64), space.high.ravel().astype(np.float64)
        bounded = np.isfinite(low) & np.isfinite(high)
        self._centre = np.where(bounded, 0.5 * (low + high), 0.0)
        self._half = np.where(bounded, 0.5 * (high - low), 1.0)
        self._low, self._high = low, high
        self.space = spaces.Box(-1.0, 1.0, (len(low),), np.float32)

    def decode(self, action: npt.NDArray[np.float32], factors: tuple[int, ...]) -> Any:
        """Returns what the environment takes. Args: action: [D] or more, of which the first D count."""
        value = self._centre + self._half * action[: len(self._centre)]
        clipped = np.clip(value, self._low, self._high)
        return clipped.astype(self._space.dtype).reshape(self._space.shape)


class ActionEncoder:
    """Turns one integer into what one seat's environment takes."""

    def __init__(self, space: spaces.Space[Any], bins: int) -> None:
        """Args: bins: steps that a continuous dimension is cut into.

        Raises:
          GameError: a space without bounds, or of a kind that nobody can number.
        """
        self._space = space
        if isinstance(space, spaces.Discrete):
            self.factors: tuple[int, ...] = (int(space.n),)
        elif isinstance(space, spaces.MultiDiscrete):
            self.factors = tuple(int(n) for n in space.nvec.reshape(-1))
        elif isinstance(space, spaces.MultiBinary):
            self.factors = (2,) * int(np.prod(space.shape))
        elif isinstance(space, spaces.Box) and np.isfinite(space.low).all() and np.isfinite(space.high).all():
            dimensions = int(np.prod(space.shape))
            most = int(MOST_ACTIONS ** (1.0 / max(dimensions, 1)))
            if most < 2:
                raise GameError(
                    f"actions of {dimensions} continuous dimensions are more than can be numbered"
                )
            self.factors = (max(2, min(bins, most)),) * dimensions
        else:
            raise GameError(
                f"cannot act in {space}; known: Discrete, MultiDiscrete, MultiBinary, and Box with bounds"
            )
        self._values = self._meanings()
        self._single = isinstance(space, spaces.Discrete)

    @property
    def space(self) -> spaces.Discrete | spaces.MultiDiscrete:
        """What a league plays in."""
        if len(self.factors) == 1:
            return spaces.Discrete(self.factors[0])
        return spaces.MultiDiscrete(list(self.factors))

    def decode(self, action: int, factors: tuple[int, ...]) -> Any:
        """Returns what the environment takes. Args: factors: of the game, in which this seat's are padded."""
        if self._single and len(factors) == 1:
            return self._values[0][action]
        parts = [0] * len(factors)
        for f in range(len(factors) - 1, -1, -1):
            action, parts[f] = divmod(action, factors[f])
        chosen = [values[part] for values, part in zip(self._values, parts, strict=False)]
        if self._single:
            return chosen[0]
        return np.array(chosen, self._space.dtype).reshape(self._space.shape)

    def _meanings(self) -> list[list[Any]]:
        """Returns what each choice of each part means, written down once: a move must not cost arithmetic."""
        space: Any = self._space
        if isinstance(space, spaces.Discrete):
            return [[int(space.start) + k for k in range(int(space.n))]]
        if isinstance(space, spaces.MultiDiscrete):
            starts = np.broadcast_to(space.start, space.nvec.shape).reshape(-1).tolist()
            return [[s + k for k in range(n)] for s, n in zip(starts, self.factors, strict=True)]
        if isinstance(space, spaces.MultiBinary):
            return [[0, 1] for _ in self.factors]
        ends = zip(space.low.reshape(-1), space.high.reshape(-1), self.factors, strict=True)
        return [np.linspace(low, high, n).tolist() for low, high, n in ends]


def _shrink(image: npt.NDArray[Any], options: ImageOptions) -> npt.NDArray[Any]:
    """Returns uint8 [C, H, W] from [H, W, C]: channels first, every pixel the mean of its block."""
    if not options.size and not options.grayscale:
        return np.ascontiguousarray(image.transpose(2, 0, 1))
    if options.size:
        height, width, _ = image.shape
        rows = np.linspace(0, height, options.size + 1).astype(int)[:-1]
        columns = np.linspace(0, width, options.size + 1).astype(int)[:-1]
        heights = np.diff(np.append(rows, height))
        widths = np.diff(np.append(columns, width))
        summed = np.add.reduceat(image.astype(np.uint32), rows, axis=0)
        summed = np.add.reduceat(summed, columns, axis=1)
        small = summed / (heights[:, None, None] * widths[None, :, None])
    else:
        small = image.astype(np.float32)
    if options.grayscale:
        small = small.mean(axis=2, keepdims=True)
    return np.ascontiguousarray(small.astype(np.uint8).transpose(2, 0, 1))
