from __future__ import annotations

import pytest

from grader_daemon.domain.setup_changes import SetupChange, SetupKind
from tests.strategies import NOW


@pytest.mark.parametrize("kind", SetupKind)
def test_files_on_disk_show_skills_and_configuration(kind: SetupKind) -> None:
    changed = SetupChange(at=NOW, kind=kind, after="new")
    assert changed.is_of_files is (kind in (SetupKind.SKILL, SetupKind.CONFIGURATION))
