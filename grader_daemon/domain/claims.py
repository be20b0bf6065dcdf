"""Claims of an agent about its own work, and their support in the record of its tool calls."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class ClaimKind(StrEnum):
    """Kind of deed or result that is claimed."""

    FILE_WRITTEN = "file_written"
    TESTS_PASSED = "tests_passed"
    COMMAND_RAN = "command_ran"
    BUG_FIXED = "bug_fixed"
    SENT = "sent"
    COMMITTED = "committed"
    DEPLOYED = "deployed"
    INSTALLED = "installed"


class Support(StrEnum):
    """Result of checking a claim against the record: verified, unsupported or contradicted."""

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
