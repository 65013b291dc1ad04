from envs.registry import make

__all__ = ["make"]
