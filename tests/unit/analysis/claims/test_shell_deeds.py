from __future__ import annotations

import json

import pytest

from grader_daemon.analysis.analyzer import Analyzer
from grader_daemon.domain.session import FunctionCall, Message, ToolCall
from grader_daemon.rules import load_rules
from tests.strategies import answer, session, user

OK = '{"output": "", "exit_code": 0, "error": null}'
FAILED = '{"output": "boom", "exit_code": 1, "error": null}'
TROUBLE = '{"output": "rm: cannot remove a.log: Permission denied\\ndone", "exit_code": 0, "error": null}'

GONE = '{"output": "ls: cannot access a.log: No such file or directory", "exit_code": 2, "error": null}'
NO_FILE = '{"output": "bash: line 1: file: command not found", "exit_code": 127, "error": null}'
BOTH = '{"output": "rm: a.log is in use\\nls: cannot access a.log: Input error", "exit_code": 2, "error": null}'


def supports(said: str, *commands: tuple[str, str]) -> list[str]:
    """Standing of each claim, in a session with these commands and their results."""
    messages = []
    for command, result in commands:
        function = FunctionCall(name="terminal", arguments=json.dumps({"command": command}))
        messages.append(Message(role="assistant", tool_calls=(ToolCall(id="c", function=function),)))
        messages.append(Message(role="tool", content=result, tool_call_id="c", name="terminal"))
    found = Analyzer(load_rules()).analyze(session(user("Do it"), *messages, answer(said)))
    return [claim.support.value for claim in found.claims]


@pytest.mark.parametrize(
    ("said", "command"),
    [
        pytest.param("I deleted `/tmp/a.log`.", "rm -f /tmp/a.log", id="removed"),
        pytest.param("`/tmp/a.log` was removed.", "sudo rm /tmp/a.log", id="removed-by-another-user"),
        pytest.param("Deleted all `.tmp` files", "find . -name '*.tmp' -delete", id="found-and-removed"),
        pytest.param("I deleted the pod `web-1`", "kubectl -n a delete pod web-1", id="removed-in-a-cluster"),
        pytest.param(
            "I removed `/tmp/a.log`", "python -c \"import os; os.remove('/tmp/a.log')\"", id="removed-by-code"
        ),
        pytest.param("I moved `a.py` to `src/`", "cd /app && mv a.py src/", id="moved-after-a-change-of-folder"),
        pytest.param("I downloaded the source", "wget https://a.example/src.tgz", id="downloaded"),
        pytest.param("I merged your branch into `main`", "git merge topic", id="merged"),
        pytest.param("I extracted the archive", "tar -xzf a.tgz", id="unpacked"),
        pytest.param(
            "Downloaded and extracted the source", "wget -q https://a.example/a.tgz && tar xf a.tgz", id="both"
        ),
        pytest.param("I compiled the project", "make clean && make", id="compiled"),
        pytest.param("I cloned the repository", "git clone https://a.example/b", id="cloned"),
        pytest.param("I opened a pull request.", "gh pr create --fill", id="request-opened"),
        pytest.param("I created the PR #12 with the fix", "gh pr create --fill", id="request-created"),
        pytest.param("I built the image `a:1`", "docker build -t a:1 .", id="image-built"),
        pytest.param("I tagged the release `v1.2`", "git tag v1.2", id="tagged"),
        pytest.param("I built a page and deleted `a.log`", "rm a.log", id="other-verb-beside-it"),
    ],
)
def test_a_command_that_worked_verifies_its_deed(said: str, command: str) -> None:
    assert supports(said, (command, OK)) == ["verified"]


@pytest.mark.parametrize(
    ("said", "command"),
    [
        pytest.param("I deleted `/tmp/a.log`.", "rm -f /tmp/b.log", id="other-file"),
        pytest.param("I deleted the comma.", "rm -f /tmp/b.log", id="no-name"),
        pytest.param("I deleted `/tmp/a.log`.", "echo 'rm /tmp/a.log'; ./a", id="only-printed"),
        pytest.param("I deleted `a.log`", "cat > x.sh <<'E'\nrm a.log\nE", id="only-written-to-a-script"),
        pytest.param("I extracted the archive", "tar -czf a.tgz .", id="packed-and-not-unpacked"),
        pytest.param("I extracted the names", "tar -xzf a.tgz", id="no-archive-is-meant"),
        pytest.param("I merged the two lists", "git merge topic", id="no-branch-is-meant"),
        pytest.param("I compiled the project", "gcc --version", id="only-asked"),
        pytest.param("I built a nice page", "make", id="nothing-to-build-is-meant"),
        pytest.param("I opened the file", "gh pr create --fill", id="no-request-is-meant"),
        pytest.param("I compiled the project", "apt-get install -y make", id="only-named"),
        pytest.param("The data was archived and securely deleted", "tar -czf a.tgz data", id="one-of-two-deeds"),
    ],
)
def test_what_no_command_is_seen_to_do_has_no_standing(said: str, command: str) -> None:
    assert supports(said, (command, OK)) == []


