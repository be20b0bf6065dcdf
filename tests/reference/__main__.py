"""Write what docs/ and config/ have from the code anew: ``python -m tests.reference``."""

from __future__ import annotations

import sys

from tests.reference.pages import ROOT, leftover, written


def main() -> None:
    """Write each file that is not as the code has it, and name it."""
    for path, text in written().items():
        if not path.exists() or path.read_text("utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
            sys.stdout.write(f"{path.relative_to(ROOT)} is written.\n")
    for path in leftover():
        path.unlink()
        sys.stdout.write(f"{path.relative_to(ROOT)} is removed.\n")


if __name__ == "__main__":
    main()
