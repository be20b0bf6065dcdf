"""Claims against evidence: what the final answer says was done, and what the record of tool calls says of that."""

from grader_daemon.analysis.claims.evidence import Note, ToolRun
from grader_daemon.analysis.claims.test_runs import TestsResult, is_test_run, passed
from grader_daemon.analysis.claims.verify import verify_claims

__all__ = ["Note", "TestsResult", "ToolRun", "is_test_run", "passed", "verify_claims"]
