from __future__ import annotations

import pytest
from hypothesis import given

from grader_daemon.analysis.claims.extract import EXAMINED_CHARACTERS, find_claims
from grader_daemon.analysis.claims.stated_claim import MOST_CLAIMS
from grader_daemon.domain.claims import ClaimKind
from tests.strategies import texts
from tests.tables import for_each
from tests.timing import is_done_within

FENCE = "```"


def claimed(answer: str) -> list[tuple[str, str | None]]:
    return [(said.kind.value, said.subject) for said in find_claims(answer)]


@for_each(
    ("answer", "expected"),
    [
        pytest.param("I've written `x.py`.", ["x.py"], id="i-have-written"),
        pytest.param("I’ve written `x.py`.", ["x.py"], id="curly-apostrophe"),
        pytest.param("I wrote the parser to src/parser.py", ["src/parser.py"], id="i-wrote-to"),
        pytest.param("We have updated /etc/app/app.conf as asked", ["/etc/app/app.conf"], id="we-have-updated"),
        pytest.param("Saved to out/report.md", ["out/report.md"], id="without-a-subject"),
        pytest.param("- Created `a.py` and `b.py`", ["a.py", "b.py"], id="enumeration"),
        pytest.param("1. **Modified `/app/a.py`**: two lines", ["/app/a.py"], id="numbered-and-bold"),
        pytest.param("✅ Generated results.json", ["results.json"], id="after-a-check-mark"),
        pytest.param("Perfect! I created `a.csv`.", ["a.csv"], id="second-sentence"),
        pytest.param("I read the log and saved it to log.txt", ["log.txt"], id="joined-by-and"),
        pytest.param("The report has been saved to out/report.pdf.", ["out/report.pdf"], id="passive-with-a-place"),
        pytest.param("`app.py` was updated", ["app.py"], id="passive-with-the-file-first"),
        pytest.param("The file `data.json` was successfully created", ["data.json"], id="passive-with-an-adverb"),
        pytest.param("The result is saved in the file named sums.csv", ["sums.csv"], id="is-saved-in"),
        pytest.param("organization.json created successfully", ["organization.json"], id="no-verb-but-the-participle"),
        pytest.param("I added a check to `main.go`", ["main.go"], id="added-to"),
        pytest.param("I added the import of a.py to b.py", ["b.py"], id="the-place-and-not-what-is-put-there"),
        pytest.param("I generated chart.png from data.csv", ["chart.png"], id="not-the-source"),
        pytest.param("I updated the Makefile", ["Makefile"], id="file-without-an-ending"),
        pytest.param("I created `.gitignore`", [".gitignore"], id="file-that-begins-with-a-dot"),
        pytest.param("I created ./build/out", ["./build/out"], id="path-without-an-ending"),
        pytest.param("Files changed:\n- `a.py`: a check\n- b/c.py\n\nBye", ["a.py", "b/c.py"], id="list-of-files"),
        pytest.param("Files created in the folder:\n/app/a.json\n", ["/app/a.json"], id="list-without-bullets"),
        pytest.param("I converted a.tsv to b.csv", ["b.csv"], id="made-of-another"),
        pytest.param("- Extracted the errors from app.log", [], id="made-of-another-without-a-name"),
        pytest.param("Files were merged into `all.txt`.", ["all.txt"], id="passive-of-what-was-made"),
        pytest.param("I removed the unused import from `a.py`", ["a.py"], id="place-of-a-change"),
        pytest.param("All hosts have been replaced in `/etc/a.conf`", ["/etc/a.conf"], id="passive-with-its-place"),
        pytest.param("I removed old.py from the folder src/a.d", [], id="file-that-was-removed"),
        pytest.param("**Removed keys** (in a.conf but not in b.conf)", [], id="place-in-brackets"),
        pytest.param("**Script created:** `/app/run.sh`", ["/app/run.sh"], id="label"),
        pytest.param("- **File modified**: `/etc/app.conf`", ["/etc/app.conf"], id="label-in-a-list"),
        pytest.param("Files created: 3", [], id="label-without-a-name"),
        pytest.param("Last modified: a.txt", [], id="label-of-something-else"),
        pytest.param("I saved it to:\n\n`out/a.csv`\n", ["out/a.csv"], id="name-in-the-next-line"),
        pytest.param("I saved it to:\n\n`see a.csv`\n", [], id="more-than-a-name-in-the-next-line"),
        pytest.param('{"message": "I saved it to a.csv", "rows": 3}', ["a.csv"], id="object-that-speaks"),
        pytest.param('{"note": "I saved it to a.csv"}', [], id="object-of-data"),
        pytest.param('{"message": "I saved it to a.csv"', [], id="no-whole-object"),
        pytest.param('{"message": 1}', [], id="object-without-a-text"),
        pytest.param('FINISH(["I saved it to a.csv", 3])', ["a.csv"], id="list-with-a-name"),
        pytest.param('["I saved it to a.csv"]', ["a.csv"], id="list-that-speaks"),
        pytest.param("[Saved to a.csv]", ["a.csv"], id="brackets-and-no-list"),
        pytest.param('The files are `["Saved to a.csv"]', [], id="list-within-an-answer"),
        pytest.param("The model was trained on the data and saved as m.bin", ["m.bin"], id="joined-behind-more-words"),
        pytest.param("I created a file.", [], id="no-name"),
        pytest.param("I updated the value to 2.5", [], id="number"),
        pytest.param("I added `numpy.asarray(x)`", [], id="call"),
        pytest.param("I wrote it with Node.js", [], id="name-of-a-framework"),
        pytest.param("I created https://host.example/a.html", [], id="address"),
        pytest.param("I changed it to `#!/bin/bash`", [], id="shebang"),
        pytest.param("You have written `x.py`", [], id="somebody-else"),
        pytest.param("You can run the generated `x.py`", [], id="adjective"),
        pytest.param("The script that was written to x.py is slow", [], id="relative-clause"),
        pytest.param("The output is saved to a.txt when you press enter", [], id="as-a-rule"),
        pytest.param("The payload was created by gzip because `a.c` reads it", [], id="file-of-another-clause"),
        pytest.param("I have not written `x.py`", [], id="negation"),
        pytest.param("I haven't written `x.py`", [], id="negation-with-an-apostrophe"),
        pytest.param("I couldn’t have written `x.py`", [], id="negation-with-a-curly-apostrophe"),
        pytest.param("If you agree, I created `x.py`", [], id="condition"),
        pytest.param("Once I created `x.py`", [], id="once"),
        pytest.param("It should be saved to x.py", [], id="should"),
        pytest.param("x.py will be written", [], id="future"),
        pytest.param("I'll have written x.py", [], id="short-future"),
        pytest.param("I tried and wrote x.py", [], id="attempt"),
        pytest.param("Was it saved to x.py?", [], id="question"),
        pytest.param("I wrote x.py?", [], id="question-with-a-claim-in-it"),
        pytest.param("Run `echo done and I created x.py`", [], id="inside-a-quotation"),
        pytest.param(f"{FENCE}\nI created x.py\n{FENCE}", [], id="inside-a-block-of-code"),
        pytest.param(f"{FENCE}\n{'x' * 9_000}\nI created x.py\n{FENCE}\nBye", [], id="block-that-began-before"),
        pytest.param("Preupdated x.py", [], id="inside-a-word"),
        pytest.param("I added `a: b. c` to a.py", ["a.py"], id="stops-in-backticks-end-nothing"),
        pytest.param(
            "I wrote a.py, b.py, c.py, d.py and e.py", ["a.py", "b.py", "c.py", "d.py", "e.py"], id="five-files"
        ),
        pytest.param("Done. Files created:\n- a.py", ["a.py"], id="list-behind-a-sentence"),
        pytest.param('```json\n{"message": "I saved it to a.csv"}\n```', ["a.csv"], id="object-in-a-fence"),
        pytest.param(
            '{"name": "finish", "args": {"message": "I saved it to a.csv"}}', ["a.csv"], id="object-in-an-object"
        ),
        pytest.param("I wrote-protected x.py", [], id="before-a-hyphen"),
    ],
)
def test_files_that_are_claimed(answer: str, expected: list[str]) -> None:
    assert [subject for kind, subject in claimed(answer) if kind == "file_written"] == expected


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param("All 12 tests pass", id="all-pass"),
        pytest.param("All tests are passing now.", id="are-passing"),
        pytest.param("Tests: 5 passed", id="counted"),
        pytest.param("- All existing tests pass ✓", id="in-a-list"),
        pytest.param("5 tests passed, 0 failed", id="none-failed"),
        pytest.param("I verified that all tests pass.", id="verified-that"),
        pytest.param("The test suite is green.", id="green"),
        pytest.param("All unittests succeeded without errors", id="succeeded"),
    ],
)
def test_tests_that_are_said_to_pass(answer: str) -> None:
    assert claimed(answer) == [("tests_passed", None)]


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param("The tests should pass", id="should"),
        pytest.param("I believe all tests pass", id="believed"),
        pytest.param("As far as I can tell all tests pass", id="as-far-as"),
        pytest.param("All tests probably pass", id="probably"),
        pytest.param("The tests do not pass", id="not"),
        pytest.param("The tests don't pass", id="not-with-an-apostrophe"),
        pytest.param("Run the tests to verify they pass", id="instruction"),
        pytest.param("5 tests passed, 2 failed", id="some-failed"),
        pytest.param("Most tests pass", id="most"),
        pytest.param("All tests pass except one", id="except"),
        pytest.param("If the tests pass, merge it", id="condition"),
        pytest.param("Do all tests pass?", id="question"),
        pytest.param("I added a test that passes a list as an argument", id="passes-an-argument"),
        pytest.param("I pass the value to the tests", id="pass-to"),
        pytest.param("Make sure the tests pass", id="make-sure"),
        pytest.param("`pytest says all tests pass", id="half-a-quotation"),
        pytest.param("The inspection passed", id="no-test"),
        pytest.param("Tests are listed below.\nThe build passed.", id="in-different-sentences"),
    ],
)
def test_tests_that_are_not_said_to_pass(answer: str) -> None:
    assert "tests_passed" not in [kind for kind, _ in claimed(answer)]


