"""The program that gives a command line's exit code, and the meaning of the code.

The code of a line is that of the command that ran last: of a list the last one, of a pipeline the last stage, of
``a && b`` whichever failed. What a variable holds or a condition decides is not worked out; where several commands may
have given the code, it only means what it means for each of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from grader_daemon.analysis.shell.exit_codes import (
    CLOSED_PIPE,
    CODES,
    FOUND_NOTHING_BY_XARGS,
    GOES_ON_AFTER_ERRORS,
    PLAIN_SPOKEN,
    Meaning,
)
from grader_daemon.analysis.shell.families import DEEPEST_NESTING, family_of_program, line_of_shell
from grader_daemon.analysis.shell.known_programs import (
    KEYWORDS,
    LOOP_HEADS,
    SHELLS,
    is_assignment,
    program_name,
    wrapped,
)
from grader_daemon.analysis.shell.tokens import tokens, unquoted
from grader_daemon.domain.analysis import Category

LONGEST_LINE = 8_000
"""Characters; which command of a longer line comes last is not looked for."""

_MOST_PIPELINES = 100
_EXAMINED_ARGUMENTS = 4
_LAST_CODE = re.compile(r"\$\{?(?:\?|PIPESTATUS|pipestatus)")
_GOING_ON = frozenset({"||", ";", "\n", "&"})
_GIVING_WAY = frozenset({"true", ":", "echo", "printf"})


class Program(NamedTuple):
    """A program as it was run: its name without folder and version, its family, and the programs that only ran it."""

    name: str
    family: str
    words: list[str]
    wrappers: tuple[str, ...] = ()

    @property
    def names(self) -> set[str]:
        """Every name under which it may speak of itself."""
        return {self.name, self.family.partition(" ")[0], self.family, *self.wrappers}

    def meaning_of(self, code: int) -> Meaning | Category | None:
        """Return what an exit code of it means, where that is known."""
        for wrapper in self.wrappers:
            if code in CODES.get(wrapper, ()):
                return CODES[wrapper][code]
        if code == FOUND_NOTHING_BY_XARGS and "xargs" in self.wrappers:
            code = 1
        if code == CLOSED_PIPE:
            return Meaning.ANSWER
        for name in self._known_as():
            if code in CODES.get(name, ()):
                return CODES[name][code]
        return None

    def _known_as(self) -> list[str]:
        arguments = [unquoted(word) for word in self.words[1 : 1 + _EXAMINED_ARGUMENTS]]
        names = [f"{self.family} {argument}" for argument in arguments]
        scripts = [argument.rpartition("/")[2] for argument in arguments if not argument.startswith("-")]
        if self.family == "python" and scripts:
            names += [" ".join(scripts[:2]), scripts[0]]
        if self.words[0].endswith("/bin/test") or self.words[0] == "bin/test":
            return [*names, "bin/test"]
        return [*names, self.family]


@dataclass(slots=True)
class Line:
    """A command line. All but `programs` speak of its end.

    `deciders` may have given its exit code; none where it is always 0. `speaker` writes what its output ends with.
    `printed` are those whose exit code its last command prints. `masks`: not every failure shows in its exit code.
    `gives_way`: it goes on when a command fails, and says so (``|| true``). `negates`: its code is that of ``! this``.
    """

    programs: list[Program] = field(default_factory=list)
    deciders: tuple[Program, ...] = ()
    printed: tuple[Program, ...] = ()
    speaker: Program | None = None
    masks: bool = False
    gives_way: bool = False
    negates: bool = False

    def meaning_of(self, code: int) -> Meaning | Category | None:
        """Return what the line's exit code means, if it means the same for every command that may have given it."""
        return Meaning.ANSWER if self.negates and code == 1 else _shared_meaning(self.deciders, code)

    def meaning_of_printed(self, code: int) -> Meaning | Category | None:
        """Return what the exit code means that the line prints at its end."""
        return _shared_meaning(self.printed, code)

    @property
    def names(self) -> set[str]:
        """Every name under which one of its programs may speak of itself."""
        return set().union(*(run.names for run in self.programs))


class _Pipeline(NamedTuple):
    """The words of each stage of a pipeline, what stands before it, and whether it runs in the background."""

    operator: str
    stages: list[list[str]]
    is_left_alone: bool


def read_line(command: str, depth: int = 0) -> Line | None:
    """Read a command line, which is kept for its next reader; None for one that is too long, too deep or empty."""
    return _line_of(command, depth) if len(command) <= LONGEST_LINE and depth <= DEEPEST_NESTING else None


@lru_cache(maxsize=256)
def _line_of(command: str, depth: int) -> Line | None:
    """Read a line when it comes up; its result, an error, what got over it all ask for it, and agents repeat them."""
    pipelines = _Pipelines().of(command)
    if len(pipelines) > _MOST_PIPELINES:
        return None
    reader = _Reader(depth)
    for pipeline in pipelines:
        reader.see(pipeline)
    return reader.line if reader.line.programs else None


