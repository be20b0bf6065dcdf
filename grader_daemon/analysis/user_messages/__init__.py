"""What people wrote: who of those in the user's role is one, what they asked for, and what they said of the work."""

from grader_daemon.analysis.user_messages.persons import said_by_person
from grader_daemon.analysis.user_messages.requests import digest_of, summarize
from grader_daemon.analysis.user_messages.signals import Heard, SignalReader
from grader_daemon.analysis.user_messages.task_types import TaskTypes

__all__ = ["Heard", "SignalReader", "TaskTypes", "digest_of", "said_by_person", "summarize"]
