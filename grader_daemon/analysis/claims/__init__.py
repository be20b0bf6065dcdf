"""Claims against evidence: what the final answer says was done, and what the record of tool calls says of that."""

from grader_daemon.analysis.claims.evidence import CallRecord, Note
from grader_daemon.analysis.claims.test_runs import last_passed
from grader_daemon.analysis.claims.verify import verify_claims

__all__ = ["CallRecord", "Note", "last_passed", "verify_claims"]
