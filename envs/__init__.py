"""Games as batches of arrays: the contract, the families that keep it, and the check that they do."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from envs.registry import make as make
    from envs.registry import spec as spec_of

__all__ = ["make", "spec_of"]


def __getattr__(name: str) -> Any:
    # On first use: whoever imports only `envs.errors` need not wait for the families' packages.
    if name in __all__:
        from envs import registry

        return registry.make if name == "make" else registry.spec
    raise AttributeError(f"module 'envs' has no attribute {name!r}")
