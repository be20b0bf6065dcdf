from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.analysis.analyzer import Analyzer
from grader_daemon.analysis.claims.verify import LONGEST_SUBJECT
from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.claims import Claim, ClaimKind, Support
from grader_daemon.domain.session import FunctionCall, Message, ReportedOutcome, Session, ToolCall
from grader_daemon.rules import load_rules
from tests.strategies import WORKED, answer, rounds, session, sessions, user
from tests.tables import for_each
from tests.timing import cpu_seconds, is_done_within

WROTE = '{"bytes_written": 3, "error": null}'
REFUSED = '{"error": "old_string not found", "success": false}'
GREEN = '{"output": "12 passed in 0.3s", "exit_code": 0, "error": null}'
RED = '{"output": "FAILED test_a.py::test_b\\n1 failed, 11 passed in 0.3s", "exit_code": 1, "error": null}'
ALL_RED = '{"output": "FAILED test_a.py::test_b\\n1 failed in 0.3s", "exit_code": 1, "error": null}'
OK = '{"output": "", "exit_code": 0, "error": null}'
FAILED = '{"output": "boom", "exit_code": 1, "error": null}'

Step = tuple[Message, Message]


def step(tool: str, result: str, **arguments: object) -> Step:
    """A call and its result, which name each other."""
    function = FunctionCall(name=tool, arguments=json.dumps(arguments))
    return (
        Message(role="assistant", tool_calls=(ToolCall(id="c", function=function),)),
        Message(role="tool", content=result, tool_call_id="c", name=tool),
    )


def shell(command: str, result: str = OK) -> Step:
    return step("terminal", result, command=command)


def write(path: str, result: str = WROTE) -> Step:
    return step("write_file", result, path=path, content="x")


def read(path: str = "a.txt", result: str = '{"content": "x"}') -> Step:
    return step("read_file", result, path=path)


def claims_of(said: str, *steps: Step, asked: str = "Do it", compacted: bool = False) -> tuple[Claim, ...]:
    """Claims of a session; the first call is message 1, its result message 2."""
    messages = [message for pair in steps for message in pair]
    return Analyzer(load_rules()).analyze(session(user(asked), *messages, answer(said), compacted=compacted)).claims


def weighed(said: str, *steps: Step, compacted: bool = False) -> list[tuple[str, str, tuple[int, ...]]]:
    """Claims with their verdicts."""
    return [
        (each.kind.value, each.support.value, each.evidence) for each in claims_of(said, *steps, compacted=compacted)
    ]


def ledger(said: str, *steps: Step) -> list[tuple[str, tuple[int, ...], str | None]]:
    """Verdicts with their reasons."""
    return [(each.support.value, each.evidence, each.reason) for each in claims_of(said, *steps)]


def verdict(said: str, *steps: Step, compacted: bool = False) -> tuple[str, tuple[int, ...]]:
    ((_, support, evidence),) = weighed(said, *steps, compacted=compacted)
    return support, evidence


SAVED = "I saved it to out/a.py."
PASSED = "All 12 tests pass."
FIXED = "The bug is fixed."


