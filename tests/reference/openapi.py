"""The addresses of the page for programs: as an OpenAPI document (3.1), and as a table."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from grader_daemon._version import SCHEMA_VERSION
from grader_daemon.dashboard.http_api import ENDPOINTS, Endpoint
from tests.reference.blocks import table

_REFUSED = {
    "description": "One line that says what is wrong.",
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "properties": {"schema_version": {"const": SCHEMA_VERSION}, "error": {"type": "string"}},
                "required": ["schema_version", "error"],
            }
        }
    },
}


def openapi() -> dict[str, Any]:
    """Return the document; what is answered stands in the schemas beside it."""
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in ENDPOINTS:
        paths.setdefault(plain(endpoint.address), {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {"title": "grader-daemon", "version": str(SCHEMA_VERSION)},
        "servers": [{"url": "http://127.0.0.1:7654"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def endpoints_table() -> str:
    """Return a line for each endpoint."""
    return table(
        ("", "address", "takes", "does", "document"),
        [
            (
                endpoint.method,
                f"`{plain(endpoint.address)}`",
                ", ".join(f"`{field.encode_name}`" for field in msgspec.structs.fields(endpoint.takes)) or "-",
                endpoint.about,
                f"[{endpoint.document}](schemas/{endpoint.document}.json)",
            )
            for endpoint in ENDPOINTS
        ],
    )


def plain(address: str) -> str:
    """Return an address without the kinds of its parts: /api/alerts/{number}."""
    return re.sub(r":\w+}", "}", address)


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    named = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "integer" if kind == "int" else "string"}}
        for name, kind in re.findall(r"{(\w+)(?::(\w+))?}", endpoint.address)
    ]
    taken = _properties(endpoint.takes)
    needed = {field.encode_name for field in msgspec.structs.fields(endpoint.takes) if field.required}
    asked = [
        {"name": name, "in": "query", **({"required": True} if name in needed else {}), "schema": taken[name]}
        for name in ([] if endpoint.writes else taken)
    ]
    body = {"type": "object", "properties": taken, "additionalProperties": False}
    return {
        "operationId": f"{endpoint.method.lower()}{endpoint.answer.__name__}",
        "summary": endpoint.about,
        **({"parameters": [*named, *asked]} if named or asked else {}),
        **({"requestBody": {"content": {"application/json": {"schema": body}}}} if endpoint.writes and taken else {}),
        "responses": {
            "200": {
                "description": f"The document {endpoint.document}.",
                "content": {"application/json": {"schema": {"$ref": f"schemas/{endpoint.document}.json"}}},
            },
            "default": _REFUSED,
        },
    }


def _properties(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the JSON Schema of each field, with what it refers to put in its place."""
    (top,), components = msgspec.json.schema_components((kind,), ref_template="{name}")

    def inlined(schema: Any) -> Any:
        match schema:
            case {"$ref": name}:
                return {key: value for key, value in components[name].items() if key not in ("title", "description")}
            case dict():
                return {key: inlined(value) for key, value in schema.items()}
            case list():
                return [inlined(value) for value in schema]
        return schema

    properties: dict[str, Any] = inlined(components[top["$ref"]]["properties"])
    return properties
