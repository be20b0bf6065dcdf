"""Earlier sessions for an agent that asks: found by words of what was asked for, in a database that is only read.

Apart from `Store`, which takes as long to import as an agent is to wait for its first answer.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby, islice, starmap
from typing import Any, Final

from grader_daemon.domain.group_names import kept_folder
from grader_daemon.domain.recollection import CauseWords, Likeness, PastFailure, PastGrade, PastSession
from grader_daemon.storage.sqlite.database import LISTED, Table, listed
from grader_daemon.storage.sqlite.indexed_words import index_words
from grader_daemon.storage.sqlite.listed_grade import LISTED_AS

_MOST_WORDS = 12
"""The rarest words of a question that are looked for: the others tell little. Words that no session has come last, so
that a long question is not all of these."""
_MOST_ROWS = 2000
"""Of the sessions that have a word, so many of the newest are looked at: 1 ms."""
_LOOKED_THROUGH = 5
"""So many times as many sessions are looked at as are to be told of: some are open."""
_FEWEST_SHARED = 2
_TEMPLATE = 0.8
"""Words that such a share of the requests of a project have are its template."""
_PROJECT = 10
"""Of fewer requests that share a word of the question, a project has no template."""
_LEAST_SHARE = 0.4
"""Of the weight of all words of the question, of those too that no session has. This and the next one were chosen by
`tests.benchmarks.recall`."""
_OF_THE_BEST = 0.9
"""Of the weight of what the most alike session shares: what shares less is mostly another task."""
_COMMON: Final = frozenset(
    re.findall(
        r"\w+",
        """a an and are as at be but by can do does for from has have how i if in into is it its me my no not of on or
        our please so some that the their then there these this those to up us was we what when where which will with
        you your""",
    )
)
"""Words that say nothing of a task."""

_SESSION = (
    "SELECT g.session_id, d.ended_at, d.state, coalesce(d.kind, 'main'), d.agent, g.model, d.project, d.task_type,"
    " g.task_summary, d.tool_calls, g.total_errors, g.errors_recovered, d.had_user_refusal, d.had_user_interruption,"
    " d.asked_again, l.completed, l.unsure, l.verdict_by, l.p_completed, l.efficiency, l.quality,"
    " d.answer_beginning, d.last_check, d.edited_paths, g.id"
    " FROM session_grades AS g JOIN session_details AS d ON d.session_id = g.session_id"
    f" JOIN {LISTED_AS}"
)
"""The id of the grade stands last. Sessions that another program graded have no details, so that they are left out:
nothing is known of how their texts were kept."""
_FINISHED = "d.state <> 'open'"
_REQUESTS = (
    "SELECT coalesce(d.ended_at, g.graded_at), g.session_id, g.id, coalesce(d.request, g.task_summary)"
    " FROM session_grades AS g"
    " JOIN session_details AS d ON d.session_id = g.session_id"
    f" WHERE g.id IN {LISTED}"
)
"""What a timer asks for has no digest: there the task is compared as it is kept."""
_PROJECTS = (
    "SELECT g.id, d.project, coalesce(d.request, g.task_summary, g.id)"
    " FROM session_grades AS g JOIN session_details AS d ON d.session_id = g.session_id"
    f" WHERE g.id IN {LISTED} AND {_FINISHED}"
)
_FAILURES = (
    "SELECT session_id, tool, command, coalesce(subcategory, category), next_tool, next_command, next_worked"
    f" FROM session_failures WHERE kind <> 'probe' AND session_id IN {LISTED} ORDER BY session_id, message_index"
)
_NEWEST = "SELECT session_id FROM session_list ORDER BY ended_at DESC, session_id DESC LIMIT ?"
_WITH_WORD = "SELECT rowid FROM session_words WHERE session_words MATCH ? ORDER BY rowid DESC LIMIT ?"


class Recall(Table):
    """Reads of earlier sessions. Open ones are left out: the one that asks may be among them."""

    def like(self, task: str, limit: int) -> list[Likeness]:
        """Return the sessions that were asked for something alike, the most alike first; of one request the newest."""
        said = dict.fromkeys(index_words(self._database.connection, task))
        asked = [word for word in said if word not in _COMMON]
        if all(map(_is_letter, asked)):
            return []
        counts = self._counts(asked)
        weights = self._weights(counts)
        shared = self._without_templates(self._shared(counts), counts, fewest=min(_FEWEST_SHARED, len(asked)))
        others = self._newest_of_each(_alike(shared, weights), limit)
        rows = {row[-1]: row for row in self._rows(f"g.id IN {LISTED}", listed(list(others)))}
        several = [rows[number] for number in others if number in rows]
        return [
            Likeness(session=session, shared=tuple(shared[row[-1]]), more=others[row[-1]])
            for session, row in zip(self._sessions(several), several, strict=True)
        ]

    def find(self, session_id: str) -> PastSession | None:
        """Return one session, which may be open."""
        found = self._sessions(self._rows("g.session_id = ?", session_id))
        return found[0] if found else None

    def latest(self, limit: int) -> list[PastSession]:
        """Return the sessions that ended last, the newest first."""
        newest = [row[0] for row in self._database.rows(_NEWEST, (_LOOKED_THROUGH * limit,))]
        rows = {row[0]: row for row in self._rows(f"g.session_id IN {LISTED} AND {_FINISHED}", listed(newest))}
        return self._sessions([rows[each] for each in newest if each in rows][:limit])

    def causes(self) -> list[CauseWords]:
        """Return all error issues that nobody ignores and that still occur, those in most sessions first."""
        rows = self._database.rows(
            "SELECT i.fingerprint, i.tool, i.command, i.category, i.subcategory, i.signal FROM error_issues AS i"
            " JOIN issue_days AS o ON o.fingerprint = i.fingerprint"
            " WHERE i.ignored_at IS NULL GROUP BY i.fingerprint"
            " ORDER BY sum(o.sessions) DESC, sum(o.failures) DESC, i.fingerprint"
        )
        names = CauseWords.__struct_fields__
        return [CauseWords(**dict(zip(names, row, strict=True))) for row in rows]

    def words(self, text: str) -> frozenset[str]:
        """Return the different words of a text."""
        return frozenset(index_words(self._database.connection, text))

    def _counts(self, words: Sequence[str]) -> dict[str, int]:
        """Count the sessions that have each word: the rarest words that any has first, then those that none has."""
        self._database.rows(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.word_counts USING fts5vocab (main, session_words, row)"
        )
        counts = dict(
            self._database.rows(f"SELECT term, doc FROM temp.word_counts WHERE term IN {LISTED}", (listed(words),))
        )
        rarest = sorted(counts, key=lambda word: (counts[word], word))
        unknown = [word for word in words if word not in counts]
        return {word: counts.get(word, 0) for word in [*rarest, *unknown][:_MOST_WORDS]}

    def _weights(self, counts: Mapping[str, int]) -> dict[str, float]:
        """Weigh words: what few sessions have tells most, and what none has as much as what one has."""
        [(sessions,)] = self._database.rows("SELECT coalesce(max(id), 0) FROM session_grades")
        return {word: math.log1p(sessions / max(1, having)) for word, having in counts.items()}

    def _shared(self, words: Iterable[str]) -> dict[int, list[str]]:
        """Return the words that sessions share with a question, by the ids of their grades."""
        shared: dict[int, list[str]] = {}
        for word in words:
            for (number,) in self._database.rows(_WITH_WORD, (f'"{word}"', _MOST_ROWS)):
                shared.setdefault(number, []).append(word)
        return shared

    def _without_templates(
        self, shared: Mapping[int, list[str]], counts: Mapping[str, int], *, fewest: int
    ) -> dict[int, list[str]]:
        """Leave out words that nearly all requests of a project share, sessions with too few others, and open ones.

        Sessions of one request count as one: what is asked for every night is no template of what else is asked for.
        """
        rows = self._database.rows(_PROJECTS, (listed(list(shared)),))
        projects: dict[str, list[tuple[list[str], object]]] = {}
        for number, project, request in rows:
            if project is not None:
                projects.setdefault(project, []).append((shared[number], request))
        templates = {project: self._template(project, each, counts) for project, each in projects.items()}
        kept = {
            number: [word for word in shared[number] if word not in templates.get(project, ())]
            for number, project, _ in rows
        }
        return {number: words for number, words in kept.items() if len(words) >= fewest}

    def _template(
        self, project: str, sessions: Sequence[tuple[Sequence[str], object]], counts: Mapping[str, int]
    ) -> frozenset[str]:
        """Return the words that nearly all requests of a project have, of its sessions that have any word looked for.

        Of a word that very many have, the newest alone are known: it is taken to be as frequent in the others.
        """
        requests = {request for _, request in sessions}
        if len(requests) < _PROJECT:
            return frozenset()
        most = max(0, self._sessions_of(project) - len(sessions)) + len(requests)
        having = Counter(word for word, _ in {(word, request) for words, request in sessions for word in words})
        return frozenset(
            word for word, some in having.items() if some * max(1.0, counts[word] / _MOST_ROWS) >= _TEMPLATE * most
        )

    def _sessions_of(self, project: str) -> int:
        """Count the finished sessions of a project, in the sums of its months: `Rollups` takes 5 ms to import."""
        [(sessions,)] = self._database.rows(
            "SELECT coalesce(sum(sessions + unanswered + side), 0) FROM monthly_rollups"
            " WHERE dimension = 'project' AND name = ?",
            (kept_folder(project),),
        )
        return int(sessions)

    def _newest_of_each(self, alike: Iterable[list[int]], limit: int) -> dict[int, int]:
        """Return the newest session of each request, by the id of its grade, with how many others it has.

        Sessions of one request share the same words, so that all of them are equally alike.
        """
        others: dict[int, int] = {}
        for equally in alike:
            of_request: dict[int | str | None, list[int]] = {}
            for *_, number, request in sorted(self._database.rows(_REQUESTS, (listed(equally),)), reverse=True):
                of_request.setdefault(request, []).append(number)
            others |= {numbers[0]: len(numbers) - 1 for numbers in of_request.values()}
            if len(others) >= limit:
                break
        return dict(islice(others.items(), limit))

    def _rows(self, condition: str, value: str) -> list[Sequence[Any]]:
        return self._database.rows(f"{_SESSION} WHERE {condition}", (value,))

    def _sessions(self, rows: Sequence[Sequence[Any]]) -> list[PastSession]:
        """Read rows of `_SESSION`, with the failures of all in one more query."""
        failures: dict[str, dict[tuple[str | None, ...], list[Sequence[Any]]]] = {}
        for row in self._database.rows(_FAILURES, (listed([row[0] for row in rows]),)):
            failures.setdefault(row[0], {}).setdefault(row[1:4], []).append(row[4:])
        return [_to_session(row, failures.get(row[0], {})) for row in rows]


def _is_letter(word: str) -> bool:
    """Return whether a word is a single letter or digit; in other scripts one character may be a whole word."""
    return len(word) == 1 and word.isascii()


def _alike(shared: Mapping[int, Sequence[str]], weights: Mapping[str, float]) -> Iterator[list[int]]:
    """Yield the sessions that are equally alike, the most alike first."""
    weighed = {number: math.fsum(weights[word] for word in words) for number, words in shared.items()}
    least = max(_LEAST_SHARE * math.fsum(weights.values()), _OF_THE_BEST * max(weighed.values(), default=0.0))
    best = sorted((number for number, weight in weighed.items() if weight >= least), key=lambda each: -weighed[each])
    for _, equally in groupby(best, key=weighed.__getitem__):
        yield list(equally)


def _to_failure(what: tuple[str | None, ...], steps: Sequence[Sequence[Any]]) -> PastFailure:
    """Join failures of one kind: what failed, and for each what was tried next and whether it worked."""
    tool, command, category = what
    next_tool, next_command = next(((to, by) for to, by, worked in steps if worked), (None, None))
    return PastFailure(
        tool=tool,
        command=command,
        category=str(category),
        times=len(steps),
        next_tool=next_tool,
        next_command=next_command,
    )


def _to_session(row: Sequence[Any], failures: Mapping[tuple[str | None, ...], Sequence[Sequence[Any]]]) -> PastSession:
    """Read a row of `_SESSION`; `failures` are by what failed, as `_to_failure` wants them."""
    return PastSession(
        session_id=row[0],
        ended_at=None if row[1] is None else datetime.fromisoformat(row[1]),
        state=row[2],
        kind=row[3],
        agent=row[4],
        model=row[5],
        project=row[6],
        task_type=row[7],
        task=row[8],
        calls=row[9],
        errors=row[10],
        recovered=bool(row[11]),
        refused=bool(row[12]),
        interrupted=bool(row[13]),
        asked_again=row[14],
        answer=row[21],
        last_check=row[22],
        edited=tuple(row[23].split("\n")) if row[23] else (),
        failures=tuple(sorted(starmap(_to_failure, failures.items()), key=lambda failure: -failure.times)),
        grade=PastGrade(
            completed=row[15],
            unsure=row[16],
            verdict_by=row[17],
            p_completed=row[18],
            efficiency=row[19],
            quality=row[20],
        ),
    )