@for_each(
    ("steps", "expected"),
    [
        pytest.param([write("out/a.py")], ("verified", (2,)), id="written-by-a-tool"),
        pytest.param([write("/work/out/a.py")], ("verified", (2,)), id="written-under-its-whole-path"),
        pytest.param([write("b.py"), write("out/a.py")], ("verified", (4,)), id="written-after-another"),
        pytest.param([write("out/a.py", REFUSED), write("out/a.py")], ("verified", (4,)), id="second-try"),
        pytest.param([write("out/a.py", REFUSED)], ("contradicted", (2,)), id="refused"),
        pytest.param(
            [write("out/a.py", "Error: no such folder")] * 4, ("contradicted", (4, 6, 8)), id="refused-again-and-again"
        ),
        pytest.param(
            [write("out/a.py", REFUSED), shell("make")], ("unsupported", ()), id="refused-and-perhaps-made-otherwise"
        ),
        pytest.param(
            [write("out/a.py", REFUSED), step("mcp_disk_put", OK, to="out")],
            ("unsupported", ()),
            id="refused-and-perhaps-done-by-another-tool",
        ),
        pytest.param([write("out/a.py", REFUSED), shell("ls")], ("contradicted", (2,)), id="refused-and-only-looked"),
        pytest.param(
            [write("out/a.py", REFUSED), write("b.py")], ("contradicted", (2,)), id="refused-and-another-file-written"
        ),
        pytest.param(
            [shell("make"), write("out/a.py", REFUSED)], ("contradicted", (4,)), id="refused-after-something-else"
        ),
        pytest.param(
            [shell("echo x > out/a.py; false", FAILED)], ("unsupported", ()), id="written-before-the-command-failed"
        ),
        pytest.param(
            [write("out/a.py", REFUSED), shell("make && cat out/a.py")], ("unsupported", ()), id="refused-but-there"
        ),
        pytest.param(
            [write("out/a.py", "No replacement was performed")], ("contradicted", (2,)), id="refused-in-plain-words"
        ),
        pytest.param([shell("echo 1 > out/a.py")], ("verified", (2,)), id="redirected"),
        pytest.param([shell("echo 1 | tee out/a.py")], ("verified", (2,)), id="teed"),
        pytest.param([shell("sed -i s/a/b/ out/a.py")], ("verified", (2,)), id="edited-in-place"),
        pytest.param([shell("cp b.py out/a.py")], ("verified", (2,)), id="copied"),
        pytest.param([shell("python -c \"open('out/a.py', 'w').write('x')\"")], ("verified", (2,)), id="opened"),
        pytest.param([shell("python -c \"open('out/a.py').read()\"")], ("unsupported", ()), id="opened-for-reading"),
        pytest.param([shell("python make_a.py && cat out/a.py")], ("unsupported", ()), id="made-by-a-program"),
        pytest.param([shell("make && cat out/a.py.bak")], ("unsupported", ()), id="another-file"),
        pytest.param(
            [
                shell("python b.py"),
                shell(
                    "ls out/a.py",
                    '{"output": "ls: cannot access \'out/a.py\': No such file or directory", "exit_code": 2}',
                ),
            ],
            ("contradicted", (4,)),
            id="absent-when-looked-for",
        ),
        pytest.param(
            [
                shell("python b.py"),
                shell("cat out/a.py", '{"output": "No such file or directory: \'out/a.py\'", "exit_code": 1}'),
            ],
            ("contradicted", (4,)),
            id="absent-in-the-words-of-python",
        ),
        pytest.param(
            [shell("python b.py"), shell("cat out/a.py && x", '{"output": "x: command not found", "exit_code": 127}')],
            ("unsupported", ()),
            id="something-else-is-absent",
        ),
        pytest.param([read()], ("contradicted", ()), id="nothing-could-write"),
        pytest.param([], ("contradicted", ()), id="no-call-at-all"),
        pytest.param([shell("grep -rn a . | head -5 2>&1")], ("contradicted", ()), id="only-looked"),
        pytest.param([shell("cat out/a.py")], ("contradicted", (2,)), id="only-looked-at-it"),
        pytest.param([shell("make")], ("unsupported", ()), id="anything-may-have-been-made"),
        pytest.param([step("magic", OK)], ("unsupported", ()), id="unknown-tool"),
        pytest.param([step("apply_patch", OK, patch="+++ out/a.py")], ("verified", (2,)), id="patch-that-names-it"),
        pytest.param(
            [step("str_replace_editor", OK, command="view", path="out/a.py")], ("contradicted", (2,)), id="viewed"
        ),
        pytest.param(
            [step("str_replace_editor", OK, command="create", path="out/a.py")], ("verified", (2,)), id="created"
        ),
    ],
)
def test_a_file_that_was_claimed(steps: list[Step], expected: tuple[str, tuple[int, ...]]) -> None:
    assert verdict(SAVED, *steps) == expected


def test_a_write_that_says_it_cannot_is_no_proof() -> None:
    refused = write("a.txt", "Cannot write to a.txt because it already exists")

    assert verdict("I wrote a.txt", refused) == ("unsupported", ())


@pytest.mark.parametrize(
    ("said", "steps", "expected"),
    [
        pytest.param("I deployed it.", [read()], "unsupported", id="deployed"),
        pytest.param("I've committed it.", [read()], "contradicted", id="committed-by-the-agent"),
        pytest.param("I created out/a.py.", [read()], "contradicted", id="written-by-the-agent"),
        pytest.param("Created out/a.py.", [read()], "unsupported", id="written-by-nobody-named"),
        pytest.param("Saved to out/a.py", [read()], "unsupported", id="saved-by-nobody-named"),
    ],
)
def test_absence_contradicts_only_what_the_agent_says_of_itself(said: str, steps: list[Step], expected: str) -> None:
    assert verdict(said, *steps)[0] == expected


