from __future__ import annotations

import re
from inspect import cleandoc

from grader_daemon.domain.grade import Grade
from grader_daemon.storage.sqlite.rows import DETAIL_COLUMNS, GRADE_COLUMNS

KEPT_OTHERWISE = {"error_rate", "failures", "signals_from_people"}
"""A quotient of others, rows of a table of their own, and what stands in the column `people`."""


def test_every_field_is_explained() -> None:
    assert Grade.__doc__ is not None
    explained = re.findall(r"^    (\w+): \S", cleandoc(Grade.__doc__), re.MULTILINE)
    assert explained == list(Grade.__struct_fields__)


def test_every_field_is_kept() -> None:
    columns = {*GRADE_COLUMNS, *DETAIL_COLUMNS}
    assert set(Grade.__struct_fields__) - columns == KEPT_OTHERWISE
