"""The program that a shell command runs, so that its failures can be told from those of other programs.

An agent's command is a line of a person at a terminal: it changes to a folder, sets variables, wraps what it wants into
`timeout` and `sudo` and cuts the output. The family names the program in the middle of all that, with its subcommand.
Not a shell: what a variable holds or a condition decides is not worked out.
"""

from __future__ import annotations

from functools import lru_cache

from grader_daemon.analysis.shell.known_programs import (
    ALIASES,
    INLINE,
    LOOP_HEADS,
    NO_VALUES,
    PYTHONS,
    SHELLS,
    SUBCOMMAND,
    SUBCOMMANDS,
    after_options,
    program_name,
    without_wrappers,
)
from grader_daemon.analysis.shell.tokens import EXAMINED_CHARACTERS, Simple, pipelines, unquoted
from grader_daemon.domain.text import clean

_LONGEST_FAMILY = 40
DEEPEST_NESTING = 3

_PREPARATIONS = frozenset(
    {"cd", "pushd", "popd", "source", ".", "export", "set", "unset", "shopt", "alias", "declare", "local", "readonly"}
    | {"typeset", "umask", "ulimit", "trap", "mkdir", "sleep", "wait", "echo", "printf", "true", ":", "clear", "pwd"}
    | {"date", "test", "[", "[[", "exit", "return", "read", "continue", "break", "apt update", "git add", "git fetch"}
)
"""Program for what comes after them; they are the family only when nothing else stands in the command."""

_SETTINGS = frozenset({"cd", "pushd", "popd", "source", ".", "export", "set", "unset", "shopt", "true", ":"})
"""Preparations that leave nothing behind when the shell has ended."""

_FEEDERS = frozenset({"cat", "echo", "printf", "yes", "true", ":", "head", "tail", "less", "more", "wc", "tee", "sort"})
"""Programs at the ends of a pipeline for the sake of its middle."""


def command_family(command: str) -> str | None:
    """Name the program that a shell command runs, with its subcommand: "git push".

    Of a pipeline it is the first stage that does more than to feed or to cut, of a list the first command that does
    more than to prepare. At most 40 printable characters; None when it runs none.
    """
    return _family_of_command(command[:EXAMINED_CHARACTERS])


@lru_cache(maxsize=256)
def _family_of_command(command: str) -> str | None:
    family = _family_of_line(command, 0)
    return clean(family)[:_LONGEST_FAMILY].strip() or None if family else None


def _family_of_line(line: str, depth: int) -> str | None:
    if depth > DEEPEST_NESTING:
        return None
    spare: str | None = None
    for pipeline in pipelines(line):
        family, writes = _family_of_pipeline(pipeline, depth)
        if family and not (family in _PREPARATIONS or (writes and family == "cat")):
            return family
        if spare is None or (spare in _SETTINGS and family not in _SETTINGS):
            spare = family or spare
    return spare


def _family_of_pipeline(stages: list[Simple], depth: int) -> tuple[str | None, bool]:
    spare: tuple[str | None, bool] = None, False
    for stage in stages:
        family = family_of_words(stage.words, depth)
        if family and family not in _FEEDERS:
            return family, stage.writes
        if spare[0] is None:
            spare = family, stage.writes
    return spare


def family_of_words(words: list[str], depth: int = 0) -> str | None:
    """Name the program that words run, with its subcommand."""
    words = without_wrappers(words)
    return family_of_program(words, depth) if words else None


def family_of_program(words: list[str], depth: int = 0) -> str | None:
    """Name the program that words begin with, none that only runs another one, with its subcommand."""
    name = program_name(words[0])
    if name in LOOP_HEADS:
        return None
    if name in SHELLS:
        return _family_in_shell(name, words[1:], depth)
    if name in PYTHONS:
        return _family_in_python(words[1:], depth)
    if name in SUBCOMMANDS:
        rest = after_options(words[1:], SUBCOMMANDS[name])
        if rest and SUBCOMMAND.fullmatch(unquoted(rest[0])):
            verb = unquoted(rest[0])
            return f"{name} {ALIASES.get(f'{name} {verb}', verb)}"
    return name


def _family_in_shell(shell: str, arguments: list[str], depth: int) -> str | None:
    """Look into a command given to a shell; a script is named as if it were run by itself."""
    inner = line_of_shell(shell, arguments)
    if inner is not None:
        return _family_of_line(inner, depth + 1) or shell
    script = after_options(arguments, NO_VALUES)
    return program_name(script[0]) if script and shell != "su" else shell


def line_of_shell(shell: str, arguments: list[str]) -> str | None:
    """Return the command line that a shell is told to run, None when it runs a script."""
    if shell == "eval":
        return " ".join(map(unquoted, arguments))
    for index, argument in enumerate(arguments[:-1]):
        if INLINE.fullmatch(argument):
            return " ".join(map(unquoted, arguments[index + 1 :]))
    return None


def _family_in_python(arguments: list[str], depth: int) -> str | None:
    for index, argument in enumerate(arguments[:-1]):
        if argument == "-m" and depth <= DEEPEST_NESTING:
            return family_of_words(arguments[index + 1 :], depth + 1)
        if not argument.startswith("-") or argument in ("-c", "-"):
            break
    return "python"
