from __future__ import annotations

from grader_daemon.analysis.shell.exit_codes import CODES
from tests.calls import family_in


def test_codes_are_not_nought_and_fit_in_a_byte() -> None:
    assert all(0 < code < 256 for codes in CODES.values() for code in codes)


def test_every_program_is_one_that_a_command_can_be_of() -> None:
    written = {"bin/test": "bin/test", "command -v": "command -v", "command -V": "command -V"}
    for name in CODES:
        family = family_in({"command": name})
        assert name in written or family is not None, name
        assert name in written or name.split()[0] in (family or "") or name.startswith("gradlew"), name
