"""What a failure names where others of its cause name something else."""

from __future__ import annotations

import pytest

from grader_daemon.analysis.fingerprints import named, sign
from grader_daemon.domain.analysis import Category


def named_in(text: str) -> str | None:
    return named(sign("terminal", "python", Category.COMMAND_FAILED, text))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        pytest.param("ModuleNotFoundError: No module named 'numpy'", "numpy", id="quoted"),
        pytest.param("/opt/bin/python: No module named pytest", "pytest", id="behind-words"),
        pytest.param("bash: line 1: tree: command not found", "tree", id="ahead-of-words"),
        pytest.param("Error: Tool 'swe__bash' not found.", "swe__bash", id="between-words"),
        pytest.param("Unable to locate package python3-ffmpeg", "python3-ffmpeg", id="with-digits"),
        pytest.param("ls: cannot access '/a/b/c.bin': No such file or directory", "c.bin", id="last-part-of-a-path"),
        pytest.param("/x/run.sh: cannot execute binary file: Exec format error", "run.sh", id="at-the-beginning"),
        pytest.param("Unknown command 'replace'. Allowed: view", "replace", id="before-a-list"),
        pytest.param("AttributeError: module 'a' has no attribute 'b'", "a", id="the-first-of-two"),
        pytest.param("curl: (6) Could not resolve host: example.org", "example.org", id="host"),
        pytest.param("Command timed out after 120.0s", None, id="a-time-is-no-name"),
        pytest.param("bash: -c: line 1: unexpected EOF while looking for matching `\"'", None, id="no-letters"),
        pytest.param("Segmentation fault", None, id="nothing-differs"),
        pytest.param("", None, id="no-message"),
        pytest.param(f"No module named '{'x' * 90}'", f"{'x' * 47}…", id="cut"),
        pytest.param("No module named 'half", "half", id="never-closed"),
        pytest.param("no such table: users", "users", id="sqlite"),
    ],
)
def test_the_name_is_what_the_message_differs_in(text: str, name: str | None) -> None:
    assert named_in(text) == name


def test_secrets_are_no_names() -> None:
    found = named_in("No module named 'ghp_" + "a1B2" * 9 + "'")
    assert found is None or "a1B2" not in found