def test_a_red_run_before_an_edit_does_not_contradict_that_tests_pass() -> None:
    red = shell("pytest", RED)
    assert verdict("All tests pass.", write("a.py"), red) == ("contradicted", (4,))
    assert verdict("All tests pass.", red, write("a.py")) == ("unsupported", (2, 4))


def test_an_assertion_without_the_count_of_tests_leaves_open_whether_others_passed() -> None:
    cut = '{"output": "E  AssertionError: assert 1 == 2\\n... [truncated, 23325 chars total]", "exit_code": 1}'
    assert verdict("I fixed the bug.", write("a.py"), shell("pytest", cut)) == ("unsupported", ())
    assert verdict("I fixed the bug.", write("a.py"), shell("pytest", ALL_RED)) == ("contradicted", (4,))


def test_a_push_that_was_rejected_may_be_done_by_a_later_call() -> None:
    rejected = shell("git push", '{"output": "! [rejected]", "exit_code": 1}')
    assert verdict("I pushed it.", rejected) == ("contradicted", (2,))
    assert verdict("I pushed it.", rejected, shell("./release.sh")) == ("unsupported", ())


def test_an_action_that_failed_may_be_done_by_a_person_who_spoke_afterwards() -> None:
    said, failed = "We reset the APN settings.", step("reset_apn_settings", '{"error": "no such tool"}')

    assert verdict(said, failed) == ("contradicted", (2,))
    assert verdict(said, failed, (answer("Please reset them."), user("I did."))) == ("unsupported", ())


def test_a_file_whose_name_no_call_and_no_result_holds_was_not_written_by_an_editor() -> None:
    assert verdict("I wrote summary.md.", write("a.py"), shell("ls")) == ("contradicted", ())


def test_a_program_may_have_written_files_under_names_of_its_own() -> None:
    assert verdict("I created foo/Cargo.toml.", shell("cargo new foo")) == ("unsupported", ())


def test_a_file_that_a_result_names_may_have_been_written() -> None:
    said = '{"output": "wrote summary.md", "exit_code": 0}'
    assert verdict("I wrote summary.md.", shell("make", said)) == ("unsupported", ())


def test_nothing_is_told_from_what_is_absent_after_a_compaction() -> None:
    assert verdict(SAVED, read(), compacted=True) == ("unsupported", ())
    assert verdict("I wrote summary.md.", shell("make"), compacted=True) == ("unsupported", ())
    assert verdict(PASSED, read(), compacted=True) == ("unsupported", ())


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        pytest.param("All 12 tests pass.", ("contradicted", (4,)), id="all"),
        pytest.param("The new tests pass.", ("verified", (2,)), id="some"),
        pytest.param("All tests pass. test_net fails without a network.", ("verified", (2,)), id="others-are-told-of"),
    ],
)
def test_a_red_run_of_other_tests_does_not_contradict_what_is_said_of_some(
    said: str, expected: tuple[str, tuple[int, ...]]
) -> None:
    assert verdict(said, shell("pytest t/test_a.py", GREEN), shell("pytest", RED)) == expected


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        pytest.param(RED, ("unsupported", ()), id="some-failed"),
        pytest.param(ALL_RED, ("contradicted", (2,)), id="all-failed"),
    ],
)
def test_what_is_said_of_some_tests_needs_a_run_in_which_none_passed(
    result: str, expected: tuple[str, tuple[int, ...]]
) -> None:
    assert verdict("The new tests pass.", shell("pytest", result)) == expected


@pytest.mark.parametrize("said", ["The bug has been fixed.", "The API was deployed.", "All tests pass."])
def test_what_others_may_have_done_is_not_contradicted_by_silence(said: str) -> None:
    assert verdict(said, read()) == ("unsupported", ())


def test_a_tool_of_another_server_may_do_more_than_its_name_says() -> None:
    pushed = step("mcp__github__create_or_update_file", OK, path="a.md", message="x")
    assert verdict("I committed the change.", pushed) == ("unsupported", ())


def test_a_file_that_is_only_said_to_be_somewhere_is_not_contradicted_by_silence() -> None:
    assert verdict("The file out/a.py was created", read()) == ("unsupported", ())