class _Pipelines:
    """Cuts a line into its pipelines. Those inside of ``$( )`` count only where nothing but an assignment is around."""

    def __init__(self) -> None:
        self._pipelines: list[_Pipeline] = []
        self._around: list[tuple[list[list[str]], str]] = []
        self._stages: list[list[str]] = [[]]
        self._operator = ";"

    def of(self, line: str) -> list[_Pipeline]:
        """Return the pipelines in their order."""
        is_target = False
        last = ""
        for kind, text in tokens(line):
            if kind == "word":
                if not is_target:
                    self._stages[-1].append(text)
                is_target = False
                last = text
            elif kind == "redirect":
                is_target = True
            elif kind == "pipe":
                self._stages.append([])
            elif kind == "substitution":
                last = text
            else:
                self._see_separator(text, is_inner=last.endswith("$"))
                is_target = False
                last = ""
        self._close(is_left_alone=False)
        return self._pipelines

    def _see_separator(self, text: str, *, is_inner: bool) -> None:
        if text == "(" and is_inner:
            self._around.append((self._stages, self._operator))
            self._stages = [[]]
        elif text == ")" and self._around:
            self._leave()
        elif text in "()":
            self._close(is_left_alone=False)
        else:
            self._close(is_left_alone=text == "&")
            self._operator = text

    def _leave(self) -> None:
        stages, operator = self._around.pop()
        if all(is_assignment(word) for word in stages[-1]):
            self._operator = operator
            self._close(is_left_alone=False)
        self._stages, self._operator = stages, operator

    def _close(self, *, is_left_alone: bool) -> None:
        stages = self._stages
        if len(stages) > 1 or stages[0]:
            self._pipelines.append(_Pipeline(self._operator, stages, is_left_alone))
            self._operator = ";"
        self._stages = [[]]


class _Reader:
    """Reads the pipelines of a line in their order and keeps what is known of its end."""

    def __init__(self, depth: int) -> None:
        self.line = Line()
        self._depth = depth
        self._strict = False
        self._all_stages = False
        self._first_stage: tuple[Program, ...] = ()

    def see(self, pipeline: _Pipeline) -> None:
        """Add the next pipeline."""
        line = self.line
        stages = [_Stage(words, self._depth) for words in pipeline.stages]
        runs = [run for stage in stages for run in stage.runs]
        if not runs:
            return
        self._see_settings(runs[0])
        self._note_masks(pipeline, stages, runs)
        deciding = runs if self._all_stages else list(stages[-1].deciders)
        if pipeline.operator == "&&" or (self._strict and pipeline.operator != "||"):
            deciding = [*line.deciders, *deciding]
        line.printed = line.deciders if _prints_code(runs[-1]) else ()
        if line.printed and "PIPESTATUS" in " ".join(runs[-1].words):
            line.printed = self._first_stage
        line.deciders = () if pipeline.is_left_alone else tuple(deciding)
        line.negates = stages[-1].negates
        line.programs += runs
        if not line.printed:
            line.speaker = runs[0]
            self._first_stage = stages[0].deciders

    def _see_settings(self, run: Program) -> None:
        if run.family == "set":
            options = " ".join(run.words[1:3])
            self._strict = self._strict or bool(re.match(r"-\w{0,8}e", options))
            self._all_stages = self._all_stages or "pipefail" in options

    def _note_masks(self, pipeline: _Pipeline, stages: list[_Stage], runs: list[Program]) -> None:
        line = self.line
        hides = (len(pipeline.stages) > 1 and not self._all_stages) or any(stage.masks for stage in stages)
        goes_on = pipeline.operator in _GOING_ON and bool(line.programs) and not self._strict
        line.masks = line.masks or hides or goes_on or pipeline.is_left_alone or runs[-1].name in GOES_ON_AFTER_ERRORS
        line.gives_way = pipeline.operator == "||" and runs[0].family in _GIVING_WAY


class _Stage:
    """One stage of a pipeline: a program, or the line that a shell was given."""

    def __init__(self, words: list[str], depth: int) -> None:
        self.negates = False
        self.masks = False
        self.runs: tuple[Program, ...] = ()
        self.deciders: tuple[Program, ...] = ()
        words, wrappers = self._unwrapped(words)
        name = program_name(words[0]) if words else ""
        if not name or name in LOOP_HEADS:
            return
        inner = line_of_shell(name, words[1:]) if name in SHELLS else None
        line = read_line(inner, depth + 1) if inner is not None else None
        if line is not None:
            self.runs, self.deciders = tuple(line.programs), line.deciders
            self.masks, self.negates = line.masks, line.negates
        else:
            self.runs = self.deciders = (_program(name, words, wrappers, depth=depth),)

    def _unwrapped(self, words: list[str]) -> tuple[list[str], tuple[str, ...]]:
        wrappers: list[str] = []
        while words:
            if words[0] in KEYWORDS or is_assignment(words[0]):
                self.negates = self.negates or words[0] == "!"
                words = words[1:]
                continue
            inner = wrapped(words)
            if not inner or _asks_for_command(words):
                break
            wrappers.append(program_name(words[0]))
            words = inner
        return words, tuple(wrappers)


def _program(name: str, words: list[str], wrappers: tuple[str, ...], *, depth: int) -> Program:
    is_asked_for = name == "command" and _asks_for_command(words)
    family = f"command {words[1]}" if is_asked_for else family_of_program(words, depth)
    return Program(name, family or name, words, wrappers)


def _asks_for_command(words: list[str]) -> bool:
    return words[0] == "command" and words[1:2] in (["-v"], ["-V"])


def _prints_code(run: Program) -> bool:
    return run.family in ("echo", "printf") and any(_LAST_CODE.search(word) for word in run.words)


def _shared_meaning(deciders: tuple[Program, ...], code: int) -> Meaning | Category | None:
    telling = [run for run in deciders if run.family not in PLAIN_SPOKEN] or list(deciders)
    meanings = {run.meaning_of(code) for run in telling}
    return meanings.pop() if len(meanings) == 1 else None