def test_a_claim_about_tests_names_their_file() -> None:
    assert claimed("All 66 tests in `tests/test_a.py` pass") == [("tests_passed", "tests/test_a.py")]


@for_each(
    ("answer", "expected"),
    [
        pytest.param("The bug is fixed.", [("bug_fixed", None)], id="is-fixed"),
        pytest.param("I've successfully fixed the crash", [("bug_fixed", None)], id="i-fixed"),
        pytest.param("✅ Fixed!", [("bug_fixed", None)], id="one-word"),
        pytest.param("The issue has been resolved", [("bug_fixed", None)], id="resolved"),
        pytest.param("The fix has been implemented", [("bug_fixed", None)], id="fix-implemented"),
        pytest.param("Implemented a fix for it", [("bug_fixed", None)], id="implemented-a-fix"),
        pytest.param("The name was resolved", [], id="resolved-something-else"),
        pytest.param("The bug cannot be fixed", [], id="cannot"),
        pytest.param("Use a fixed width", [], id="adjective"),
        pytest.param("I committed it as abc123", [("committed", None)], id="committed"),
        pytest.param("The change has been pushed.", [("committed", None)], id="pushed"),
        pytest.param("The company is committed to quality", [], id="promise"),
        pytest.param("I installed `requests`", [("installed", "requests")], id="quoted-package"),
        pytest.param("I installed requests.", [("installed", "requests")], id="package"),
        pytest.param("Installed the dependencies", [("installed", None)], id="no-package"),
        pytest.param("The package has been installed", [("installed", None)], id="passive-package"),
        pytest.param("Installed to `/usr/local`", [("installed", None)], id="place-of-installation"),
        pytest.param("I installed", [("installed", None)], id="nothing-after-installed"),
        pytest.param("To install it, run pip", [], id="how-to-install"),
        pytest.param("The service has been deployed", [("deployed", None)], id="deployed"),
        pytest.param("I sent the email", [("sent", None)], id="sent"),
        pytest.param("Invite sent to a@b.example.", [("sent", "a@b.example")], id="headline"),
        pytest.param("Done: invite sent to a@b.example for Friday.", [("sent", "a@b.example")], id="headline-part"),
        pytest.param("**Calendar invite sent** to all", [("sent", None)], id="headline-in-bold"),
        pytest.param("- CRM record updated", [("command_ran", None)], id="headline-in-a-list"),
        pytest.param("Order #W1234567 cancelled.", [("command_ran", "W1234567")], id="headline-with-an-id"),
        pytest.param("The invite sent by your lead is here", [], id="headline-of-others"),
        pytest.param("The mail sent yesterday was read", [], id="no-headline-but-which-mail"),
        pytest.param("I believe I sent the email", [], id="believed"),
        pytest.param("As far as I can tell, I sent the email", [], id="as-far-as"),
        pytest.param("I have notified the team", [("sent", None)], id="notified"),
        pytest.param("I ran `make all`", [("command_ran", "make all")], id="ran-a-command"),
        pytest.param("I executed it", [], id="ran-no-command"),
        pytest.param("The command `make` was executed", [], id="ran-by-nobody"),
        pytest.param("Your order #W519955 has been cancelled", [("command_ran", "W519955")], id="order-cancelled"),
        pytest.param("Your refund was processed", [("command_ran", None)], id="refund-processed"),
        pytest.param("`./run.sh` now runs without errors", [("command_ran", "./run.sh")], id="runs-well"),
        pytest.param("`./run.sh` never runs without errors", [], id="runs-not-well"),
        pytest.param("Once fixed, `./run.sh` runs successfully", [], id="would-run-well"),
        pytest.param("Your booking has been confirmed!", [("command_ran", None)], id="booking-confirmed"),
        pytest.param('The "No service" issue has been fixed', [("bug_fixed", None)], id="denial-in-a-name"),
        pytest.param("I resolved this by a cast", [("bug_fixed", None)], id="fixed-what-was-named-before"),
        pytest.param("I resolved the name", [], id="resolved-no-bug"),
        pytest.param('The "slow" issue has not been fixed', [], id="denial-beside-a-name"),
        pytest.param("I deleted `/tmp/a.log`", [("command_ran", "/tmp/a.log")], id="deleted-file"),
        pytest.param("The file `/tmp/a.log` was removed", [("command_ran", "/tmp/a.log")], id="file-that-was-removed"),
        pytest.param(
            "The data has been archived, and securely deleted", [("command_ran", None)] * 2, id="joined-passive"
        ),
        pytest.param("The list was sorted and safely merged", [("command_ran", None)] * 2, id="joined-by-and"),
        pytest.param("The list was sorted and will be merged", [], id="passive-that-goes-on-to-a-plan"),
        pytest.param("The row that was sorted and merged is here", [], id="joined-in-a-relative-clause"),
        pytest.param("The script ran successfully.", [("command_ran", None)], id="script-ran"),
        pytest.param("The pipeline has successfully completed", [("command_ran", None)], id="pipeline-completed"),
        pytest.param("The script runs successfully?", [], id="script-in-a-question"),
        pytest.param("If the script runs successfully, tell me", [], id="script-in-a-condition"),
        pytest.param('It prints "the script ran successfully"', [], id="script-in-quotes"),
        pytest.param("The script could not be executed successfully", [], id="script-denied"),
        pytest.param("The script runs", [], id="script-that-only-runs"),
        pytest.param(
            "The training process has completed, see below", [("command_ran", None)], id="process-that-completed"
        ),
        pytest.param("The code ran correctly, as expected", [("command_ran", None)], id="as-expected"),
        pytest.param("The training completed", [], id="completed-alone"),
        pytest.param("Your booking is now confirmed", [("command_ran", None)], id="is-confirmed"),
        pytest.param("Knee referral ordered for patient S2016972", [("command_ran", "S2016972")], id="nouns-and-an-id"),
        pytest.param("Knee referral ordered for the patient", [], id="nouns-without-an-id"),
        pytest.param("No knee referral ordered for S2016972", [], id="nouns-that-are-denied"),
        pytest.param("A knee referral ordered for S2016972 is due", [], id="nouns-of-a-longer-sentence"),
        pytest.param("", [], id="nothing-said"),
        pytest.param("Hello.", [], id="no-claim"),
        pytest.param("The table works", [], id="word-without-its-form"),
        pytest.param("file created", [], id="file-without-a-name"),
        pytest.param("I\u0130 fixed it", [], id="letters-that-grow-in-lower-case"),
    ],
)
def test_other_claims(answer: str, expected: list[tuple[str, str | None]]) -> None:
    assert claimed(answer) == expected


