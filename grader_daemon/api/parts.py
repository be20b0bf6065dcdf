"""Parts that wings provide, as the core knows them: public methods, and no more."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol

from grader_daemon.domain.feedback import Feedback, Said
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.insight import Patterns
from grader_daemon.domain.message_search import FoundMessages
from grader_daemon.domain.quality import QualityCheck, QualityScorer
from grader_daemon.domain.routing import Route, TaskRoute
from grader_daemon.domain.setup_changes import USUAL_SPAN, SetupChange, SetupChanges
from grader_daemon.domain.skills import SkillAdvice, SkillDetail, Skills
from grader_daemon.storage.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from grader_daemon.settings import Settings


class Routing(Protocol):
    """Models to prefer, by the finished sessions of the last 90 days."""

    def route(
        self,
        *,
        task_type: str | None = None,
        models: Collection[str] | None = None,
        default: str | None = None,
        most_usd: float | None = None,
    ) -> Route:
        """Return the recommended models, for all task types with sessions, or for one.

        Args:
            task_type: that one, which need not have any.
            models: those to choose from; without them all that are known.
            default: the one to stay with where none is better; without one that of the settings, if there is one.
            most_usd: a completed task may cost so much, without it what the settings say; a model whose price is not
                known is not preferred then.

        Raises:
            InputError: the task type is unknown, or `most_usd` is not above 0.
        """

    def recommend(self, task_type: str, models: Collection[str] | None = None, default: str | None = None) -> TaskRoute:
        """Return the recommended model for one task type, with figures for the others; see `route`."""

    @staticmethod
    def write(route: Route, path: str | os.PathLike[str]) -> None:
        """Write a route for a router to read: whole or not at all, for its owner alone.

        Raises:
            OutputError: it cannot be written there.
        """


class Setup(Protocol):
    """Set-up of agents, by what their sessions and their files show."""

    def changes(self, since: timedelta | datetime = USUAL_SPAN) -> SetupChanges:
        """Return the changes since then, the newest first, with results before and after each.

        Args:
            since: a span back from now, or a moment; one without a zone is in that of the settings.
        """

    def changes_alone(self, since: timedelta | datetime = USUAL_SPAN) -> list[SetupChange]:
        """Return the changes since then, in order, without results, which take longer.

        Args:
            since: as of `changes`.
        """

    def skills(self) -> Skills:
        """Return the installed skills and those used by tasks of the last 90 days, the most used first."""

    def skill(self, name: str) -> SkillDetail:
        """Return one skill with its versions, the newest first, and results before and after each.

        Raises:
            NotFoundError: none of this name lies here or was used.
        """

    def suggest_skill(self, name: str) -> SkillAdvice:
        """Return advice for a task type, if its tasks clearly end badly more often than all others.

        Args:
            name: a type of task, or a skill, here or not, whose words tell which type it is about.

        Raises:
            InputError: it is neither.
        """

    def unused_skills(self, patterns: Patterns) -> tuple[str, ...]:
        """Return a sentence on each task type that needs an installed skill which is hardly used there."""


class MessageSearch(Protocol):
    """Words of messages, where the person has them indexed."""

    @property
    def is_on(self) -> bool:
        """True if messages can be searched."""

    @property
    def has_index(self) -> bool:
        """True if there is an index, as after it was turned on elsewhere."""

    def find(self, words: str, *, limit: int = 20, keep: Callable[[Grade], bool] = ...) -> FoundMessages:
        """Return messages with all of some words, those of the newest sessions first.

        Args:
            words: words or beginnings of them; those in double quotes stand one behind the other.
            limit: most messages.
            keep: which sessions are meant; without it all.

        Raises:
            InputError: there is no word in `words`, or the search is off.
            StoreError: the index cannot be read.
        """


class SharedCopy(Protocol):
    """A database that is the copy of a fleet's, as what keeps it up to date."""

    told: str | None
    """Decisions that could not be read, in words, if there are any."""

    @property
    def unread_labels(self) -> int:
        """The number of labels that this version cannot read."""

    def behind(self) -> int:
        """Return about how many sessions there are to be read."""

    def older(self) -> int:
        """Return about how many sessions are left of those that are older than all that are here."""

    def catch_up(self, clock: Callable[[], datetime]) -> Generator[int]:
        """Read what is new, then what is `older`, and between its parts what came in; yields the size of each batch.

        Raises:
            StoreBusyError: another program reads into this copy.
            DeliveryError: the fleet's database is away.
        """

    def deciding(self) -> AbstractContextManager[None]:
        """Have what is decided meanwhile on alerts and errors counted for all; raises DeliveryError."""

    def say(self, said: Sequence[Said]) -> list[Feedback]:
        """Keep what is said here, and send it to the machines of the sessions."""

    def last_said(self, session_id: str) -> Feedback | None:
        """Return what this person said last of a session."""

    def close(self) -> None:
        """Close the connection to the fleet."""


class SharedCopies(Protocol):
    """Copies of others' grades in place of the machine's own: whose settings, and what keeps them up to date."""

    @staticmethod
    def settings_of(settings: Settings) -> Settings:
        """Return settings whose database is the copy of what `fleet_read_url` names; raises ConfigurationError."""

    @staticmethod
    def is_of(settings: Settings) -> bool:
        """Return whether the database of settings is such a copy."""

    @staticmethod
    def open(settings: Settings, store: SqliteStore) -> SharedCopy:
        """Return what keeps `store`, which is such a copy, up to date; raises ConfigurationError."""

    @staticmethod
    def follow(settings: Settings, stop: threading.Event) -> None:
        """Keep the copy of settings up to date until `stop`, whatever goes wrong; that is logged."""

    @staticmethod
    def watch(settings: Settings, stop: threading.Event) -> None:
        """Keep it up to date, and raise alerts, tell of them and write reports while nobody else does.

        Raises:
            CallError, StoreError: it cannot be helped by waiting.
        """


class Checker(Protocol):
    """Draws sessions, has a scorer judge them, and keeps what it says."""

    def judge(self, now: datetime, *, count: int, budgeted: bool) -> list[QualityCheck]:
        """Have up to `count` finished sessions of the last four weeks judged of which the scorer has said nothing yet.

        Raises:
            ScorerUnavailableError: it cannot be asked now.
        """


class Scorers(Protocol):
    """The scorer of quality that the settings name, and what keeps its answers."""

    @staticmethod
    def of(settings: Settings) -> QualityScorer | None:
        """Return the scorer that is set, whether the daemon asks it or not; None without one."""

    @staticmethod
    def checker(
        settings: Settings, store: SqliteStore, scorer: QualityScorer, *, clock: Callable[[], datetime]
    ) -> Checker:
        """Return everything between a grade and what a scorer says of it."""
