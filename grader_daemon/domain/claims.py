"""What an agent says that it did, and what the record of its tool calls says of that."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class ClaimKind(StrEnum):
    """What is claimed."""

    FILE_WRITTEN = "file_written"
    TESTS_PASSED = "tests_passed"
    COMMAND_RAN = "command_ran"
    BUG_FIXED = "bug_fixed"
    SENT = "sent"
    COMMITTED = "committed"
    DEPLOYED = "deployed"
    INSTALLED = "installed"


class Support(StrEnum):
    """What the record says: it shows it, it shows nothing of it, it shows the opposite."""

    VERIFIED = "verified"
    UNSUPPORTED = "unsupported"
    CONTRADICTED = "contradicted"


class Claim(msgspec.Struct, frozen=True, gc=False):
    """One claim of a final answer.

    `subject` is what it is about (a file, a package), redacted, None when it names nothing. `index` is the message that
    claims it, `evidence` are the messages that speak for or against it, both positions in `Session.messages`.
    """

    kind: ClaimKind
    support: Support
    subject: str | None
    index: int
    evidence: tuple[int, ...] = ()