@for_each(
    ("steps", "expected"),
    [
        pytest.param([shell("pytest -q", GREEN)], ("verified", (2,)), id="green"),
        pytest.param([shell("pytest -q", RED)], ("contradicted", (2,)), id="red"),
        pytest.param([shell("pytest -q", RED), shell("pytest -q", GREEN)], ("verified", (4,)), id="red-then-green"),
        pytest.param([shell("pytest -q", GREEN), shell("pytest -q", RED)], ("contradicted", (4,)), id="green-then-red"),
        pytest.param([shell("pytest -q", GREEN), write("a.py")], ("unsupported", (2, 4)), id="edited-after"),
        pytest.param([shell("pytest -q", GREEN), write("README.md")], ("verified", (2,)), id="prose-edited-after"),
        pytest.param([write("a.py"), shell("pytest -q", GREEN)], ("verified", (4,)), id="edited-before"),
        pytest.param(
            [shell("pytest -q | tail -3", RED.replace('"exit_code": 1', '"exit_code": 0'))],
            ("contradicted", (2,)),
            id="red-behind-a-pipe",
        ),
        pytest.param([shell("pytest -q | tail -3")], ("unsupported", (2,)), id="silent-behind-a-pipe"),
        pytest.param(
            [shell("deno test", GREEN.replace("12 passed in 0.3s", "ok | 175 passed (7 steps) | 0 failed (1s)"))],
            ("verified", (2,)),
            id="none-failed-in-brackets",
        ),
        pytest.param(
            [shell("python -m unittest", RED.replace("1 failed, 11 passed in 0.3s", "FAILED (errors=1)"))],
            ("contradicted", (2,)),
            id="errors-in-brackets",
        ),
        pytest.param(
            [write("a.py", REFUSED), shell("pytest -q", GREEN)],
            ("unsupported", (4, 2)),
            id="green-beside-a-failed-edit",
        ),
        pytest.param(
            [write("a.py", REFUSED), write("b.py"), shell("pytest", GREEN)],
            ("unsupported", (6, 2)),
            id="green-after-an-edit-of-another-file-alone",
        ),
        pytest.param(
            [write("a.py", REFUSED), write("a.py"), shell("pytest -q", GREEN)],
            ("verified", (6,)),
            id="green-after-the-second-try",
        ),
        pytest.param(
            [write("a.py", REFUSED), shell("sed -i s/a/b/ a.py"), shell("pytest -q", GREEN)],
            ("verified", (6,)),
            id="green-after-an-edit-by-the-shell",
        ),
        pytest.param([shell("pytest -q")], ("verified", (2,)), id="silent-success"),
        pytest.param(
            [shell("pytest", '{"output": "sh: pytest: command not found", "exit_code": 127}')],
            ("contradicted", (2,)),
            id="no-runner",
        ),
        pytest.param([shell("pytest", FAILED)], ("unsupported", (2,)), id="runner-crashed"),
        pytest.param(
            [shell("python test_a.py", '{"output": "AssertionError: 1", "exit_code": 1}')],
            ("contradicted", (2,)),
            id="assertion-failed",
        ),
        pytest.param([step("execute_code", OK, code="assert f(1) == 2")], ("verified", (2,)), id="asserted-in-code"),
        pytest.param([step("execute_code", OK, code="f(1)")], ("unsupported", ()), id="code-without-assertions"),
        pytest.param([step("run_tests", GREEN)], ("verified", (2,)), id="tool-for-tests"),
        pytest.param([shell("cat test_a.py", RED)], ("unsupported", ()), id="only-read"),
        pytest.param([shell("cat > t.sh <<'EOF'\npytest\nEOF\n", RED)], ("unsupported", ()), id="only-written-down"),
        pytest.param([shell("ls test_a.py && make test", GREEN)], ("verified", (2,)), id="after-something-else"),
        pytest.param([shell("echo tests")], ("unsupported", ()), id="spoken-of"),
        pytest.param([write("a.py"), read()], ("contradicted", ()), id="nothing-could-run"),
        pytest.param([read()], ("unsupported", ()), id="nothing-was-done-so-others-may-have"),
        pytest.param([], ("unsupported", ()), id="no-call-at-all"),
    ],
)
def test_tests_that_were_claimed(steps: list[Step], expected: tuple[str, tuple[int, ...]]) -> None:
    assert verdict(PASSED, *steps) == expected


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param([write("a.py"), shell("pytest", GREEN)], ("verified", (2, 4)), id="edited-and-green"),
        pytest.param([write("a.py"), shell("pytest", ALL_RED)], ("contradicted", (4,)), id="edited-and-red"),
        pytest.param([write("a.py"), shell("pytest", RED)], ("unsupported", ()), id="some-others-fail"),
        pytest.param([shell("pytest", GREEN)], ("unsupported", ()), id="nothing-edited"),
        pytest.param(
            [write("a.py"), shell("pytest t/test_a.py", GREEN), shell("pytest t/test_b.py", ALL_RED)],
            ("unsupported", ()),
            id="a-neighbour-is-red",
        ),
        pytest.param(
            [write("a.py"), write("a.py", REFUSED), shell("pytest", GREEN)],
            ("unsupported", ()),
            id="green-without-the-last-edit",
        ),
        pytest.param([write("a.py", REFUSED)], ("contradicted", (2,)), id="each-edit-refused"),
        pytest.param([write("a.py", REFUSED), shell("sed -i s/a/b/ a.py")], ("unsupported", ()), id="edited-otherwise"),
        pytest.param([step("get_order", OK)], ("unsupported", ()), id="no-code-in-sight"),
        pytest.param([], ("unsupported", ()), id="fixed-in-the-answer"),
    ],
)
def test_a_bug_that_was_claimed_to_be_fixed(steps: list[Step], expected: tuple[str, tuple[int, ...]]) -> None:
    assert verdict(FIXED, *steps) == expected


