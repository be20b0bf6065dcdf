from __future__ import annotations

import pytest

from tests.tables import for_each
from tests.unit.analysis.claims.test_tests_claims import edit, says
from tests.unit.analysis.claims.test_verify import OK, Step, read, shell, step, weighed, write

NEW_TEST = "def test_one():\n    assert f(1) == 1\n"
TWO_MORE = "def test_two():\n    pass\n\ndef test_three():\n    pass\n"
ONE = edit("tests/test_a.py", "# end", f"{NEW_TEST}# end")
TWO = edit("tests/test_a.py", "# end", f"{TWO_MORE}# end")


def support(said: str, *steps: Step, kind: str) -> list[str]:
    return [found[1] for found in weighed(said, *steps) if found[0] == kind]


@for_each(
    ("said", "steps", "expected"),
    [
        pytest.param("I added 3 tests.", [ONE, TWO], "verified", id="as-many"),
        pytest.param("I added three unit tests.", [TWO], "partial", id="fewer"),
        pytest.param("Added a regression test for it.", [ONE], "verified", id="without-a-subject"),
        pytest.param("I wrote tests for it.", [ONE], "verified", id="without-a-number"),
        pytest.param("I added 3 tests.", [read("tests/test_a.py"), shell("pytest")], "contradicted", id="none"),
        pytest.param("Added 3 tests.", [read("tests/test_a.py")], "unsupported", id="perhaps-by-others"),
        pytest.param("I added 3 tests.", [shell("python gen.py")], "unsupported", id="perhaps-by-a-program"),
        pytest.param("I added 3 tests.", [ONE, shell("python gen.py")], "unsupported", id="fewer-and-perhaps-others"),
        pytest.param(
            "I added 3 tests.",
            [edit("tests/test_a.py", "#", "@pytest.mark.parametrize('n', [1, 2, 3])\ndef test_n(n): ...")],
            "unsupported",
            id="one-over-a-table",
        ),
        pytest.param(
            "I added 2 tests.", [shell(f"cat > tests/test_n.py <<'EOF'\n{TWO_MORE}EOF")], "verified", id="here"
        ),
        pytest.param("I added 2 tests.", [ONE, ONE], "partial", id="the-same-one-twice"),
        pytest.param("You should add 2 tests.", [ONE], None, id="advice"),
        pytest.param("No tests were added.", [ONE], None, id="denied"),
        pytest.param("I have not added 2 tests.", [ONE], None, id="denied-with-a-number"),
    ],
)
def test_tests_that_were_added_stand_in_the_edits(said: str, steps: list[Step], expected: str | None) -> None:
    assert support(said, *steps, kind="tests_added") == ([] if expected is None else [expected])


A, B = edit("src/a.py", "x = 1", "x = 2"), edit("src/b.py", "x = 1", "x = 2")
ONLY_A = "I changed `src/a.py`. No other files were changed."


@for_each(
    ("said", "steps", "expected"),
    [
        pytest.param(ONLY_A, [A], "verified", id="only-that"),
        pytest.param(ONLY_A, [A, B], "contradicted", id="another-was-changed"),
        pytest.param(ONLY_A, [A, write("src/new.py")], "unsupported", id="another-was-made"),
        pytest.param(ONLY_A, [A, write("new.py"), shell("rm new.py")], "unsupported", id="removed-again-by-a-command"),
        pytest.param(ONLY_A, [A, shell("pytest", says("1 passed in 1s")), shell("git diff")], "verified", id="checked"),
        pytest.param(ONLY_A, [A, shell("python gen.py")], "unsupported", id="a-program-may-have"),
        pytest.param(ONLY_A, [A, step("magic", OK)], "unsupported", id="a-tool-may-have"),
        pytest.param("No other files were changed.", [A], "unsupported", id="none-is-named"),
        pytest.param("I changed `src/a.py`; nothing else was touched.", [A, B], "contradicted", id="in-other-words"),
        pytest.param('The log says "no other files were changed".', [A], None, id="quoted"),
        pytest.param("Were no other files changed?", [A], None, id="asked"),
    ],
)
def test_nothing_else_was_changed(said: str, steps: list[Step], expected: str | None) -> None:
    assert support(said, *steps, kind="nothing_else_changed") == ([] if expected is None else [expected])
