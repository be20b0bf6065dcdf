"""Colours of code: which parts have one, that nothing is lost, and that letters can be read."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.dashboard.code_colours import DARK_CODE, LIGHT_CODE, MOST_COLOURED, Colours
from grader_daemon.dashboard.words import shown
from grader_daemon.reports.diffs import diff
from tests.unit.reports.test_style import contrast

_BEHIND = {
    "light": ("#fefdfb", "#ffffff", "#dff0e4", "#fbe6da"),
    "dark": ("#16171a", "#1d1f23", "#1c3425", "#43291a"),
}
"""Paper, panels, and the bands of added and removed lines: `reports/style.py` and `static/css/base.css`."""


def coloured(lines: list[str], language: str) -> list[tuple[str, str]]:
    """Return the parts of a fence that have a colour, with the name of the colour."""
    return re.findall(r'<span class="(\w+)">([^<]*)</span>', Colours().of_fence(lines, language))


@pytest.mark.parametrize(
    ("language", "code", "expected"),
    [
        pytest.param(
            "python",
            "def f(x):  # see\n    return 'a' + 1",
            [
                *(("keyword", "def"), ("name", "f"), ("comment", "# see")),
                *(("keyword", "return"), ("text", "&#x27;a&#x27;"), ("value", "1")),
            ],
            id="python",
        ),
        pytest.param("SQL", "SELECT 1", [("keyword", "SELECT"), ("value", "1")], id="a-name-in-any-case"),
        pytest.param("yml", "a: 1", [("keyword", "a"), ("text", "1")], id="a-suffix"),
        pytest.param("klingon", "def f(): pass", [], id="a-language-that-is-not-known"),
    ],
)
def test_parts_of_code_have_the_colour_of_their_kind(language: str, code: str, expected: list[tuple[str, str]]) -> None:
    assert coloured(code.split("\n"), language) == expected


def test_code_without_a_language_has_no_colours() -> None:
    assert Colours().of_fence(["def f(): pass"], None) == "def f(): pass"


def test_what_a_call_writes_has_the_colours_of_its_file() -> None:
    lines = ["file_path: /a/b.py", "content: ", "import os"]

    assert Colours().of_call(lines, "/a/b.py") == (
        'file_path: /a/b.py\ncontent: \n<span class="keyword">import</span> os'
    )
    assert Colours().of_call(lines, "/a/b") == "file_path: /a/b.py\ncontent: \nimport os"


def test_a_diff_has_the_colours_of_the_file_that_its_head_names() -> None:
    lines = ["--- a/x.py", "+++ b/x.py", "@@ -1 +1 @@", "-import os", "+import re"]
    told = Colours().of_diff(diff(lines).lines, None)

    assert [kind.value for kind, _ in told] == ["head", "head", "head", "removed", "added"]
    assert told[3][1] == '-<span class="keyword">import</span> os'
    assert told[4][1] == '+<span class="keyword">import</span> re'


def test_the_diff_of_an_edit_has_the_colours_of_the_file_of_the_call() -> None:
    lines = ["--- old_string", "+++ new_string", "@@ -1,1 +1,1 @@", "-x", "+return x"]

    assert Colours().of_diff(diff(lines).lines, "/a.py")[4][1] == '+<span class="keyword">return</span> x'
    assert Colours().of_diff(diff(lines).lines, None)[4][1] == "+return x"


def test_a_page_colours_its_first_characters_only() -> None:
    line, page = "return 'x' if y else 1  # a", Colours()
    lines = [line] * (MOST_COLOURED // (len(line) + 1) - 1)

    assert page.of_fence(lines, "python").count("keyword") == 3 * len(lines)
    rest = page.of_fence([line] * 9, "python")
    assert 0 < rest.count("keyword") < 3 * 9
    assert page.of_fence([line], "python") == html.escape(line)
    assert "keyword" in page.of_call(["content:", line], "a.py"), "calls are folded, and counted for themselves"


@given(
    lines=st.lists(st.text(st.characters(blacklist_characters="\n"), max_size=40), min_size=1, max_size=9),
    language=st.sampled_from(["python", "sh", "json", "html", "sql", "tsx", "php"]),
)
def test_any_text_stays_as_it_is_shown(lines: list[str], language: str) -> None:
    told = Colours().of_fence(lines, language)

    assert set(re.findall(r"<[^>]*>", told)) <= {
        "</span>",
        *(f'<span class="{name}">' for name in LIGHT_CODE),
    }
    assert html.unescape(re.sub(r"</?span[^>]*>", "", told)) == "\n".join(shown(line) for line in lines)


@pytest.mark.parametrize(
    ("palette", "behind"), [pytest.param(LIGHT_CODE, "light", id="light"), pytest.param(DARK_CODE, "dark", id="dark")]
)
def test_coloured_letters_can_be_read(palette: Mapping[str, str], behind: str) -> None:
    assert min(contrast(colour, other) for colour in palette.values() for other in _BEHIND[behind]) >= 5.5
