"""Claims against evidence: what the final answer says was done, and what the record of tool calls says of that."""

from grader_daemon.analysis.claims.evidence import Note
from grader_daemon.analysis.claims.verify import verify_claims

__all__ = ["Note", "verify_claims"]