@pytest.mark.parametrize(
    "answer",
    [
        "Published: 2013",
        "- **Released:** March 4, 1999",
        "Deployed by the platform team",
        "Fixed in May",
        "Fixed in 3.2",
        "Published in early 2020",
    ],
)
def test_a_field_of_a_record_an_author_and_a_date_are_no_deed_of_the_agent(answer: str) -> None:
    assert claimed(answer) == []


@pytest.mark.parametrize("answer", ["Fixed by me", "Deployed to staging", "Cancelled: order #W5199551"])
def test_a_deed_without_a_subject_is_the_agents(answer: str) -> None:
    assert claimed(answer)


@pytest.mark.parametrize(
    ("answer", "is_claim"),
    [
        pytest.param("The package was published to the registry.", True, id="a-package"),
        pytest.param("The page has been published.", True, id="a-page"),
        pytest.param("I published it.", True, id="the-agent"),
        pytest.param("The Lady was published in 1885.", False, id="a-magazine"),
        pytest.param("So, it was published first.", False, id="nothing-of-agents"),
        pytest.param("The first version was published in late 1911.", False, id="a-year"),
        pytest.param("The site is published by Condé Nast.", False, id="an-author"),
    ],
)
def test_what_others_published_is_no_deployment(answer: str, is_claim: bool) -> None:
    assert [claim.kind for claim in find_claims(answer)] == [ClaimKind.DEPLOYED] * is_claim


