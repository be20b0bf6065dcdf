"""Script and style of the pages: several small files each, sent as one, under a name that changes with its content."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from typing import Final

from starlette.responses import Response

from grader_daemon.dashboard.code_colours import DARK_CODE, LIGHT_CODE
from grader_daemon.reports.style import DARK, LIGHT, variables

_FIRST: Final = "base"
_COMMENT: Final = "//"
_FOR_GOOD: Final = {"Cache-Control": "max-age=31536000, immutable"}


_ICON: Final = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#1a6b3c"/>'
    '<path d="M3.5 8.5l3 3 6-7" fill="none" stroke="white" stroke-width="2"/></svg>'
)
"""A tick on green."""


class Assets:
    """Files that a page loads beside itself."""

    def __init__(self) -> None:
        """Read all parts, once."""
        self._content = {
            "page.css": (f"{_palette()}\n{_joined('css')}", "text/css; charset=utf-8"),
            "page.js": (f'"use strict";(()=>{{\n{_joined("js")}\n}})();', "text/javascript; charset=utf-8"),
            "icon.svg": (_ICON, "image/svg+xml"),
        }

    def address(self, name: str) -> str:
        """Return where `page.css`, `page.js` or `icon.svg` is, as it is now."""
        return f"/static/{name}?{hashlib.sha256(self._content[name][0].encode()).hexdigest()[:12]}"

    def answer(self, name: str) -> Response:
        """Return one of them, which a browser may keep for good."""
        if name not in self._content:
            return Response(status_code=404)
        content, kind = self._content[name]
        return Response(content, media_type=kind, headers=_FOR_GOOD)


def _joined(kind: str) -> str:
    """Return the parts of a kind, `base` first, without indentation and lines that are comments."""
    folder = files("grader_daemon.dashboard").joinpath("static", kind)
    parts = sorted(folder.iterdir(), key=lambda part: (part.name != f"{_FIRST}.{kind}", part.name))
    lines = (line.strip() for part in parts for line in part.read_text("utf-8").splitlines())
    return "\n".join(line for line in lines if line and not line.startswith(_COMMENT))


def _palette() -> str:
    light, dark = variables({**LIGHT, **LIGHT_CODE}), variables({**DARK, **DARK_CODE})
    return (
        f":root{{color-scheme:light;{light}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root[data-theme=auto]{{color-scheme:dark;{dark}}}}}\n"
        f"@media screen{{:root[data-theme=dark]{{color-scheme:dark;{dark}}}}}"
    )
