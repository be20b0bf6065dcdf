from __future__ import annotations

import re

from grader_daemon.domain.grade import Grade


def test_every_field_is_explained() -> None:
    assert Grade.__doc__ is not None
    explained = re.findall(r"^        (\w+): \S", Grade.__doc__, re.MULTILINE)
    assert explained == list(Grade.__struct_fields__)
