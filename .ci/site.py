"""The hook of mkdocs.yml: what the pages of `docs/` need to be a site, so that nothing is written twice."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parent.parent
_PROJECT = tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))["project"]
_SOURCE = _PROJECT["urls"]["Source"]
_VERSION = os.environ.get("SITE_OF", "main")
"""The tag or branch that the site is made of."""

_LINK = re.compile(r"(?<=\]\()[^):#]+")
_SECTION_OR_PAGE = re.compile(r"^## (?P<section>.+)$|^\| \[(?P<title>[^\]]+)\]\((?P<page>[^)#:]+\.md)\)", re.MULTILINE)


def on_config(config: Any) -> Any:
    """Take the order of the pages from the index, and name headings as a forge does."""
    nav: list[dict[str, Any]] = [{"Documents": "README.md"}]
    for found in _SECTION_OR_PAGE.finditer((_ROOT / "docs" / "README.md").read_text("utf-8")):
        if found["section"]:
            nav.append({found["section"]: []})
        elif not found["page"].startswith(".."):
            next(iter(nav[-1].values())).append({found["title"]: found["page"]})
    config.nav = [each for each in nav if next(iter(each.values()))]
    config.site_description = _PROJECT["description"]
    config.repo_url = _SOURCE
    config.mdx_configs["toc"] = {"slugify": _slug, "toc_depth": 3}
    return config


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Have links to what is no file of docs/ lead to the repository; those that lead nowhere stay, and are told."""
    folder = os.path.dirname(page.file.src_uri)

    def target(link: re.Match[str]) -> str:
        path = os.path.normpath(os.path.join("docs", folder, link[0]))
        is_shown = path.startswith("docs/") and (_ROOT / path).is_file()
        return link[0] if is_shown or not (_ROOT / path).exists() else f"{_SOURCE}/blob/{_VERSION}/{path}"

    return _LINK.sub(target, markdown)


def _slug(heading: str, separator: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", separator)
