"""Shell commands: which program a line runs, and what its exit code says of it.

An agent's command is a line of a person at a terminal. It is cut into words, never run.
"""

from grader_daemon.analysis.shell.exit_codes import LOOKING, PLAIN_SPOKEN, Meaning
from grader_daemon.analysis.shell.failure_output import is_complaint, is_quoting, masked_failure, printed_code
from grader_daemon.analysis.shell.families import command_family
from grader_daemon.analysis.shell.known_programs import program_name
from grader_daemon.analysis.shell.lines import Line, Program, read_line
from grader_daemon.analysis.shell.tokens import EXAMINED_CHARACTERS, as_command, broken_command, unquoted

__all__ = [
    "EXAMINED_CHARACTERS",
    "LOOKING",
    "PLAIN_SPOKEN",
    "Line",
    "Meaning",
    "Program",
    "as_command",
    "broken_command",
    "command_family",
    "is_complaint",
    "is_quoting",
    "masked_failure",
    "printed_code",
    "program_name",
    "read_line",
    "unquoted",
]
