"""As much of JSON Schema as our schemas use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (list,),
    "object": (dict,),
}


def misfits(value: Any, schema: Mapping[str, Any], *, root: Mapping[str, Any], place: str = "") -> Iterator[str]:
    """Yield the places where a value is not as its schema says; a key that the schema does not know is one."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        tried = [list(misfits(value, choice, root=root, place=place)) for choice in schema["anyOf"]]
        yield from min(tried, key=len)
    elif "enum" in schema or "const" in schema:
        if value not in schema.get("enum", [schema.get("const")]):
            yield f"{place}: {value!r}"
    elif "type" in schema:
        yield from _misfits_of_type(value, schema, root=root, place=place)


def _misfits_of_type(value: Any, schema: Mapping[str, Any], *, root: Mapping[str, Any], place: str) -> Iterator[str]:
    is_flag = isinstance(value, bool)
    if not isinstance(value, _TYPES[schema["type"]]) or is_flag != (schema["type"] == "boolean"):
        yield f"{place}: {value!r} is no {schema['type']}"
    elif isinstance(value, list):
        yield from _misfits_of_items(value, schema, root=root, place=place)
    elif isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties")
        yield from (f"{place}.{key} is missing" for key in schema.get("required", ()) if key not in value)
        for key, each in value.items():
            if key not in known and not others:
                yield f"{place}.{key} is not in the schema"
            else:
                yield from misfits(each, known.get(key, others), root=root, place=f"{place}.{key}")


def _misfits_of_items(
    value: list[Any], schema: Mapping[str, Any], *, root: Mapping[str, Any], place: str
) -> Iterator[str]:
    first = schema.get("prefixItems", [])
    rest = schema.get("items")
    for number, item in enumerate(value):
        kind = first[number] if number < len(first) else rest
        if not kind and kind != {}:
            yield f"{place}[{number}] is one too many"
        else:
            yield from misfits(item, kind, root=root, place=f"{place}[{number}]")
