from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.analysis.shell import Line, Meaning, read_line
from grader_daemon.analysis.shell.lines import LONGEST_LINE
from grader_daemon.domain.analysis import Category
from tests.tables import for_each
from tests.timing import is_done_within


def read(command: str) -> Line:
    line = read_line(command)
    assert line is not None
    return line


@for_each(
    ("command", "deciders"),
    [
        pytest.param("make", ["make"], id="one-command"),
        pytest.param("make; pytest", ["pytest"], id="last-of-a-list"),
        pytest.param("make\npytest", ["pytest"], id="last-line"),
        pytest.param("make && pytest", ["make", "pytest"], id="either-of-two"),
        pytest.param("make || pytest", ["pytest"], id="second-choice"),
        pytest.param("make && pytest || echo no", ["echo"], id="echo-has-the-last-word"),
        pytest.param("make | tee log", ["tee"], id="last-stage"),
        pytest.param("set -o pipefail; make | tee log", ["make", "tee"], id="any-stage-under-pipefail"),
        pytest.param("set -euo pipefail; make; pytest", ["set", "make", "pytest"], id="any-command-under-errexit"),
        pytest.param("nginx &", [], id="in-the-background"),
        pytest.param("nginx & curl localhost", ["curl"], id="after-one-in-the-background"),
        pytest.param("(cd a; make)", ["make"], id="subshell"),
        pytest.param("(cd a; make) | tail -1", ["tail"], id="subshell-into-a-pipe"),
        pytest.param("bash -c 'make && pytest'", ["make", "pytest"], id="line-for-a-shell"),
        pytest.param("eval make", ["make"], id="evaluated"),
        pytest.param("x=$(make)", ["make"], id="assignment"),
        pytest.param("kill $(pgrep x)", ["kill"], id="substitution-in-a-command"),
        pytest.param("make CFLAGS=$(pkg-config x)", ["make"], id="substitution-in-a-word"),
        pytest.param("x=$(make; ls)", ["ls"], id="assignment-of-a-list"),
        pytest.param("kill $(pgrep x || echo 1) -9", ["kill"], id="words-after-a-substitution"),
        pytest.param("sudo timeout 5 make", ["make"], id="wrapped"),
        pytest.param("if test -f a; then make; fi", ["make"], id="condition"),
        pytest.param("for f in a b; do make $f; done", ["make"], id="loop"),
        pytest.param("A=1 make > log 2>&1", ["make"], id="output-to-a-file"),
        pytest.param("command -v make", ["command -v"], id="asks-for-a-command"),
        pytest.param("command make", ["make"], id="runs-a-command"),
    ],
)
def test_the_exit_code_is_that_of_the_command_that_ran_last(command: str, deciders: list[str]) -> None:
    assert [run.family for run in read(command).deciders] == deciders


@pytest.mark.parametrize(
    ("command", "masks"),
    [
        pytest.param("make", False, id="one-command"),
        pytest.param("cd a && make", False, id="and"),
        pytest.param("make; echo done", True, id="list"),
        pytest.param("make || true", True, id="gives-way"),
        pytest.param("make | tail", True, id="pipe"),
        pytest.param("set -e; make; echo done", False, id="list-under-errexit"),
        pytest.param("set -o pipefail && make | tail", False, id="pipe-under-pipefail"),
        pytest.param("bash -c 'make | tail'", True, id="pipe-in-a-shell"),
        pytest.param("make &", True, id="in-the-background"),
    ],
)
def test_a_line_masks_failures_that_its_exit_code_cannot_show(command: str, masks: bool) -> None:
    assert read(command).masks is masks


@pytest.mark.parametrize(
    ("command", "printed"),
    [
        pytest.param("make; echo $?", ["make"], id="last-code"),
        pytest.param('make\necho "exit: ${?}"', ["make"], id="in-quotes"),
        pytest.param("a && b; printf '%d' $?", ["a", "b"], id="either-of-two"),
        pytest.param("make | tail; echo ${PIPESTATUS[0]}", ["make"], id="of-the-first-stage"),
        pytest.param("make; echo done", [], id="no-code"),
        pytest.param("make; echo $?; ls", [], id="not-at-the-end"),
    ],
)
def test_a_printed_code_is_that_of_the_command_before(command: str, printed: list[str]) -> None:
    assert [run.family for run in read(command).printed] == printed