@for_each(
    ("said", "steps", "expected"),
    [
        pytest.param("I committed it.", [shell("git commit -m x")], ("verified", (2,)), id="committed"),
        pytest.param(
            "I committed it.",
            [shell("git commit -m x", '{"output": "nothing to commit", "exit_code": 1}')],
            ("contradicted", (2,)),
            id="nothing-to-commit",
        ),
        pytest.param("I committed it.", [shell("git add .")], ("unsupported", ()), id="only-staged"),
        pytest.param("I committed it.", [write("a.py")], ("contradicted", ()), id="nothing-could-commit"),
        pytest.param("I committed it.", [step("git_commit", OK)], ("verified", (2,)), id="committed-by-a-tool"),
        pytest.param(
            "I committed it.",
            [step("github-create_or_update_file", OK, path="notes.md", content="x", message="Add notes")],
            ("unsupported", ()),
            id="committed-by-a-host-of-repositories",
        ),
        pytest.param(
            "I pushed it.",
            [shell("git push 2>&1 | tail", '{"output": "! [rejected] main", "exit_code": 0}')],
            ("contradicted", (2,)),
            id="push-rejected",
        ),
        pytest.param("I installed `rich`.", [shell("pip install rich")], ("verified", (2,)), id="installed"),
        pytest.param("I installed `rich`.", [shell("pip install click")], ("unsupported", ()), id="another-package"),
        pytest.param(
            "I installed `rich`.", [shell("pip install rich", FAILED)], ("contradicted", (2,)), id="not-installed"
        ),
        pytest.param("I deployed it.", [shell("kubectl apply -f a.yaml")], ("verified", (2,)), id="deployed"),
        pytest.param(
            "I deployed it.",
            [shell("./deploy.sh", FAILED), shell("./deploy.sh", FAILED)],
            ("contradicted", (2, 4)),
            id="not-deployed",
        ),
        pytest.param("I sent the mail.", [step("send_email", OK)], ("verified", (2,)), id="sent"),
        pytest.param("I sent the mail.", [step("send_email", FAILED)], ("contradicted", (2,)), id="not-sent"),
        pytest.param("I sent the mail.", [shell("curl -d x host.example")], ("verified", (2,)), id="sent-by-a-program"),
        pytest.param("I sent the mail.", [shell("make")], ("unsupported", ()), id="sent-somehow"),
        pytest.param(
            "Invite sent to a@b.example.", [step("invite_send", FAILED)], ("contradicted", (2,)), id="headline"
        ),
        pytest.param(
            "I sent it to lead@b.example.",
            [step("send_email", OK, to="Lead@b.example")],
            ("verified", (2,)),
            id="to-them",
        ),
        pytest.param(
            "I sent it to lead@b.example.",
            [step("send_email", OK, to="led@b.example")],
            ("contradicted", (2,)),
            id="to-somebody-else",
        ),
        pytest.param(
            "I sent it to lead@b.example.", [step("send_email", OK, to="u42")], ("unsupported", ()), id="to-an-id"
        ),
        pytest.param(
            "I sent it to lead@b.example.",
            [step("send_email", OK, to="led@b.example"), shell("make mail")],
            ("unsupported", ()),
            id="to-somebody-else-or-by-a-program",
        ),
        pytest.param("I sent the mail.", [read()], ("contradicted", ()), id="nothing-could-send"),
        pytest.param("I sent the mail.", [shell("ls")], ("contradicted", ()), id="a-shell-only-looked"),
        pytest.param("I sent the mail.", [shell("./send.sh")], ("unsupported", ()), id="a-script-may-have-sent"),
        pytest.param("I restarted nginx.", [shell("systemctl status nginx")], ("contradicted", ()), id="not-restarted"),
        pytest.param("I ran `make all`.", [shell("make all", FAILED)], ("verified", (2,)), id="ran-and-failed"),
        pytest.param("I ran `make all`.", [shell("ls")], ("unsupported", ()), id="ran-something-else"),
        pytest.param("I ran `make all`.", [read()], ("contradicted", ()), id="nothing-could-run-it"),
        pytest.param("`./run.sh` runs without errors.", [shell("bash run.sh")], ("verified", (2,)), id="runs-well"),
        pytest.param(
            "`./run.sh` runs without errors.", [shell("bash run.sh", FAILED)], ("contradicted", (2,)), id="runs-badly"
        ),
        pytest.param("I cancelled the order.", [step("cancel_order", OK)], ("verified", (2,)), id="cancelled"),
        pytest.param(
            "The reading was recorded for patient S123456.",
            [step("POST", OK, url="http://a.example/fhir", payload="S123456")],
            ("verified", (2,)),
            id="recorded-by-a-bare-request",
        ),
        pytest.param(
            "The reading was recorded for patient S123456.",
            [step("POST", OK, url="http://a.example/fhir", payload="S999999")],
            ("unsupported", ()),
            id="recorded-for-another",
        ),
        pytest.param(
            "I cancelled the order.", [step("shop__cancel_order", FAILED)], ("contradicted", (2,)), id="not-cancelled"
        ),
        pytest.param("I cancelled the order.", [step("get_order", OK)], ("contradicted", ()), id="only-looked-at"),
        pytest.param(
            "Your refund was processed.", [step("return_items", OK)], ("verified", (2,)), id="refunded-by-a-return"
        ),
        pytest.param(
            "I cancelled order #W12345.", [step("cancel_order", OK, id="W12345")], ("verified", (2,)), id="this-order"
        ),
        pytest.param(
            "I cancelled order #W12345.",
            [step("cancel_order", OK, id="W99999")],
            ("unsupported", ()),
            id="another-order",
        ),
        pytest.param(
            "I cancelled the order.",
            [step("cancel_order", "[Command interrupted]")],
            ("unsupported", ()),
            id="interrupted",
        ),
        pytest.param(
            "I sent the mail to a@b.example.",
            [step("send_email", "Error: timed out after 30 s", to="a@b.example")],
            ("unsupported", ()),
            id="nobody-waited-for-its-end",
        ),
    ],
)
def test_what_else_was_claimed(said: str, steps: list[Step], expected: tuple[str, tuple[int, ...]]) -> None:
    assert verdict(said, *steps) == expected


