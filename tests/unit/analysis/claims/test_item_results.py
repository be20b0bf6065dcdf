"""Commands that say of each item whether it was done."""

from __future__ import annotations

import json

import pytest

from tests.unit.analysis.claims.test_deeds import Call, against

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
