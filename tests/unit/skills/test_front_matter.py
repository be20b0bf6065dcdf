from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.skills.front_matter import FrontMatter, read_front_matter


def matter(*lines: str) -> FrontMatter:
    return read_front_matter("\n".join(("---", *lines, "---", "# Text")).encode())


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(["name: a", "description: Does it"], "Does it", id="plain"),
        pytest.param(["name: a", "description: Does it  # not said"], "Does it", id="comment"),
        pytest.param(["name: a", "description: 'it''s: #1'"], "it's: #1", id="single-quotes"),
        pytest.param(["name: a", r'description: "say \"go\""'], 'say "go"', id="double-quotes"),
        pytest.param(["name: a", "description: Does", "  it all", "license: MIT"], "Does it all", id="goes-on"),
        pytest.param(["name: a", "description: >-", "  Does", "  it", "x: y"], "Does it", id="folded"),
        pytest.param(["name: a", "description: |", "  Does", "  it"], "Does\nit", id="kept-lines"),
        pytest.param(["name: a", "metadata:", "  description: no", "description: yes"], "yes", id="not-of-a-mapping"),
    ],
)
def test_descriptions_are_read_as_yaml_means_them(lines: list[str], expected: str) -> None:
    assert matter(*lines) == FrontMatter("a", expected, None)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param(b"# A skill", "SKILL.md does not begin with ---", id="no-front-matter"),
        pytest.param(b"", "SKILL.md does not begin with ---", id="empty"),
        pytest.param(
            b"---\nname: a\n" + b"x" * 70_000 + b"\n---\n",
            "its front matter has no end: no second --- in the first 64 KB",
            id="endless",
        ),
        pytest.param(b"---\nname: a\n---\n", "its front matter has no description that is plain text", id="half"),
        pytest.param(
            b"---\nname: &x a\ndescription: d\n---\n", "its front matter has no name that is plain text", id="anchor"
        ),
        pytest.param(
            b"---\nname: a\ndescription: *x\n---\n",
            "its front matter has no description that is plain text",
            id="alias",
        ),
        pytest.param(
            b"---\nname: " + b"n" * 65 + b"\ndescription: d\n---\n", "its name is longer than 64 characters", id="long"
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_line(content: bytes, problem: str) -> None:
    assert read_front_matter(content).problem == problem


@given(st.binary(max_size=200).map(lambda found: b"---\n" + found + b"\n---\n"))
def test_whatever_it_is_something_is_read_of_it(content: bytes) -> None:
    found = read_front_matter(content)
    assert found.problem or (found.name and found.description)
