"""Kinds of games by the prefix of their ids: one file a kind, behind `envs.family.GameFamily`."""