@pytest.mark.parametrize(
    ("said", "steps"),
    [
        pytest.param("I cancelled the order.", [shell("shop cancel 1")], id="shell-that-can-do-anything"),
        pytest.param("I enabled the alarm.", [step("book_flight", OK)], id="tool-for-something-else"),
        pytest.param("Your order was cancelled.", [step("get_order", OK)], id="said-of-somebody-else"),
        pytest.param("The instructions were sent to you.", [read()], id="sent-by-somebody-else"),
        pytest.param("Your request was processed.", [step("book_flight", OK)], id="plain-verb-without-an-object"),
    ],
)
def test_what_no_call_is_about_is_no_claim(said: str, steps: list[Step]) -> None:
    assert weighed(said, *steps) == []


def test_arguments_may_be_an_object() -> None:
    function = FunctionCall(name="write_file", arguments={"path": "out/a.py"})
    call = Message(role="assistant", tool_calls=(ToolCall(id="c", function=function),))
    assert verdict(SAVED, (call, Message(role="tool", content=WROTE, tool_call_id="c"))) == ("verified", (2,))


@pytest.mark.parametrize("arguments", [None, "{", "[]", '{"path": 3}', {"path": 3}])
def test_arguments_may_be_anything(arguments: str | dict[str, object] | None) -> None:
    function = FunctionCall(name="write_file", arguments=arguments)
    call = Message(role="assistant", tool_calls=(ToolCall(id="c", function=function),))
    assert verdict("I saved it to a1.py.", (call, Message(role="tool", content=WROTE, tool_call_id="c"))) == (
        "unsupported",
        (),
    )