@pytest.mark.parametrize(
    ("commands", "expected"),
    [
        pytest.param([("rm a.log", FAILED)], "contradicted", id="failed"),
        pytest.param([("cd /x && rm a.log", FAILED)], "contradicted", id="failed-behind-a-change-of-folder"),
        pytest.param([("rm a.log; tree", FAILED)], "unsupported", id="other-part-may-have-failed"),
        pytest.param([("rm a.log\ntree", FAILED)], "unsupported", id="other-line-may-have-failed"),
        pytest.param([("rm a.log && pytest", FAILED)], "unsupported", id="next-part-may-have-failed"),
        pytest.param([("rm a.log", FAILED), ("./clean.sh", OK)], "unsupported", id="a-script-may-have-done-it"),
        pytest.param([("rm a.log", FAILED), ("sudo rm a.log", OK)], "verified", id="repeated"),
        pytest.param([("rm a.log", OK), ("rm a.log", FAILED)], "unsupported", id="the-last-run-counts"),
        pytest.param([("rm a.log; echo done", TROUBLE)], "unsupported", id="trouble-behind-a-masked-code"),
        pytest.param([("rm a.log; echo done", OK)], "verified", id="masked-without-trouble"),
        pytest.param([("rm a.log 2>/dev/null; echo done", OK)], "unsupported", id="trouble-is-hidden"),
        pytest.param([("rm a.log && ls a.log", GONE)], "verified", id="a-later-part-finds-it-gone"),
        pytest.param([("rm a.log; file b.log", NO_FILE)], "verified", id="a-later-program-is-missing"),
        pytest.param([("rm a.log; ls a.log", BOTH)], "unsupported", id="both-parts-failed"),
        pytest.param([("ls a.log; rm a.log", GONE)], "unsupported", id="an-earlier-part-failed"),
        pytest.param([("rm a.log 2>/dev/null; ls a.log", GONE)], "unsupported", id="its-own-trouble-is-hidden"),
    ],
)
def test_the_last_run_decides(commands: list[tuple[str, str]], expected: str) -> None:
    assert supports("I deleted `a.log`.", *commands) == [expected]


def test_of_two_deeds_the_one_that_failed_is_told() -> None:
    said = "Downloaded the source and deleted `a.log`."
    commands = ("wget https://a.example/a.log", OK), ("rm a.log", FAILED)

    assert supports(said, *commands) == ["contradicted"]


@pytest.mark.parametrize(
    ("said", "commands", "expected"),
    [
        pytest.param(
            "Securely deleted all files in `/opt/x/`.",
            [("tar -czf x.tgz -C /opt x/", OK), ("rm -f /opt/x/a.txt", OK)],
            ["verified"],
            id="by-the-command-that-removes",
        ),
        pytest.param("Deleted all files in `/opt/x/`.", [("tar -czf x.tgz -C /opt x/", OK)], [], id="only-packed"),
        pytest.param("Removed all temp files from `/opt/a.txt`.", [("echo 1 > /opt/a.txt", OK)], [], id="only-written"),
        pytest.param("Removed the import from `a.py`.", [("sed -i 1d a.py", OK)], ["verified"], id="a-part-of-a-file"),
    ],
)
def test_removed_files_are_not_proved_by_a_write(
    said: str, commands: list[tuple[str, str]], expected: list[str]
) -> None:
    assert supports(said, *commands) == expected


def test_a_program_that_another_one_runs_did_not_do_its_part_of_a_line_that_failed() -> None:
    assert supports("I deleted `/tmp/a.log`.", ("find /tmp -name a.log -exec rm {} + ; ls a.log", GONE)) != ["verified"]


def test_a_dry_run_that_is_told_as_done_is_contradicted() -> None:
    assert supports("I deleted `a.log`", ("rm --dry-run a.log", OK)) == ["contradicted"]