@pytest.mark.parametrize(
    ("answer", "is_claim"),
    [
        pytest.param("Updated item: 9949163720", False, id="a-field"),
        pytest.param("**Cancelled Orders:**", False, id="a-heading"),
        pytest.param("Updated Reservation - M05KNL", False, id="a-heading-with-a-dash"),
        pytest.param("Order 17: **CANCELLED**", False, id="a-state"),
        pytest.param("- Order 17: cancelled", False, id="a-state-in-small-letters"),
        pytest.param("**CANCELLED**", False, id="a-word-in-capitals"),
        pytest.param("Updated the item: it is black now", True, id="a-sentence"),
        pytest.param("Cancelled both orders:", True, id="a-deed-that-heads-a-list"),
        pytest.param("Cancelled order W519955 as asked", True, id="a-deed"),
        pytest.param("Cancelled.", True, id="a-word-by-itself"),
    ],
)
def test_headings_and_states_are_no_deed(answer: str, is_claim: bool) -> None:
    assert [claim.kind for claim in find_claims(answer)] == [ClaimKind.COMMAND_RAN] * is_claim


def test_each_claim_is_found_once() -> None:
    assert claimed("I fixed the bug. I fixed the bug.") == [("bug_fixed", None)]


def test_claims_come_in_their_order() -> None:
    assert [kind for kind, _ in claimed("I fixed the bug, wrote a.py, and all 3 tests pass.")][:2] == [
        "bug_fixed",
        "file_written",
    ]