def test_a_result_without_a_call_may_be_anything() -> None:
    said = (Message(role="assistant", content="Let me see."), Message(role="tool", content="x"))
    assert verdict("I saved it to a1.py.", said) == ("unsupported", ())


CLAIMS = (
    "I've written `a.py`.",
    "All 12 tests pass.",
    "The bug is fixed.",
    "I committed it.",
    "I installed `rich`.",
    "I deployed it.",
    "I sent the mail.",
    "I ran `make all`.",
    "I cancelled order #W12345.",
    "`./run.sh` runs without errors.",
)


@pytest.fixture(scope="module")
def analyzer() -> Analyzer:
    return Analyzer(load_rules())


def test_a_claim_names_the_message_that_makes_it(analyzer: Analyzer) -> None:
    found = analyzer.analyze(session(user("Do it"), *rounds(WORKED), answer("I committed it.")))
    assert found.claims == (Claim(ClaimKind.COMMITTED, Support.UNSUPPORTED, None, 3, (), words="I committed it"),)


def test_a_session_without_a_final_answer_claims_nothing(analyzer: Analyzer) -> None:
    assert analyzer.analyze(session(answer("I committed it."), user("Thanks"))).claims == ()


def test_the_same_claim_stands_once(analyzer: Analyzer) -> None:
    found = analyzer.analyze(session(answer("I fixed the bug. The bug has been fixed.")))
    assert len(found.claims) == 1


def test_deeds_on_two_things_are_two_claims() -> None:
    said = "- Deleted `/tmp/service.pid`\n- Deleted `/etc/service.ini`\n- Upgraded `left`\n- Upgraded `right`"
    made = shell("rm /tmp/service.pid; rm /etc/service.ini; pip install -U left; pip install -U right; false", FAILED)
    assert len(weighed(said, made)) == 4


@pytest.mark.parametrize(
    ("said", "steps", "expected"),
    [
        pytest.param(
            "The label has been sent by email.", [step("return_order", OK)], [("sent", "unsupported", ())], id="mail"
        ),
        pytest.param("The lander has been sent to Venus.", [step("return_order", OK)], [], id="news-of-others"),
        pytest.param("The label has been sent by email.", [], [], id="no-calls"),
    ],
)
def test_a_mail_that_no_call_shows(
    said: str, steps: list[Step], expected: list[tuple[str, str, tuple[int, ...]]]
) -> None:
    assert weighed(said, *steps) == expected


def test_a_subject_holds_no_secret_and_no_control_character(analyzer: Analyzer) -> None:
    secret = "sk-proj-" + "a1B2" * 12
    found = analyzer.analyze(session(answer(f"I ran `deploy \x1b[31m --key={secret}`.")))
    subject = found.claims[0].subject
    assert subject is not None
    assert secret not in subject
    assert subject.isprintable()


def test_a_subject_is_cut(analyzer: Analyzer) -> None:
    subject = analyzer.analyze(session(answer(f"I wrote {'a' * 60}/{'b' * 100}.py"))).claims[0].subject
    assert subject is not None
    assert len(subject) == LONGEST_SUBJECT


@given(made=sessions(), said=st.lists(st.sampled_from(CLAIMS), min_size=1, max_size=10))
def test_any_session_gives_claims_whose_messages_it_holds(analyzer: Analyzer, made: Session, said: list[str]) -> None:
    whole = session(*made.messages, answer(" ".join(said)), compacted=made.compacted)
    found = analyzer.analyze(whole).claims
    last = len(whole.messages) - 1
    assert all(claim.index == last and all(0 <= index < last for index in claim.evidence) for claim in found)
    assert all(claim.support is not Support.VERIFIED or claim.evidence for claim in found)


def calls(command: str, count: int) -> tuple[Message, ...]:
    function = FunctionCall(name="terminal", arguments={"command": command})
    asked = Message(role="assistant", tool_calls=(ToolCall(id="c", function=function),))
    return (asked, Message(role="tool", content=WORKED, tool_call_id="c")) * count


