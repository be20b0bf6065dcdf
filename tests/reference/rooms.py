"""The picture and the list of the rooms, from the import contracts and the docstrings of the rooms."""

from __future__ import annotations

import ast
import re
import textwrap
import tomllib
from html import escape
from pathlib import Path
from typing import Any

from tests.reference.blocks import table

_ROOT = Path(__file__).parent.parent.parent
_PACKAGE = "grader_daemon"

_WIDTH, _MARGIN, _LEFT, _GAP, _PADDING = 1180, 14, 34, 10, 9
_NAME_SIZE, _TEXT_SIZE, _LINE = 15, 12, 15
_CHARACTER = 0.55
"""How wide a character of the text is on average, by its size."""

_PURE, _OTHER = "#e3f1e5", "#eef0f4"
_STYLE = (
    "text{font-family:system-ui,sans-serif;fill:#1d2733}"
    f".n{{font-size:{_NAME_SIZE}px;font-weight:600}}.t{{font-size:{_TEXT_SIZE}px;fill:#46525f}}"
)


def layers() -> list[list[str]]:
    """Return the rooms of each layer, the highest first, as the contract has them."""
    named = _contract("layers")["layers"]
    return [[room for room in re.split(r" *\| *", layer) if not room.startswith("_")] for layer in named]


def purpose(room: str) -> str:
    """Return what a room is for: the first paragraph of its docstring."""
    folder = _ROOT / _PACKAGE / room
    module = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    docstring = ast.get_docstring(ast.parse(module.read_text("utf-8"))) or ""
    return " ".join(docstring.partition("\n\n")[0].split())


def rooms_table() -> str:
    """Return a row for each room, from the top."""
    pure = _pure_rooms()
    return table(
        ("layer", "room", "is for", "pure"),
        [
            (str(number), f"`{room}`", purpose(room), "yes" if room in pure else "")
            for number, layer in enumerate(layers(), 1)
            for room in layer
        ],
    )


def contracts_list() -> str:
    """Return the names of all import contracts."""
    return "\n".join(f"- {contract['name']} (`{contract['id']}`)" for contract in _contracts())


def picture() -> str:
    """Return the layers as an SVG, each room a box with what it is for."""
    parts, top = [], _MARGIN
    pure = _pure_rooms()
    for layer in layers():
        width = (_WIDTH - _LEFT - _MARGIN - _GAP * (len(layer) - 1)) / len(layer)
        said = {room: _wrapped(purpose(room), width) for room in layer}
        height = 2 * _PADDING + _NAME_SIZE + 4 + _LINE * max(map(len, said.values()))
        for number, room in enumerate(layer):
            left = _LEFT + number * (width + _GAP)
            area = f'x="{left:.0f}" y="{top}" width="{width:.0f}" height="{height}"'
            parts.append(f'<rect {area} rx="5" fill="{_PURE if room in pure else _OTHER}" stroke="#b9c3ce"/>')
            parts += _words_in(room, said[room], left + _PADDING, top + _PADDING + _NAME_SIZE)
        top += height + _GAP
    arrow = (
        f'<path d="M16 {_MARGIN} V{top - 12}" stroke="#8895a3" stroke-width="2" fill="none"/>'
        f'<path d="M10 {top - 22} L16 {top - 10} L22 {top - 22} Z" fill="#8895a3"/>'
    )
    legend = _text(
        "imports point down, never up or to a neighbour; green: pure, without I/O, clock, thread, log or framework",
        _LEFT,
        top + _LINE,
        "t",
    )
    whole = "\n".join([f"<style>{_STYLE}</style>", arrow, *parts, legend])
    size = f'viewBox="0 0 {_WIDTH} {top + 2 * _LINE}" width="{_WIDTH}" height="{top + 2 * _LINE}"'
    ground = f'<rect width="{_WIDTH}" height="{top + 2 * _LINE}" fill="#ffffff"/>'
    title = "<title>The rooms of grader_daemon, one row for each layer</title>"
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n{title}\n{ground}\n{whole}\n</svg>\n'


def _words_in(room: str, said: list[str], left: float, top: float) -> list[str]:
    return [
        _text(room, left, top, "n"),
        *(_text(line, left, top + 4 + _LINE * number, "t") for number, line in enumerate(said, 1)),
    ]


def _text(words: str, left: float, base: float, kind: str) -> str:
    return f'<text x="{left:.0f}" y="{base - 2:.0f}" class="{kind}">{escape(words)}</text>'


def _wrapped(words: str, width: float) -> list[str]:
    return textwrap.wrap(words.replace("`", ""), int((width - 2 * _PADDING) / (_TEXT_SIZE * _CHARACTER)))


def _pure_rooms() -> set[str]:
    """Find the rooms that are pure as a whole."""
    named = [module.removeprefix(f"{_PACKAGE}.") for module in _contract("pure-core")["source_modules"]]
    return {room for room in named if "." not in room}


def _contracts() -> list[dict[str, Any]]:
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))
    contracts: list[dict[str, Any]] = project["tool"]["importlinter"]["contracts"]
    return contracts


def _contract(name: str) -> dict[str, Any]:
    return next(contract for contract in _contracts() if contract["id"] == name)
