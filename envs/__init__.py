from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from envs.registry import make as make

__all__ = ["make"]


def __getattr__(name: str) -> Any:
    # On first use: whoever imports only `envs.errors` need not wait a second for the compiler of the games.
    if name == "make":
        from envs.registry import make

        return make
    raise AttributeError(f"module 'envs' has no attribute {name!r}")