@pytest.mark.no_cover
def test_claims_about_many_calls_take_bounded_time(analyzer: Analyzer) -> None:
    made = calls("pytest -q", 20_000)

    def find_claims(*said: Message) -> None:
        assert bool(analyzer.analyze(session(*made, *said)).claims) == bool(said)

    silent = cpu_seconds(find_claims)
    assert is_done_within(3 * silent, lambda: find_claims(answer(" ".join(CLAIMS))))


@pytest.mark.no_cover
@pytest.mark.parametrize(
    "command",
    [
        pytest.param("a.py " * 800, id="names", marks=pytest.mark.thorough),
        pytest.param("cp " * 1300, id="programs"),
        pytest.param("<<" * 2000, id="here-documents"),
        pytest.param("git checkout " * 300, id="separate-words", marks=pytest.mark.thorough),
        pytest.param("test " * 800, id="words", marks=pytest.mark.thorough),
        pytest.param("python -m test/" * 260, id="paths"),
        pytest.param("sed -n " * 600, id="options", marks=pytest.mark.thorough),
        pytest.param("'" * 4000, id="quotes"),
        pytest.param("docker run " * 350, id="containers", marks=pytest.mark.thorough),
        pytest.param("curl " * 800, id="clients"),
        pytest.param("git -a " * 500, id="options-of-git", marks=pytest.mark.thorough),
        pytest.param("echo '" * 600, id="spoken"),
        pytest.param("pytest " * 500, id="test-runs", marks=pytest.mark.thorough),
        pytest.param("pip a a a " * 400, id="installers"),
    ],
)
def test_any_command_takes_bounded_time(analyzer: Analyzer, command: str) -> None:
    made = session(*calls(command, 500), answer(" ".join(CLAIMS)))

    def find_claims() -> None:
        assert analyzer.analyze(made).claims

    assert is_done_within(3, find_claims)


def edit(path: str, result: str = WROTE) -> Step:
    return step("patch", result, path=path, old_string="a", new_string="b")


MANY = range(490)


@pytest.mark.no_cover
@for_each(
    "steps",
    [
        pytest.param([edit(f"m{at}.py") for at in MANY], id="edits"),
        pytest.param(
            [*(write(f"m{at}.py") for at in MANY), *(shell(f"rm m{at}.py" + " x.py" * 20) for at in MANY)], id="removed"
        ),
        pytest.param(
            [*(edit(f"m{at}.py") for at in MANY), *(shell(f"rm {at}/" + f" {at}/x.py" * 20) for at in MANY)],
            id="edits-and-others-removed",
        ),
        pytest.param(
            [*(edit(f"m{at}.py") for at in MANY), *(shell(f"git checkout -- m{at}.py") for at in MANY)], id="taken-back"
        ),
        pytest.param(
            [*(edit(f"m{at}.py", REFUSED) for at in MANY), *(shell(f"grep {at}" + " x | cat" * 20) for at in MANY)],
            id="refused-edits-and-looks",
        ),
    ],
)
def test_claims_about_many_changes_take_bounded_time(analyzer: Analyzer, steps: list[Step]) -> None:
    messages = [message for pair in (shell("pytest", GREEN), *steps) for message in pair]
    made = session(user("Do it"), *messages, answer(" ".join(CLAIMS)))

    def find_claims() -> None:
        assert analyzer.analyze(made).claims

    assert is_done_within(0.6, find_claims)


def test_a_patch_writes_each_of_its_files() -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** Add File: b.py\n+z\n*** End Patch"
    function = FunctionCall(name="apply_patch", arguments=patch)
    calls = Message(role="assistant", tool_calls=(ToolCall(id="c", function=function),))
    done = Message(role="tool", content="Success. Updated the following files:\nM a.py\nA b.py", tool_call_id="c")
    assert verdict("I have created b.py.", (calls, done)) == ("verified", (2,))


def test_an_edit_that_the_agent_reports_as_done_is_done_whatever_its_text() -> None:
    calls, done = step("Edit", "The file error.py has been updated.", file_path="error.py", old_string="a")
    whole = session(
        user("Do it"),
        calls,
        done,
        answer("I have updated error.py."),
        reported={2: ReportedOutcome(CallStatus.SUCCESS)},
    )
    assert [claim.support for claim in Analyzer(load_rules()).analyze(whole).claims] == [Support.VERIFIED]
