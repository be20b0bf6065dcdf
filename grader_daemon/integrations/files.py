"""Files that are left for other programs: whole or not at all, for their owner alone, no link followed."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def replace_file(path: Path, content: str) -> None:
    """Replace a file in one step; a link that is there is replaced, what it leads to stays.

    Raises:
        OSError: it cannot be written there.
    """
    descriptor, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as written:
            written.write(content)
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise
