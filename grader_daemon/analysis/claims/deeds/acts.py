"""The calls of a session that were there to change something, and what came of each by its result.

A tool whose name is not known may do anything, but if its answer tells more than it was given, and nothing of a deed,
it only looked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Final

from grader_daemon.analysis.claims.deeds.call_answers import Answered, answered, answered_by_shell
from grader_daemon.analysis.claims.deeds.deed_words import is_communication, stems_of, word_set
from grader_daemon.analysis.claims.deeds.literals import Literal, LiteralKind, literals_of
from grader_daemon.analysis.claims.evidence import ClaimEvidence, ToolRun, only_looks
from grader_daemon.analysis.tool_calls import CHANGING, HARMLESS, Purpose, tool_of
from grader_daemon.domain.late_pattern import late_pattern

_READ_ARGUMENTS: Final = 3_000
_READ_RESULT: Final = 4_000
_READ_OUTPUT: Final = 3_000
_SQL_REACH: Final = 120
_LONG_LOOK: Final = 120
_LOOKING_WORDS: Final = word_set(
    """
    buscar leer ver consultar listar obtener chercher rechercher lire voir lister consulter suchen lesen zeigen holen
    lookup explain validate verify test free freebusy availability pricing browse summarize compare analyze track
    inspect dupes info whoami metrics history log logs rooms policy details watch schema preview scan retrieve goto
    scroll open interrupt wait continue
    """
)
_LOOKING_ENDS: Final = ("_log", "_history", "_list", "_status", "_info", "_details", "_lookup", "_search", "_get")
_CHECKING: Final = word_set("validation check checks test tests smoke scan lint report audit query")
_CHANGING_WORDS: Final = word_set("add set write create send log book schedule update delete remove post cancel")
_TOLD: Final = late_pattern(r'"(?:tool|action|method|operation|op)" ?: ?"(\w{2,40})"')
_QUERY: Final = late_pattern(r'"(?:sql|q|query|statement|soql|args|cmd|command)" ?: ?"((?:[^"\\]|\\.){0,2000})')
_SELECTS: Final = late_pattern(r"[\s(]{0,20}(?:select|explain|show|describe|with)\b", re.IGNORECASE)
_CHANGES_SQL: Final = late_pattern(
    r"\b(?:insert into|update \w{1,40} set|delete from|alter table|(?:create|drop) (?:table|index|view|unique|column)"
    r"|truncate|merge into|begin\b|commit\b|vacuum)",
    re.IGNORECASE,
)
_LISTS: Final = late_pattern(
    r"\s{0,20}(?:sudo |kubectl |crontab |helm |git |docker |systemctl |gh \w{2,9} |terraform "
    r"|(?:-n|--namespace) \S{1,40} ){0,4}(?:get|describe|logs|list|status|show|top|history|-l|ps|images|diff|log|view"
    r"|plan|rollout (?:history|status))\b"
)
_PARTS: Final = late_pattern(r"&&|\|\||[|;\n]")
_WRITES_CODE: Final = late_pattern(
    r"\bopen\(|\bto_\w+\(|\.save|\bsave\w*\(|write|dump|shutil|\bos\.|subprocess|\bPath\(|requests|commit|execute"
    r"|\.post\(|\.put\(|insert|update|delete|remove|create|send|migrate|credit|apply"
    r"|import (?!pandas|numpy|math|re\b|json|csv|datetime)"
)
_DRAFTING: Final = word_set("draft preview simulate dryrun render estimate propose compose brouillon")
_MAY_BE_DRAFT: Final = late_pattern(r"draft|dry|preview|simulat|validate|false")
_DRAFT_ARGUMENTS: Final = late_pattern(
    r'"(?:dry_?run|preview|draft|simulate|validate_only|is_draft)" ?: ?true'
    r'|"(?:publish|send|commit|save|submit|apply|persist|execute|confirm)" ?: ?false'
    r'|"(?:mode|status|state|action)" ?: ?"(?:draft|preview|dry[_-]?run|simulate)"|--dry-run'
)
_FINISHING: Final = word_set(
    "send save submit checkout confirm commit apply publish place finalize execute approve release pay book"
)
_QUIET: Final = late_pattern(
    r'"(?:send_?updates|notify\w{0,12}|send_?notifications?|send_?invites?|silent)" ?: ?(?:"none"|false)'
)
_GUESTS: Final = late_pattern(
    r'"(?:attendees|guests|participants|invitees|recipients|to|cc|notify\w{0,12}|send_\w{3,14})" ?:'
)
_MAY_BE_DONE: Final = late_pattern(
    r"timed[ -]?out|time-?out|still (?:be )?running|\balready (?:exists?|done|cancell?ed)\b"
)
_TEXT: Final = late_pattern(r'": ?"([^"\\]{30,400})"')
_NO_KIND: Final = word_set("mcp api tool create update set add get post put do run")
_TARGETS: Final = (LiteralKind.ADDRESS, LiteralKind.ID)


class Act:
    """One call that may have changed something."""

    def __init__(self, run: ToolRun) -> None:
        self.run = run

    @property
    def index(self) -> int:
        """Place of its result."""
        return self.run.index

    @cached_property
    def is_shell(self) -> bool:
        """True if a shell or an interpreter was given a command; a query of a database is none."""
        is_run = bool(self.run.command) or self.run.purpose is Purpose.RUN
        return is_run and not _CHANGES_SQL.search(self.run.arguments[:_SQL_REACH])

    @property
    def edits(self) -> bool:
        """True if an editor was given a file."""
        return bool(self.run.paths) and not self.is_shell

    @cached_property
    def communicates(self) -> bool:
        """True if it tells something to a person, or names guests."""
        return is_communication(self.run.words) or _GUESTS.search(self.arguments) is not None

    @cached_property
    def texts(self) -> frozenset[str]:
        """The long texts that it was given: the same one to another address is another try."""
        return frozenset(_TEXT.findall(self.arguments[:_READ_ARGUMENTS]))

    @cached_property
    def is_quiet(self) -> bool:
        """True if it was told to tell nobody."""
        return _QUIET.search(self.arguments) is not None

    @cached_property
    def arguments(self) -> str:
        """Its arguments in lower case."""
        return self.run.arguments[:_READ_ARGUMENTS].replace("\\n", "\n").lower()

    @cached_property
    def result(self) -> str:
        """The end of its result in lower case."""
        return self.run.ending(_READ_RESULT).lower()

    @cached_property
    def given(self) -> tuple[Literal, ...]:
        """The literals that it was given."""
        return literals_of(self.arguments)

    @cached_property
    def stems(self) -> frozenset[str]:
        """Stems of the words of its tool, and of what it was given."""
        return stems_of(" ".join(self.run.words)) | stems_of(self.arguments)

    @cached_property
    def answered(self) -> Answered:
        """Signs in its result; in a command's output only those that surely are no part of its data."""
        return (
            answered_by_shell(self.result[-_READ_OUTPUT:]) if self.is_shell else answered(self.run.ending(_READ_RESULT))
        )

    @cached_property
    def is_denied(self) -> bool:
        """True if it was not done. What nobody waited for to its end may have been done, or was done before."""
        if _MAY_BE_DONE.search(self.result):
            return False
        return self.answered.is_denied or (self.run.worked is False and not self.is_in_part)

    @property
    def is_in_part(self) -> bool:
        """True if a part of it was not done."""
        return self.answered.is_in_part

    @cached_property
    def is_drafted(self) -> bool:
        """True if it was only drafted, previewed or tried."""
        if _MAY_BE_DRAFT.search(self.arguments) and _DRAFT_ARGUMENTS.search(self.arguments):
            return True
        words = self.run.words
        return bool(self.answered.drafts) or not (_DRAFTING.isdisjoint(words) or not _FINISHING.isdisjoint(words))

    @cached_property
    def is_done(self) -> bool:
        """True if nothing says that it was not done."""
        return not (self.is_denied or self.is_drafted)

    @property
    def finishes(self) -> bool:
        """True if it is there to send, save or submit what was drafted."""
        return self.is_shell or not _FINISHING.isdisjoint(self.run.words)


class Acts:
    """The acts of a session, in their order, and its looks."""

    def __init__(self, evidence: ClaimEvidence) -> None:
        self._evidence = evidence

    @cached_property
    def all(self) -> Sequence[Act]:
        """The acts."""
        return [Act(run) for run in self._evidence.runs if not _looks(run)]

    @cached_property
    def looks(self) -> Sequence[ToolRun]:
        """The calls that only look."""
        acts = {act.index for act in self.all}
        return [run for run in self._evidence.runs if run.index not in acts]

    @cached_property
    def of_tools(self) -> Sequence[Act]:
        """Those of tools that are made for it: neither commands nor edits."""
        mine = [act for act in self.all if not (act.is_shell or act.edits)]
        return [act for act in mine if act.run.purpose is not Purpose.WRITE] if self.has_shell else mine

    @cached_property
    def has_shell(self) -> bool:
        """True if any was a command, which may have done anything."""
        return any(act.is_shell for act in self.all)

    @cached_property
    def unmended(self) -> Sequence[Act]:
        """Those that were not done, in part or at all, and that none after them may have done.

        Edits are none, nor are commands but the last one: another may have done anything.
        """
        found: list[Act] = []
        later: list[Act] = []
        for act in reversed(self.all):
            is_open = act in self.of_tools or (act.is_shell and not any(each.is_shell or each.edits for each in later))
            is_failed = is_open and (act.is_denied or act.is_in_part)
            if is_failed and not any(_mends(each, act) for each in later) and not self._is_shown_done(act):
                found.append(act)
            if not is_open or act.is_done:
                later.append(act)
        return found[::-1]

    def _is_shown_done(self, act: Act) -> bool:
        """Return whether a later look shows a value that the act was given, and that no look showed before."""
        before = " ".join(run.ending(_READ_RESULT).lower() for run in self.looks if run.index < act.index)
        told = [each.text for each in act.given if each.text not in before and each.kind is not LiteralKind.ID]
        later = [run for run in self.looks if run.index > act.index] if told else []
        return any(text in _shown_by(run) for run in later for text in told)


def _shown_by(look: ToolRun) -> str:
    """Return what a look shows, without what it was given."""
    given, shown = look.arguments.lower(), look.ending(_READ_RESULT).lower()
    return " ".join(part for part in shown.split() if part.strip('",{}[]') not in given)


def _mends(later: Act, failed: Act) -> bool:
    """Return whether an act may have done what one before it could not: the same, or of any other tool of its kind."""
    if later.is_shell or failed.is_shell:
        return True
    if later.communicates != failed.communicates:
        return False
    if later.run.words == failed.run.words:
        return not _is_of_another(later, failed) or not later.texts.isdisjoint(failed.texts)
    shared = (later.run.words & failed.run.words) - _NO_KIND
    return bool(shared) or len(later.stems & failed.stems) > 1 or not _is_of_another(later, failed)


def _is_of_another(later: Act, failed: Act) -> bool:
    """Return whether two acts name no thing in common: a call for each of several."""
    mine, others = _targets(failed) or failed.given, _targets(later) or later.given
    readings = {reading for each in mine for reading in each.readings}
    return bool(mine and others) and all(each.readings.isdisjoint(readings) for each in others)


def _targets(act: Act) -> list[Literal]:
    """Return the addresses and ids that an act was given."""
    return [each for each in act.given if each.kind in _TARGETS]


def _looks(run: ToolRun) -> bool:
    """Return whether a call only looks, by the name of its tool or by what it was given and answered."""
    if run.command:
        return _WRITES_CODE.search(run.command) is None if run.is_code else _only_lists(run.command)
    if run.purpose in CHANGING:
        return run.tool.lower().endswith(_LOOKING_ENDS) or _is_told_to_look(run)
    asked = _asks_only(run)
    if asked is not None:
        return asked
    if run.changes_nothing:
        return _CHANGING_WORDS.isdisjoint(run.words)
    return _is_told_to_look(run) or names_a_look(run) or (run.purpose is Purpose.UNKNOWN and _tells_more(run))


def _asks_only(run: ToolRun) -> bool | None:
    """Return whether a query or a command line that a tool of its own was given only looks; None without one."""
    query = _QUERY.search(run.arguments, 0, _READ_ARGUMENTS)
    if query is None:
        return None
    if _CHANGES_SQL.match(query[1].lstrip()):
        return False
    return True if _SELECTS.match(query[1]) or _LISTS.match(query[1]) else None


def _is_told_to_look(run: ToolRun) -> bool:
    """Return whether a tool of several was told to do what only looks."""
    told = _TOLD.search(run.arguments, 0, _READ_ARGUMENTS)
    return told is not None and tool_of(told[1]).purpose in HARMLESS


def names_a_look(run: ToolRun) -> bool:
    """Return whether the name of a tool of which is not known what it is for has a word for looking or checking."""
    if run.purpose is Purpose.RUN:
        return not _CHECKING.isdisjoint(run.words)
    is_look = not _LOOKING_WORDS.isdisjoint(run.words) and _CHANGING_WORDS.isdisjoint(run.words)
    return is_look or run.tool.lower().endswith(_LOOKING_ENDS)


def _only_lists(command: str) -> bool:
    """Return whether every program of a command line only lists, or looks."""
    if only_looks(command):
        return True
    parts = [part for part in _PARTS.split(command) if part.strip()]
    return ">" not in command and all(_LISTS.match(part) or only_looks(part) for part in parts)


def _tells_more(run: ToolRun) -> bool:
    """Return whether a call of an unknown tool was given little, and answered with more, and nothing of a deed."""
    result = run.ending(_READ_RESULT)
    if run.arguments.count('":') > 1 or len(run.arguments) > min(_LONG_LOOK, len(result)):
        return False
    said = answered(result)
    return not (said.denied or said.done or said.drafts)
