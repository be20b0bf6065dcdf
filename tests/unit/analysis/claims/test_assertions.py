from __future__ import annotations

import pytest

from grader_daemon.analysis.claims.extract import find_claims
from tests.tables import for_each

CLAIMS = ("All tests pass", "Order 17 has been cancelled", "`a.py` was created", "The change has been pushed")

NOT_ASSERTED = [
    pytest.param("- [ ] {}", id="open-box"),
    pytest.param("1. [ ] {}", id="open-box-with-a-number"),
    pytest.param("- [~] {}", id="box-of-what-is-begun"),
    pytest.param("❌ {}", id="cross"),
    pytest.param("- ☐ {}", id="open-square"),
    pytest.param("⬜ {}", id="white-square"),
    pytest.param("⏳ {}", id="hourglass"),
    pytest.param("- {} ⏳", id="hourglass-behind"),
    pytest.param("| {} | ❌ |", id="row-with-a-cross"),
    pytest.param("~~{}~~", id="struck"),
    pytest.param("TODO: {}", id="todo"),
    pytest.param("**Goal:** {}", id="goal"),
    pytest.param("Next step: {}", id="next-step"),
    pytest.param("Definition of done: {}", id="definition-of-done"),
    pytest.param("CI requirement: {}", id="requirement"),
    pytest.param("Still to be done — {}", id="behind-a-dash"),
    pytest.param("Nächste Schritte: {}", id="german"),
    pytest.param("I looked at it. Goal: {}", id="goal-in-a-later-sentence"),
    pytest.param("Acceptance criteria:\n- {}", id="below-acceptance-criteria"),
    pytest.param("## Plan\n\n1. Read it\n   with care\n\n2. {}", id="below-a-plan"),
    pytest.param("**Next steps**\n* {}", id="below-next-steps"),
    pytest.param("Remaining\n- {}", id="below-a-bare-line"),
    pytest.param("### To do\n- Lint\n- {}", id="below-to-do"),
    pytest.param("## Goal\n{}", id="text-below-a-goal"),
    pytest.param("The task asks that {}", id="task-asks"),
    pytest.param("The README says {}", id="readme-says"),
    pytest.param("The customer told me {}", id="customer-told"),
    pytest.param("Issue #12 claims that {}", id="issue-claims"),
    pytest.param("You said {}; that is not so", id="you-said"),
    pytest.param("However, Bob says: {}", id="named-person-says"),
    pytest.param("In theory {}", id="in-theory"),
    pytest.param("It looks like {}", id="looks-like"),
    pytest.param("As far as I can tell, {}", id="as-far-as"),
    pytest.param("Yesterday {}", id="yesterday-before"),
    pytest.param("{} yesterday", id="yesterday-behind"),
    pytest.param("In the last session {}", id="last-session"),
    pytest.param("{} two weeks ago", id="weeks-ago"),
    pytest.param("Step 3 ({}) is open", id="name-of-an-open-step"),
    pytest.param("{} (not yet)", id="state-in-brackets"),
    pytest.param("- {}: pending", id="state-behind-a-colon"),
    pytest.param("| {} | no |", id="state-in-a-cell"),
    pytest.param("| Goal | {} |", id="goal-in-a-row"),
    pytest.param("What is left:\n- {}", id="below-what-is-left"),
    pytest.param("The goal is that {}", id="goal-is-that"),
    pytest.param("According to the customer, {}", id="according-to"),
    pytest.param("I'd expect {}", id="expected"),
    pytest.param("It is not true that {}", id="untrue"),
]

ASSERTED = [
    pytest.param("{}", id="plain"),
    pytest.param("- [x] {}", id="ticked-box"),
    pytest.param("- ✅ {}", id="tick"),
    pytest.param("The icon was ❌, is ✅. {}", id="last-sign-is-a-tick"),
    pytest.param("Acceptance criteria:\n- {} ✅", id="ticked-criterion"),
    pytest.param("Acceptance criteria met:\n- {}", id="criteria-that-are-met"),
    pytest.param("Goal reached: {}", id="goal-that-is-reached"),
    pytest.param("## Plan\n- Read it\n\n{}", id="text-behind-a-plan"),
    pytest.param("## Plan\n- Read it\n\n## Result\n- {}", id="below-another-heading"),
    pytest.param("Next steps: none. {}", id="sentence-behind-a-label"),
    pytest.param("Next.js: {}", id="name-with-the-word"),
    pytest.param("Result: {}", id="result"),
    pytest.param("All expectation rows are there and {}", id="word-that-begins-as-a-verb-of-others"),
    pytest.param("Missing import: {}", id="name-of-a-fault"),
    pytest.param("| Tests | {} | 0 failed |", id="count-in-a-cell"),
    pytest.param("1. **Order W1 (pending)**: {}", id="brackets-in-a-label"),
    pytest.param("Matches of 'TODO' in all files: 6. {}", id="word-in-quotes-in-a-label"),
    pytest.param("1. The order (a before b) is as planned:\n\n{}", id="item-above-a-text"),
    pytest.param(
        "I finished the plan that you wrote, see the notes below, which have more than that.\n- {}", id="text"
    ),
    pytest.param("You asked me to mend it, and I did: {}", id="agents-own-sentence"),
    pytest.param("As you asked, {}", id="as-you-asked"),
    pytest.param("Per your request, {}", id="per-your-request"),
    pytest.param("The parser (a.c) is mended: {}", id="brackets-that-end"),
    pytest.param("The parser is mended ({}).", id="in-brackets"),
    pytest.param("It looks like a race, and I mended it: {}", id="hedge-of-something-else"),
]


@for_each("text", NOT_ASSERTED)
def test_what_is_open_wanted_said_by_others_or_past_is_not_asserted(text: str) -> None:
    assert {claim: find_claims(text.format(claim)) for claim in CLAIMS} == dict.fromkeys(CLAIMS, ())


@for_each("text", ASSERTED)
def test_what_the_agent_says_is_so_is_asserted(text: str) -> None:
    assert [claim for claim in CLAIMS if not find_claims(text.format(claim))] == []
