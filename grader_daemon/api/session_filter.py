"""Filters of sessions: one table, of which options, the form of the page and the parameters of its API are made.

A new filter is one line of `FILTERS`, for all three of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import Enum, StrEnum, auto
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from grader_daemon.domain.analysis import ErrorName, SessionState
from grader_daemon.domain.calendar import read_since
from grader_daemon.domain.claims import Support
from grader_daemon.domain.rollup import Dimension
from grader_daemon.domain.session import SessionKind
from grader_daemon.domain.session_result import STANDING_WORDS, EndingKind, ResultStanding
from grader_daemon.domain.verdict import Outcome, VerdictBy
from grader_daemon.domain.work_fate import WorkFate
from grader_daemon.errors import InputError
from grader_daemon.storage.records import GradeFilter, SortKey

_MOST_DAYS: Final = 100_000
_LONGEST_SHOWN: Final = 60
_BY_GUESS: Final = "Only sessions whose task counts as {}, even if the verdict is unsure."
_BY_PERSON: Final = "Only sessions that a person has labelled."
_SHOWN_RESULTS: Final = {words.replace(" ", "_"): standing.value for standing, words in STANDING_WORDS.items()}


class Text(Enum):
    """Kind of text that a filter takes."""

    PLAIN = auto()
    DAYS = auto()
    MOMENT = auto()
    ISSUE = auto()


class Filter(NamedTuple):
    """A filter of sessions: its name, which is also that of its field of `GradeFilter`, and what it takes.

    That is one of some values, a name of a dimension, or a text; for a flag, the fields that it sets stand there.
    `help` is of the prompt's option, which has the same name unless `option` says another; without it the prompt has
    none. `title` stands in the page's form; without it neither addresses nor the API know the filter. `example` is
    shown in a field that is empty. `also` are other words for its values, such as those that tables show.
    """

    name: str
    takes: type[StrEnum] | Dimension | Text | Mapping[str, Any]
    help: str
    title: str
    option: str = ""
    example: str = ""
    also: Mapping[str, str] = MappingProxyType({})

    @property
    def word(self) -> str:
        """Name of the filter at the prompt and in a line."""
        return self.option or self.name

    @property
    def choices(self) -> tuple[str, ...]:
        """Values to choose from."""
        return tuple(each.value for each in self.takes) if isinstance(self.takes, type) else ()

    @property
    def is_flag(self) -> bool:
        """True if it is given or not, and says no more."""
        return isinstance(self.takes, Mapping)


FILTERS: Final = (
    Filter("days", Text.DAYS, "", "last days"),  # the prompt has -d and --since, as commands on other things have
    Filter("since", Text.MOMENT, "", "since", example="12h, 2026-11-01"),
    Filter(
        "until",
        Text.MOMENT,
        "Only sessions before this time: 12h, 7d, 2w or 2026-11-01.",
        "until",
        example="7d, 2026-11-08",
    ),
    Filter("state", SessionState, "Only sessions in this state.", "state", also={"ended": SessionState.COMPLETE.value}),
    Filter("task_type", Dimension.TASK_TYPE, "Only sessions of this task type.", "task type"),
    Filter("agent", Dimension.AGENT, "Only sessions of this agent, such as claude-code.", "agent"),
    Filter("model", Dimension.MODEL, "Only sessions of this model; a part of its name is enough.", "model"),
    Filter("platform", Dimension.PLATFORM, "Only sessions on this platform.", "platform"),
    Filter("project", Dimension.PROJECT, "Only sessions that worked in this folder.", "project"),
    Filter(
        "kind",
        SessionKind,
        "Only sessions of this kind; a person starts sessions of the kind main.",
        "begun as",
        also={"scheduled": SessionKind.CRON.value},
    ),
    Filter("job", Dimension.JOB, "Only runs of this scheduled job, by its key.", "scheduled job"),
    Filter("host", Dimension.HOST, "Only sessions on this machine of a fleet (many machines).", "host"),
    Filter("user", Dimension.USER, "Only sessions on this user's machines in a fleet (many machines).", "user"),
    Filter("tool", Dimension.TOOL, "Only sessions that called this tool.", "tool"),
    Filter("error", ErrorName, "Only sessions with an error of this category or finer kind.", "failure"),
    Filter(
        "issue", Text.ISSUE, "Only sessions with this error group; the beginning of its id is enough.", "error issue"
    ),
    Filter("claim", Support, "Only sessions with a claim that is verified, unsupported or contradicted.", "claim"),
    Filter("verdict", Outcome, "Only sessions with this verdict.", "verdict", also={"failed": Outcome.NOT_DONE.value}),
    Filter("ending", EndingKind, "Only sessions that ended this way.", "ending"),
    Filter(
        "standing",
        ResultStanding,
        "Only sessions whose result has this evidence, such as checked or contradicted.",
        "result",
        option="result",
        also={"failed_check": ResultStanding.CHECK_FAILED.value, **_SHOWN_RESULTS},
    ),
    Filter(
        "outcome", WorkFate, "Only sessions whose work in git had this fate, such as reverted or kept.", "work in git"
    ),
    Filter("completed", {"completed": True}, _BY_GUESS.format("done"), ""),
    Filter("not_completed", {"completed": False}, _BY_GUESS.format("not done"), ""),
    Filter("unsure", {"unsure": True}, "Only unsure sessions.", ""),
    Filter("person", {"verdict_by": VerdictBy.PERSON}, _BY_PERSON, "labelled by a person"),
    Filter("text", Text.PLAIN, "Only sessions whose task contains these words.", "asked for", option="search"),
)
"""All filters, in the order of the prompt's help."""

