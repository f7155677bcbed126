"""A JSON Schema that every provider's validator takes.

Some refuse references, ``oneOf`` with a discriminator, or a variant that does not
declare that it is an object (domain reference, section 22).
"""

from typing import Any, cast


def plain(schema: dict[str, Any]) -> dict[str, Any]:
    """Return *schema* without references, discriminators and invented titles."""
    definitions = schema.get("$defs", {})
    return cast("dict[str, Any]", _plain(schema, definitions))


def _plain(node: object, definitions: dict[str, Any]) -> object:
    if isinstance(node, list):
        return [_plain(part, definitions) for part in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _plain(definitions[node["$ref"].rpartition("/")[2]], definitions)
    result: dict[str, object] = {}
    for name, part in node.items():
        if name in ("$defs", "discriminator") or (name == "title" and isinstance(part, str)):
            continue
        result["anyOf" if name == "oneOf" else name] = _plain(part, definitions)
    return result
