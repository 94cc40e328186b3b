"""The JSON schemas of tools: what the API takes, and the smaller language of strict tools.

A strict tool's schema may use only what structured outputs support: every object closed, no
lengths, ranges or counts, no recursion. The real API allows some optional properties; this
stand-in refuses them, since the house rule is that every property of a strict tool is required.
"""

from __future__ import annotations

from typing import Any, cast

from jsonschema import Draft202012Validator, SchemaError, ValidationError, validate

from bot.local.claude.blocks import is_object
from bot.local.claude.refusals import RefusedError

_ANYWHERE = {"type", "description", "title", "default", "enum", "const", "$defs", "definitions"}
_BY_TYPE = {
    "object": {"properties", "required", "additionalProperties"},
    "array": {"items", "minItems"},
    "string": {"format", "pattern"},
}
_COMBINING = {"anyOf", "allOf", "$ref"}
_FORMATS = {
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "uri",
    "ipv4",
    "ipv6",
    "uuid",
}


def check_tool_schema(tool: dict[str, Any], path: str) -> None:
    """Refuse a tool whose input schema the API would refuse; `path` is `tools.N.custom`."""
    schema = tool["input_schema"]
    if schema.get("type") != "object":
        raise RefusedError(f"{path}.input_schema.type: Input should be 'object'")
    for keyword in ("oneOf", "allOf", "anyOf"):
        if keyword in schema:
            raise RefusedError(
                f"{path}.input_schema: input_schema does not support oneOf, allOf, or anyOf at "
                "the top level"
            )
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise RefusedError(
            f"{path}.input_schema: JSON schema is invalid. It must match JSON Schema draft "
            f"2020-12 ({error.message})"
        ) from None
    if tool.get("strict"):
        _StrictSchema(schema, path).check()


def input_problem(schema: dict[str, Any], value: object) -> str | None:
    """Why `value` doesn't match `schema`, or None when it does."""
    try:
        validate(value, schema, cls=Draft202012Validator)
    except ValidationError as error:
        return f"{error.json_path}: {error.message}"
    return None


class _StrictSchema:
    def __init__(self, root: dict[str, Any], path: str) -> None:
        self._root = root
        self._path = path

    def check(self) -> None:
        self._node(self._root, ())

    def _node(self, node: object, references: tuple[str, ...]) -> None:
        if not is_object(node):
            raise RefusedError(f"{self._path}: Schema is too permissive: {node!r}")
        schema = node
        self._keywords(schema)
        if "$ref" in schema:
            self._reference(schema["$ref"], references)
        for keyword in ("anyOf", "allOf"):
            for branch in schema.get(keyword, ()):
                self._node(branch, references)
        if schema.get("type") == "object":
            self._object(schema, references)
        if "items" in schema:
            self._node(schema["items"], references)

    def _keywords(self, schema: dict[str, Any]) -> None:
        kinds = schema.get("type", ())
        types = cast("list[str]", [kinds] if isinstance(kinds, str) else list(kinds))
        allowed = _ANYWHERE.union(_COMBINING, *(_BY_TYPE.get(kind, set()) for kind in types))
        for keyword in sorted(schema.keys() - allowed):
            kind = "/".join(types) or "any"
            raise RefusedError(
                f"{self._path}: For '{kind}' type, property '{keyword}' is not supported"
            )
        if not types and not schema.keys() & (_COMBINING | {"enum", "const"}):
            raise RefusedError(f"{self._path}: Schema type is missing")
        if schema.get("minItems", 0) not in (0, 1):
            raise RefusedError(f"{self._path}: For 'array' type, 'minItems' must be 0 or 1")
        if "format" in schema and schema["format"] not in _FORMATS:
            raise RefusedError(f"{self._path}: String format '{schema['format']}' is not supported")

    def _object(self, schema: dict[str, Any], references: tuple[str, ...]) -> None:
        if schema.get("additionalProperties") is not False:
            raise RefusedError(
                f"{self._path}: For 'object' type, 'additionalProperties' must be explicitly set "
                "to false"
            )
        properties = schema.get("properties", {})
        optional = sorted(properties.keys() - set(schema.get("required", ())))
        if optional:
            raise RefusedError(
                f"{self._path}: For 'object' type, every property must be in 'required': "
                f"{', '.join(optional)}"
            )
        for value in properties.values():
            self._node(value, references)

    def _reference(self, reference: str, references: tuple[str, ...]) -> None:
        if reference in references:
            raise RefusedError(f"{self._path}: Recursive schemas are not supported: {reference}")
        node: Any = self._root
        if not reference.startswith("#/"):
            raise RefusedError(f"{self._path}: External '$ref' is not supported: {reference}")
        for part in reference.removeprefix("#/").split("/"):
            node = node.get(part) if is_object(node) else None
        if node is None:
            raise RefusedError(f"{self._path}: '$ref' points nowhere: {reference}")
        self._node(node, (*references, reference))
