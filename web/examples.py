"""An example for every operation of the OpenAPI document, made from the schemas: it always fits them."""

from __future__ import annotations

from typing import Any

# By field, where the schema has none of its own; elsewhere something of the right type will do.
FIELDS: dict[str, Any] = {
    "id": "1a2b3c4d",
    "run": "1a2b3c4d",
    "name": "main.0",
    "player": "main.0",
    "opponent": "main.0.v3",
    "parent": "main.0",
    "label": "The first main",
    "game": "native:connect_four",
    "game_id": "native:connect_four",
    "state": "running",
    "desired_state": "running",
    "role": "main",
    "first": "main.0",
    "second": "main.0.v3",
    "players": ["main.0", "main.0.v3"],
    "purpose": "evaluation",
    "branch": "rating",
    "kind": "freeze",
    "by": "ci",
    "created_by": "local",
    "at": 1796169695.4,
    "created_at": 1796169695.4,
    "updated_at": 1796169705.9,
    "returns": [1.0, -1.0],
    "win_rates": [[-1.0, 0.62], [0.38, -1.0]],
    "low": [[0.0, 0.55], [0.31, 0.0]],
    "high": [[1.0, 0.69], [0.45, 1.0]],
    "trueskill_mu": 31.2,
    "trueskill_sigma": 1.1,
    "conservative": 27.9,
    "elo": 1240.0,
    "system": "trueskill",
    "action": "player.freeze",
    "target": "1a2b3c4d:main.0",
    "scope": "read",
    "status": "ok",
    "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "checkpoint": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "url": "https://example.org/hooks/league",
    "token": "league_0123456789ab_…",
    "secret": "whsec_…",
    "observation": [84],
    "sides": [["seat_0"], ["seat_1"]],
    "turns": "in turn",
    "outcome": "win/draw/loss",
    "dtype": "uint8",
}


def add_examples(document: dict[str, Any]) -> None:
    """Gives every JSON body of the document, asked or answered, an example."""
    schemas = document["components"]["schemas"]
    for operations in document["paths"].values():
        for operation in operations.values():
            bodies = [r for code, r in operation["responses"].items() if code.startswith("2")]
            for body in [*bodies, operation.get("requestBody", {})]:
                content = body.get("content", {}).get("application/json")
                if content and "example" not in content:
                    content["example"] = _example(content.get("schema", {}), schemas, "")


def _example(schema: dict[str, Any], schemas: dict[str, Any], field: str) -> Any:
    if "$ref" in schema:
        return _example(schemas[schema["$ref"].rpartition("/")[2]], schemas, field)
    if "examples" in schema:
        return schema["examples"][0]
    kind = schema.get("type")
    if kind == "object" and "properties" in schema:
        required = schema.get("required", schema["properties"])
        return {
            name: _example(part, schemas, name)
            for name, part in schema["properties"].items()
            if name in required or "examples" in part or "default" not in part
        }
    if field in FIELDS and _is(FIELDS[field], schema):
        return FIELDS[field]
    if "default" in schema:
        return schema["default"]
    if "enum" in schema:
        return schema["enum"][0]
    for choice in schema.get("anyOf", ()):
        return _example(choice, schemas, field)
    if kind == "array":
        return [_example(schema.get("items", {}), schemas, "")]
    return {"string": "text", "integer": 1, "number": 0.5, "boolean": False, "object": {}}.get(str(kind))


def _is(value: Any, schema: dict[str, Any]) -> bool:
    kinds = {str: "string", int: "integer", float: "number", list: "array"}
    allowed = {schema.get("type"), *(part.get("type") for part in schema.get("anyOf", ()))}
    return kinds[type(value)] in allowed