@pytest.mark.parametrize(
    ("command", "code", "meaning"),
    [
        pytest.param("grep x y", 1, Meaning.ANSWER, id="answer"),
        pytest.param("grep x y", 2, None, id="failure"),
        pytest.param("! grep x y", 1, Meaning.ANSWER, id="negated"),
        pytest.param("grep x y && diff a b", 1, Meaning.ANSWER, id="the-same-for-both"),
        pytest.param("curl x && grep y z", 1, None, id="not-the-same-for-both"),
        pytest.param("cd a && grep x y", 1, Meaning.ANSWER, id="cd-would-have-said-so"),
        pytest.param("cd a", 1, None, id="cd-alone"),
        pytest.param("timeout 5 grep x y", 124, Category.TIMEOUT, id="of-a-wrapper"),
        pytest.param("timeout 5 grep x y", 1, Meaning.ANSWER, id="through-a-wrapper"),
        pytest.param("find . | xargs grep x", 123, Meaning.ANSWER, id="xargs"),
        pytest.param("xargs make", 123, None, id="xargs-of-another"),
        pytest.param("bin/test a", 1, Meaning.FINDINGS, id="test-runner-of-a-project"),
        pytest.param("./bin/test a", 1, Meaning.FINDINGS, id="test-runner-by-a-path"),
        pytest.param("python3 ./manage.py test shop", 1, Meaning.FINDINGS, id="script-with-an-argument"),
        pytest.param("python tests/runtests.py a", 1, Meaning.FINDINGS, id="script"),
        pytest.param("git diff --check", 2, Meaning.FINDINGS, id="by-an-option"),
        pytest.param("npm run lint", 1, Meaning.FINDINGS, id="by-an-argument"),
        pytest.param("yes | head", 141, Meaning.ANSWER, id="closed-pipe"),
    ],
)
def test_a_code_means_what_it_means_for_every_command_that_may_have_given_it(
    command: str, code: int, meaning: Meaning | Category | None
) -> None:
    assert read(command).meaning_of(code) is meaning


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("", id="empty"),
        pytest.param("# nothing", id="comment"),
        pytest.param("A=1", id="only-an-assignment"),
        pytest.param("x" * (LONGEST_LINE + 1), id="too-long"),
        pytest.param(";".join(["a"] * 200), id="too-many-pipelines"),
    ],
)
def test_a_line_without_a_known_end_is_not_read(command: str) -> None:
    assert read_line(command) is None


def test_shells_in_shells_are_looked_into_for_some_levels() -> None:
    command = "make"
    for _ in range(6):
        command = f"bash -c {command!r}" if "'" not in command else f"eval {command}"
    assert read(command).deciders


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("a|" * 4_000, id="pipes"),
        pytest.param("$(" * 4_000, id="substitutions"),
        pytest.param("(" * 8_000, id="parentheses"),
        pytest.param("a && " * 99 + "b", id="ands"),
        pytest.param("sudo " * 1_600, id="wrappers"),
        pytest.param("bash -c " * 1_000, id="shells"),
        pytest.param("A=" * 4_000, id="assignments"),
        pytest.param("! " * 4_000, id="negations"),
    ],
)
def test_hostile_lines_take_bounded_time(command: str) -> None:
    assert is_done_within(0.5, lambda: read_line(command))


@given(st.text(alphabet="ab |&;()$<>'\"\\\n!#{}=-", max_size=120))
def test_any_line_is_read(command: str) -> None:
    line = read_line(command)
    if line is not None:
        assert line.programs
        assert {run.family for run in line.deciders} <= {run.family for run in line.programs}
        line.meaning_of(1)
        line.meaning_of_printed(1)
        assert line.names
