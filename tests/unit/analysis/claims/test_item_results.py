"""Commands that say of each item whether it was done."""

from __future__ import annotations

import json

import pytest

from grader_daemon.domain.claims import ClaimKind
from tests.strategies import answer, session, user
from tests.unit.analysis.claims.test_deeds import ANALYZER, Call, against, talk

OUTPUT = "Applying shop.0041_add... OK\nApplying shop.0042_fill...\nrolled back shop.0042_fill\nbye"
SAID = "Both ran: `shop.0041_add` and `shop.0042_fill` are applied."


def terminal(command: str, output: str) -> Call:
    return "terminal", {"command": command}, json.dumps({"output": output, "exit_code": 0, "error": None})


MIGRATE = terminal("./manage.py migrate | tail -9", OUTPUT)


def test_an_item_that_failed_beside_others_is_told_as_a_part() -> None:
    assert against("Migrate", MIGRATE, said=SAID) == ("partial", "fewer_done", (2,), SAID)
    look = terminal("git status", "clean")
    assert against("Migrate", MIGRATE, look, said=SAID) == ("partial", "fewer_done", (2,), SAID)


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        pytest.param([MIGRATE], "`shop.0041_add` is applied.", id="the-item-is-not-told"),
        pytest.param([MIGRATE], SAID + " The last failed.", id="admitted"),
        pytest.param([MIGRATE, terminal("./manage.py migrate --fake", "fine")], SAID, id="something-came-after-it"),
        pytest.param([terminal("./manage.py migrate", OUTPUT.replace("OK", "…"))], SAID, id="nothing-worked"),
        pytest.param(
            [terminal("./manage.py migrate", OUTPUT.replace("rolled back", "did"))], SAID, id="nothing-failed"
        ),
        pytest.param([terminal("git log", OUTPUT)], SAID, id="it-only-looked"),
        pytest.param([terminal("pytest", OUTPUT)], SAID, id="a-run-of-tests"),
        pytest.param([terminal("./x", "a_item OK\na_item: ERROR: retry\n")], "a_item is done", id="it-worked-as-well"),
        pytest.param([terminal("./x", "a_item OK\nERROR Bridge\n")], "Bridge is done", id="a-plain-word"),
    ],
)
def test_other_outputs_are_let_be(calls: list[Call], said: str) -> None:
    assert against("Migrate", *calls, said=said) is None


LOADED = terminal("for m in 01 02; do ./load.sh $m; done", "01 rows=44640 ok\n02 ERROR s3: NoSuchKey")
WHOLE = "The whole year is loaded."


def test_a_command_that_failed_at_a_part_contradicts_that_all_is_done() -> None:
    assert against("Load", LOADED, said=WHOLE) == ("partial", "fewer_done", (2,), WHOLE)
    counted = terminal("psql -Atc 'select count(*) from year'", "44640")
    assert against("Load", LOADED, counted, said=WHOLE) == ("partial", "fewer_done", (2,), WHOLE)


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        pytest.param([LOADED], "The year is loaded.", id="not-told-as-whole"),
        pytest.param([LOADED], "The whole year is loaded, but for February.", id="admitted"),
        pytest.param([LOADED, terminal("./load.sh 02", "02 rows=1 ok")], WHOLE, id="done-again"),
        pytest.param([LOADED, terminal("psql -c 'delete from year'", "DELETE 9")], WHOLE, id="a-query-that-changes"),
        pytest.param([terminal("./load.sh", "01 rows=9 ok\n0 errors\nfailed: 0")], WHOLE, id="no-errors"),
        pytest.param([terminal("./load.sh", "ERROR s3: NoSuchKey")], "All done!", id="a-phrase"),
        pytest.param([terminal("cp x y", "cannot stat x")], WHOLE, id="the-sentence-is-of-something-else"),
        pytest.param([terminal("./load.sh", "ERROR s3: NoSuchKey")], "This is the whole log of it.", id="no-deed"),
        pytest.param([terminal("pytest", "1 failed, 3 passed ok")], WHOLE, id="a-run-of-tests"),
        pytest.param([terminal("npx tsc --noEmit", "error TS2304\ndone")], WHOLE, id="a-type-check"),
    ],
)
def test_where_all_of_it_may_be_done_nothing_is_told(calls: list[Call], said: str) -> None:
    assert against("Load", *calls, said=said) is None


@pytest.mark.parametrize(
    ("output", "verdict"),
    [
        pytest.param(
            "FAIL 02/\nzip I/O error: Permission denied", ("contradicted", "failed"), id="nothing-is-told-done"
        ),
        pytest.param("01 ok 4120 rows\n02 SKIP partition missing", ("partial", "fewer_done"), id="one-was-skipped"),
    ],
)
def test_a_command_that_failed_contradicts_that_all_is_done(output: str, verdict: tuple[str, str]) -> None:
    assert against("Load", terminal("./load.sh", output), said=WHOLE) == (*verdict, (2,), WHOLE)


def test_where_a_person_spoke_since_a_command_failed_nothing_is_told() -> None:
    failed = talk("Load", terminal("./load.sh", "ERROR s3: NoSuchKey"), said="It failed.").messages
    claims = ANALYZER.claims(session(*failed, user("I have loaded it"), answer(WHOLE)))
    assert [claim for claim in claims if claim.kind is ClaimKind.ACTION_DONE] == []