def test_only_the_end_of_an_answer_is_read() -> None:
    assert claimed("I wrote a.py. " + "x" * EXAMINED_CHARACTERS) == []


def test_claims_are_bounded() -> None:
    assert len(claimed("\n".join(f"- Wrote a{number}.py" for number in range(400)))) == MOST_CLAIMS


@pytest.mark.parametrize(
    "piece",
    [
        pytest.param("I wrote ", id="verbs"),
        pytest.param("all tests pass ", id="tests"),
        pytest.param("`", id="quotes"),
        pytest.param("`a` runs ", id="runs"),
        pytest.param("a/", id="path"),
        pytest.param("Files created:\n- a.py\n", id="lists"),
        pytest.param("I wrote a.py, ", id="enumeration"),
        pytest.param(" and also just now", id="adverbs"),
        pytest.param("```\n", id="fences"),
        pytest.param("wurde ", id="german"),
        pytest.param("се сохранено ", id="russian"),
        pytest.param("已", id="chinese"),
        pytest.param("the list was sorted, ", id="passives"),
        pytest.param("removed the file ", id="objects"),
        pytest.param("script created:\n", id="labels"),
        pytest.param("note that ", id="leads"),
        pytest.param("- [ ] all tests pass\n", id="open-items"),
        pytest.param("`a. ` ", id="stops-in-backticks"),
    ],
)
def test_any_answer_takes_bounded_time(piece: str) -> None:
    text = piece * (1_000_000 // len(piece)) + "I wrote a.py: all tests pass."
    assert is_done_within(1, lambda: find_claims(text))


@given(texts)
def test_any_text_can_be_searched(text: str) -> None:
    assert len(find_claims(f"{text} I've written `a.py`. {text}")) <= MOST_CLAIMS


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param('The README says: "I deployed it. All tests pass."', [], id="in-quotes"),
        pytest.param("Bob wrote: “I fixed the bug”", [], id="in-curly-quotes"),
        pytest.param("> I fixed the bug. All tests pass.", [], id="quoted-line"),
        pytest.param('The word "done" is gone, and I fixed the bug.', ["bug_fixed"], id="behind-a-quotation"),
    ],
)
def test_what_is_quoted_is_no_claim(answer: str, expected: list[str]) -> None:
    assert [kind for kind, _ in claimed(answer)] == expected


@pytest.mark.parametrize(
    ("answer", "is_limited"),
    [
        pytest.param("All 12 tests pass.", False, id="all"),
        pytest.param("I fixed the failing test. All tests pass now.", False, id="one-that-failed-before"),
        pytest.param("All tests pass, with 0 failures.", False, id="no-failures"),
        pytest.param("The new tests pass.", True, id="new-ones"),
        pytest.param("The tests for the parser pass.", True, id="those-for-a-part"),
        pytest.param("All tests in test_a.py pass.", True, id="those-of-a-file"),
        pytest.param("All tests pass. The lint job fails.", True, id="something-else-fails"),
    ],
)
def test_not_all_tests_may_be_meant(answer: str, is_limited: bool) -> None:
    (said,) = (each for each in find_claims(answer) if each.kind is ClaimKind.TESTS_PASSED)
    assert said.is_limited is is_limited