ORDER: Final = (
    Filter("sort", SortKey, "Sort by this column, the highest value first.", "sorted by"),
    Filter("reverse", {"lowest_first": True}, "Sort the lowest value first.", "lowest first"),
)
"""Filters that leave nothing out: they say what stands first."""


_WORST: Final = Filter(
    "worst", {"sort": SortKey.WORST}, "Show likely failures first, each with its reason; the same as --sort worst.", ""
)


def _place(asked: Filter) -> int:
    """Return where a filter stands in an address, whose parameters have an order that programs may know."""
    match asked.takes:
        case Text.ISSUE:
            return 4
        case dict():
            return 3
        case Text.DAYS | Text.MOMENT:
            return 2
        case type():
            return 3 if asked.takes is Outcome else 1
    return 0


EVERY: Final = (*FILTERS, *ORDER, _WORST)
"""What a line of filters may say, and an option."""

PROMPTED: Final = (*(each for each in FILTERS if each.help), *ORDER, _WORST)
"""What the prompt has an option for."""

ADDRESSED: Final = (*sorted((each for each in FILTERS if each.title), key=_place), *ORDER)
"""What an address, or a question to the API, may say of sessions."""

NAMED: Final = tuple(each.takes for each in FILTERS if isinstance(each.takes, Dimension) and each.name != "project")
"""Dimensions of which a filter takes a name that sessions must have."""


class Home(NamedTuple):
    """Answers of a home on what a filter says: when a span begins, which issue has an id that begins so, and all names.

    Names are those of the groups of a dimension.
    """

    begin_of: Callable[[float | timedelta | datetime], datetime]
    find_issue: Callable[[str], str]
    names: Callable[[Dimension], Sequence[str]]


def filter_of(filters: Iterable[Filter], given: Mapping[str, str], home: Home) -> GradeFilter:
    """Return the filter that is given, by the names of `filters`; what is none of them is passed over.

    Raises:
        InputError: something in it cannot be asked for; the text says what can.
    """
    fields: dict[str, Any] = {}
    for each in filters:
        if each.name in given:
            fields |= _fields(each, given[each.name], home)
    return GradeFilter(**fields)


def _fields(asked: Filter, given: str, home: Home) -> Mapping[str, Any]:
    match asked.takes:
        case dict(fields):
            return fields
        case type() as kind:
            return {asked.name: _one_of(kind, asked.name, given)}
        case Text.DAYS:
            return {"since": home.begin_of(_days(asked.name, given))}
        case Text.MOMENT:
            return {asked.name: home.begin_of(_moment(asked.name, given))}
        case Text.ISSUE:
            return {asked.name: home.find_issue(given)}
        case Dimension.MODEL:
            return {asked.name: _named_so(given, home.names(Dimension.MODEL))}
    return {asked.name: given}


def _named_so(given: str, known: Sequence[str]) -> str | tuple[str, ...]:
    """Return the names that a part stands for, alone if it is one; a whole name, or one that nobody has, is itself."""
    named = () if given in known else tuple(each for each in known if given.lower() in each.lower())
    return named if len(named) > 1 else (*named, given)[0]


def _one_of(kind: type[StrEnum], name: str, given: str) -> StrEnum:
    try:
        return kind(given.replace("-", "_"))
    except ValueError as error:
        raise InputError(f"{name} must be one of {', '.join(kind)}, not {given[:_LONGEST_SHOWN]!r}") from error


def _days(name: str, given: str) -> int:
    if not (given.isascii() and given.isdigit() and 0 < int(given[:9]) <= _MOST_DAYS):
        raise InputError(f"{name} must be a number above 0, not {given[:_LONGEST_SHOWN]!r}")
    return int(given)


def _moment(name: str, given: str) -> timedelta | datetime:
    try:
        return read_since(given)
    except ValueError as error:
        raise InputError(f"{name}: {error}") from error
