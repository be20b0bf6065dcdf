from __future__ import annotations

import pytest

from grader_daemon.analysis.shell import Meaning, masked_failure, printed_code, read_line
from tests.tables import for_each
from tests.timing import is_done_within

NOTHING = (False, None)
FAILED = (True, None)
RED = (True, Meaning.FINDINGS)
TRACEBACK = "Traceback (most recent call last):\n  x\n"


@for_each(
    ("command", "output", "told"),
    [
        pytest.param("xxd a | head", "bash: line 1: xxd: command not found", FAILED, id="shell-names-the-program"),
        pytest.param("sh run.sh | head", "sh: 1: xxd: not found", NOTHING, id="shell-names-a-program-of-the-script"),
        pytest.param("a | b", "bash: -c: line 1: syntax error near unexpected token `|'", FAILED, id="shell-syntax"),
        pytest.param("cd /a; ls", "bash: line 1: cd: /a: No such file or directory", FAILED, id="shell-names-its-own"),
        pytest.param("make | tail", "cc a.c\nmake: *** [all] Error 2", FAILED, id="own-name"),
        pytest.param("make | tail", "cc a.c\nmake: Nothing to be done for 'all'.", NOTHING, id="own-name-no-complaint"),
        pytest.param("./a.sh | tail", "make: *** [all] Error 2", NOTHING, id="name-of-another"),
        pytest.param(
            "grep -r x . | head", "a.py: x\ngrep: b: Permission denied", NOTHING, id="hits-before-a-complaint"
        ),
        pytest.param("grep -r x b | head", "grep: b: Permission denied", FAILED, id="nothing-but-a-complaint"),
        pytest.param("cargo build | tail", "error: could not compile `a`", FAILED, id="mouthpiece"),
        pytest.param("apt-get update", "Err:1 x\nW: Some index files failed to download", FAILED, id="apt-got-none"),
        pytest.param("apt-get install a", "Setting up a\nW: Download is unsandboxed, denied", NOTHING, id="apt-warns"),
        pytest.param("git push | tail", "fatal: unable to access 'x'", FAILED, id="git-is-fatal"),
        pytest.param("cat a; cargo -V", "error: could not compile `a`", FAILED, id="speaker-is-the-last-pipeline"),
        pytest.param("cargo build > l; cat l", "error: could not compile `a`", NOTHING, id="mouthpiece-is-quoted"),
        pytest.param("pytest | tail", "= 1 failed, 3 passed in 0.12s =", RED, id="red-tests"),
        pytest.param("pytest -q | tail", "2 errors in 0.1s", RED, id="errors-while-collecting"),
        pytest.param("pytest -q | tail", "3 passed in 0.1s", NOTHING, id="green-tests"),
        pytest.param("go test ./... | tail", "FAIL\texample/a\t0.1s", RED, id="red-go"),
        pytest.param("cat log | tail", "1 failed in 0.1s", NOTHING, id="red-tests-quoted"),
        pytest.param("a.py | tail", "Traceback (most recent call last):\n  x\nValueError: y", FAILED, id="traceback"),
        pytest.param("a.py | tail -2", "    f()\nmod.MyError", FAILED, id="end-of-a-traceback"),
        pytest.param("a.py | tail -2", "    f(\n     ^\nSyntaxError: x", FAILED, id="caret"),
        pytest.param("a.py | tail", "all fine\nValueError: y", NOTHING, id="only-a-line-of-that-form"),
        pytest.param("a.py | tail", "Traceback (most recent call last):\nfixed", NOTHING, id="traceback-and-more"),
        pytest.param("pnpm test", "1 failed\n ELIFECYCLE  Command failed with exit code 1.", RED, id="red-script"),
        pytest.param("pnpm t", "x\n[ELIFECYCLE] Test failed. See above for more details.", RED, id="red-pnpm"),
        pytest.param("pnpm build | tail", "x\n[ELIFECYCLE] Command failed with exit code 2.", FAILED, id="broken-pnpm"),
        pytest.param("pnpm build", " ELIFECYCLE  Command failed.", FAILED, id="broken-pnpm-without-a-code"),
        pytest.param(
            "pnpm -r build",
            'x\nError: ERR_PNPM_RECURSIVE_RUN_FIRST_FAIL\n\n  × "pnpm recursive run" failed in /a\n\n',
            FAILED,
            id="broken-workspace",
        ),
        pytest.param(
            "yarn test",
            "red\nerror Command failed with exit code 1.\n"
            "info Visit https://yarnpkg.com/en/docs/cli/run for documentation about this command.\n",
            RED,
            id="red-yarn",
        ),
        pytest.param("yarn build | tail", "x\nerror Command failed with exit code 2.", FAILED, id="script-that-failed"),
        pytest.param("pnpm test", "4 passed\nDone in 0.4s", NOTHING, id="green-pnpm"),
        pytest.param("cat log | tail", " ELIFECYCLE  Command failed.", NOTHING, id="scripts-quoted"),
        pytest.param("a.py", " ELIFECYCLE  Command failed with exit code 1.", NOTHING, id="scripts-of-another"),
        pytest.param("nginx & ", "boom", NOTHING, id="no-words-of-failure"),
        pytest.param("a.py | tail", "", NOTHING, id="no-output"),
        pytest.param("a.py | tail", f"{TRACEBACK}... [truncated, 9000 chars total]", FAILED, id="cut-in-a-traceback"),
        pytest.param("cat log | tail", f"{TRACEBACK}... [truncated, 9000 chars total]", NOTHING, id="cut-and-quoted"),
    ],
)
def test_only_a_programs_own_last_words_tell_of_its_failure(
    command: str, output: str, told: tuple[bool, Meaning | None]
) -> None:
    assert masked_failure(output, read_line(command)) == told


def test_code_without_a_command_tells_by_its_traceback_alone() -> None:
    assert masked_failure("NameError   Traceback (most recent call last)\n\nNameError: x", None) == FAILED
    assert masked_failure("bash: x: command not found", None) == NOTHING


@pytest.mark.parametrize(
    ("output", "code"),
    [
        pytest.param("fine\n0\n", 0, id="alone"),
        pytest.param("exit: 1", 1, id="after-a-word"),
        pytest.param("EXIT=127", 127, id="after-an-equals-sign"),
        pytest.param("(rc 2)", 2, id="in-parentheses"),
        pytest.param("done", None, id="no-number"),
        pytest.param("v1.25", None, id="part-of-a-word"),
        pytest.param("took 1234", None, id="no-exit-code"),
    ],
)
def test_printed_code_is_the_number_at_the_end(output: str, code: int | None) -> None:
    assert printed_code(output) == code


@pytest.mark.parametrize(
    "output",
    [
        pytest.param("a: " * 300_000, id="names"),
        pytest.param("A" * 1_000_000 + "Error", id="exception"),
        pytest.param("1 failed, " * 100_000, id="summary"),
        pytest.param("bash: " * 200_000, id="shells"),
        pytest.param("\n" * 1_000_000, id="lines"),
        pytest.param(" ELIFECYCLE " * 80_000, id="scripts"),
    ],
)
def test_hostile_output_takes_bounded_time(output: str) -> None:
    lines = [read_line("pytest; make | tail"), read_line("pnpm test")]
    assert is_done_within(0.4, lambda: ([masked_failure(output, line) for line in lines], printed_code(output)))
