"""Find the claims of a final answer about what was done, in its own words.

Only what is told as done is a claim: "I've written `a.py`", "`a.py` has been written", "- Wrote `a.py`", "All 12 tests
pass". What is denied, wished, planned, asked, conditional, or told for the person to do is none; when in doubt it is
none. A text is searched for the words of the table first, at the speed of a substring search; only around these is it
looked at more closely, so an answer that claims nothing costs next to nothing, and any answer takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from operator import itemgetter
from typing import Final

import msgspec

from grader_daemon.analysis.claims.assertions import is_asserted
from grader_daemon.analysis.claims.clauses import (
    REACH,
    is_denied,
    is_heading,
    is_quoted,
    is_release,
    is_told_as_done,
    labels,
    names_agent,
    sentence,
)
from grader_daemon.analysis.claims.files_in_languages import OF_LANGUAGES, STEMS, WRITTEN, files_in_languages
from grader_daemon.analysis.claims.running_claims import PROGRAMS, RUNNING, WELL, WORKING, program_ran, running_well
from grader_daemon.analysis.claims.stated_changes import ADDING, CHANGED, OTHERS, TESTS, nothing_else, tests_added
from grader_daemon.analysis.claims.stated_checks import (
    CHECKS,
    OF_SIGNS,
    PASSING,
    SIGNS,
    checks_in,
)
from grader_daemon.analysis.claims.stated_claim import (
    ACTIONS,
    CHANGING_VERBS,
    KINDS,
    MAKING_VERBS,
    MOST_CLAIMS,
    PLAIN_VERBS,
    RUNNING_VERBS,
    StatedClaim,
)
from grader_daemon.analysis.claims.subjects import (
    QUOTED,
    address_in,
    changed_file,
    files_after,
    first_file,
    id_in,
    is_file,
    made_file,
    object_file,
    place_after,
)
from grader_daemon.domain.claims import ClaimKind
from grader_daemon.domain.late_pattern import late_pattern
from grader_daemon.domain.phrases import holds_any

EXAMINED_CHARACTERS = 8_000
"""Length of the part of a final answer that is read, at its end: what was done is summed up there."""

_MOST_WORDS = 200
"""Words of the table that are looked at in one answer."""

_LONGEST_OBJECT: Final = 20_000
_SAYING: Final = (
    "message",
    "response",
    "reply",
    "answer",
    "final_answer",
    "text",
    "content",
    "summary",
    "confirmation",
)
"""Keys under which an answer in JSON speaks to the person."""

_IN_FENCE = late_pattern(r"\A```(?:json)?\s{0,9}(\{[^`]*\})\s{0,9}```\Z")
_ENDS_OF_LIST: Final = ("]", "])")
_LIST = late_pattern(r"\w{0,20}\(?(\[.*\])\)?", re.DOTALL)

_LISTED_LINES = 12
_FENCE = "```"
_IN_WORD = late_pattern(r"[\w-]").match
_TO_WORDS: Final = bytes(code if bytes([code]).isalnum() else ord(" ") for code in bytes(range(256)).lower())
"""Translation table by ASCII code: the letter in lower case or the digit, else a space."""
_VERBS: Final = frozenset(verb.encode() for verb in KINDS)
_OF_ACTIONS: Final = frozenset(verb.encode() for verb in PLAIN_VERBS)
_ACTIONS_TOLD: Final = frozenset(each.encode() for action in (*ACTIONS, "order") for each in (action, f"{action}s"))
"""Actions of which one stands in an answer where a verb such as "processed" tells a deed."""

_BUG = late_pattern(
    r"\b(?:bugs?|issues?|problems?|errors?|crash(?:es)?|failures?|exceptions?|regressions?|defects?|typos?)\b"
)
_IT = late_pattern(r"\w+ (?:this|it|that|them|these)\b")
_FIX_APPLIED = late_pattern(r"\bfix(?:es)?\b")
_SHORTEST_NAME = 3
_WORD = late_pattern(r"[a-z]{3,30}")
_NO_NAMES: Final = frozenset(
    {"the", "all", "and", "its", "any", "required", "necessary", "needed", "missing", "packages", "dependencies"}
    | {"system-wide", "for", "with", "from", "into", "successfully"}
)
_FILES_REMOVED = late_pattern(
    r"(?:removed|deleted)(?: [\w-]{1,20}){0,4}? (?:files?|folders?|director(?:y|ies)|archives?|logs|copies|backups?)\b",
    re.IGNORECASE,
)
"""Files as what was removed: what they were removed from is no file that was changed by that."""

_LIST_OF_FILES = late_pattern(
    r"\W*(?:\w+ )?(?:files?(?: (?:that )?(?:were|was|have been))?"
    r" (?:created|modified|changed|updated|added|written|edited)(?: (?:in|for|to) [^:.`]{1,40})?"
    r"|(?:created|modified|changed|updated|added|generated|edited)(?: \w+)? files?)\W*"
)
_LIST_IN_LANGUAGES = late_pattern(
    r"\W*(?:dateien (?:erstellt|ge[aä]ndert|angelegt|aktualisiert)|(?:erstellte|ge[aä]nderte|neue) dateien"
    r"|fichiers (?:créés|modifiés|ajoutés)|archivos (?:creados|modificados|actualizados)"
    r"|файлы (?:\w{1,12} )?(?:созданы|изменены|обновлены)|(?:созданы|изменены|созданные|изменённые|измененные)"
    r" (?:\w{1,12} )?файлы|(?:已)?(?:创建|修改|生成|更新)(?:了|的)?(?:以下)?文件)\W*"
)
_LISTING: Final = ("file", "datei", "fichier", "archivo", "файл", "文件")
_BULLET = late_pattern(r"\s*(?:[-*•+|]|\d{1,2}[.)])")
_NEXT_NAME = late_pattern(r"\s*\n\s{0,8}(?:[-*•] )?[`*]{0,3}([\w./~][\w./~+-]{1,120})[`*]{0,3}[ \t]*(?:\n|$)")


def find_claims(answer: str) -> tuple[StatedClaim, ...]:
    """Return what the end of an answer claims, in its order, each once; at most 20."""
    answer = spoken(answer)
    tail = answer[-EXAMINED_CHARACTERS:]
    cues = _CUES.intersection(tail.encode("ascii", "replace").translate(_TO_WORDS).split())
    if not tail.isascii():
        cues |= _cues_of_letters(tail.encode(errors="replace"))
    if not cues:
        return ()
    verbs = [verb.decode() for verb in cues & (_VERBS if cues & _ACTIONS_TOLD else _VERBS - _OF_ACTIONS)]
    finders = [find for needed, find in _FINDERS if not any(map(cues.isdisjoint, needed))]
    if not verbs and not finders:
        return ()
    text = _prose(tail, is_inside=answer.count(_FENCE, 0, len(answer) - len(tail)) % 2 == 1)
    low = text.lower()
    low = low if len(low) == len(text) else text
    claims = [*_done(text, low, verbs), *(each for find in finders for each in find(text, low))]
    asserted = (each for place, each in sorted(claims, key=itemgetter(0)) if is_asserted(low, place))
    return tuple(islice(dict.fromkeys(asserted), MOST_CLAIMS))


def _cues_of_letters(tail: bytes) -> frozenset[bytes]:
    """Return the cues of a text with other letters and signs. Bytes are searched five times as fast."""
    of_signs = OF_SIGNS if holds_any(tail, SIGNS) else frozenset()
    return of_signs | OF_LANGUAGES if holds_any(tail, STEMS) else of_signs


def spoken(answer: str) -> str:
    """Return what an answer says to the person: all of it, or the texts in JSON that are there for them.

    These are fields of an object, or of one in it, or a list as a whole: `FINISH(["Order placed"])`.
    """
    answer = _IN_FENCE.sub(r"\1", answer) if answer.endswith(_FENCE) else answer
    if not answer.startswith("{") and not answer.endswith(_ENDS_OF_LIST):
        return answer
    inner = _LIST.fullmatch(answer, 0, _LONGEST_OBJECT)
    try:
        told = msgspec.json.decode(inner[1] if inner else answer[:_LONGEST_OBJECT])
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return answer
    if isinstance(told, dict):
        parts = [told, *(each for each in told.values() if isinstance(each, dict))]
        texts = [part.get(key) for part in parts for key in _SAYING]
    else:
        texts = told if isinstance(told, list) else []
    return "\n".join(each for each in texts if isinstance(each, str)) or answer


def _done(text: str, low: str, verbs: list[str]) -> Iterator[tuple[int, StatedClaim]]:
    for position, word in _places(low, verbs):
        for claim in _claims_at(text, low, position, word=word):
            yield position, claim


def _prose(tail: str, *, is_inside: bool) -> str:
    """Return a text without its blocks of code, with straight apostrophes. `is_inside`: it begins in such a block."""
    pieces = tail.split(_FENCE)
    return "\n".join(pieces[1 if is_inside else 0 :: 2]).replace("’", "'")


def _places(low: str, words: list[str]) -> list[tuple[int, str]]:
    """Return where the words stand, as whole words, from the last back to the first, at most 200."""
    places = []
    for word in words:
        position = low.find(word)
        while position >= 0:
            end = position + len(word)
            if not _IN_WORD(low[position - 1 : position]) and not _IN_WORD(low[end : end + 1]):
                places.append((position, word))
            position = low.find(word, end)
    return sorted(places)[-_MOST_WORDS:]


def _claims_at(text: str, low: str, position: int, *, word: str) -> Iterator[StatedClaim]:
    """Yield what the clause around a verb claims."""
    start, end = sentence(low, position)
    before = low[start:position]
    by_agent = is_told_as_done(before, low[position + len(word) : end], word)
    if (
        by_agent is None
        or is_quoted(low, position)
        or before.count("`") % 2
        or low[end : end + 1] == "?"
        or is_denied(before)
    ):
        return
    clause = text[start:end] + _next_name(text, end)
    is_head = is_heading(text, start, end)
    is_of_others = word == "published" and not is_release(text[start:end], position - start)
    for claim in _of_kind(word, clause, position - start, by_agent=by_agent):
        if not (is_head if claim.kind is ClaimKind.COMMAND_RAN else is_of_others and not claim.by_agent):
            yield claim.as_said(text[start:end], by_agent=claim.by_agent and names_agent(before))


def _next_name(text: str, end: int) -> str:
    """Return the file that stands alone in the line behind a colon: "saved it to:"."""
    found = _NEXT_NAME.match(text, end) if text[end - 1 : end] == ":" else None
    return f" {found[1]}" if found and is_file(found[1]) else ""


def _of_kind(word: str, clause: str, position: int, *, by_agent: bool) -> Iterator[StatedClaim]:
    before, after = clause[:position], clause[position:]
    match kind := KINDS[word]:
        case ClaimKind.FILE_WRITTEN if word in MAKING_VERBS or word in CHANGING_VERBS:
            yield _changed(before, after, word, by_agent=by_agent)
        case ClaimKind.FILE_WRITTEN:
            yield from _written(before, after, by_agent=by_agent)
        case ClaimKind.BUG_FIXED:
            if after.lower().startswith("fixed") or _BUG.search(clause.lower()) or (by_agent and _IT.match(after)):
                yield StatedClaim(kind, by_agent=by_agent)
        case ClaimKind.COMMAND_RAN:
            yield from _ran(before, after, by_agent=by_agent)
        case ClaimKind.INSTALLED:
            yield StatedClaim(kind, _package(clause, after, by_agent=by_agent), by_agent=by_agent)
        case ClaimKind.COMMITTED:
            command = "git push" if after.lower().startswith("pushed") else "git commit"
            yield StatedClaim(kind, command=command, by_agent=by_agent)
        case _:
            receiver = address_in(after) if kind is ClaimKind.SENT else None
            yield StatedClaim(kind, receiver or id_in(clause), by_agent=by_agent)


def _ran(before: str, after: str, *, by_agent: bool) -> Iterator[StatedClaim]:
    """Yield the command that the agent says it ran, or the action that was done."""
    if not after.lower().startswith(RUNNING_VERBS):
        yield _acted(before, after, by_agent=by_agent)
        return
    quoted = QUOTED.search(after)
    if quoted and by_agent:
        yield StatedClaim(ClaimKind.COMMAND_RAN, quoted[1], command=quoted[1], by_agent=True)


def _written(before: str, after: str, *, by_agent: bool) -> Iterator[StatedClaim]:
    """Yield the files that were written; what was created or changed and is no file is an action, or a fix."""
    if by_agent:
        files = files_after(after)
    else:
        file = place_after(after) or first_file(before)
        files = (file,) if file else files_after(after) if labels(after) else ()
    for file in files:
        yield StatedClaim(ClaimKind.FILE_WRITTEN, file, by_agent=by_agent)
    if files:
        return
    if _FIX_APPLIED.search(before.lower()) or (after.lower().startswith("implemented") and _FIX_APPLIED.search(after)):
        yield StatedClaim(ClaimKind.BUG_FIXED, None, by_agent=by_agent)
    else:
        yield _acted(before, after, by_agent=by_agent)


def _changed(before: str, after: str, word: str, *, by_agent: bool) -> StatedClaim:
    """Return the file that was made of another, or in which something was changed; else the action and its object."""
    thing = object_file(after) or (None if by_agent else first_file(before))
    if thing is None and _FILES_REMOVED.match(after):
        thing = changed_file(after)
    file = made_file(after) if word in MAKING_VERBS else None if thing else changed_file(after)
    if file is not None:
        return StatedClaim(ClaimKind.FILE_WRITTEN, file, by_agent=by_agent)
    acted = _acted(before, after, by_agent=by_agent)
    return replace(acted, subject=acted.subject or thing)


def _acted(before: str, after: str, *, by_agent: bool) -> StatedClaim:
    words = tuple(_WORD.findall(f"{after} {before}".lower()))
    return StatedClaim(ClaimKind.COMMAND_RAN, id_in(before + after), words=words, by_agent=by_agent)


def _package(clause: str, after: str, *, by_agent: bool) -> str | None:
    """Return the name of what was installed: the one in a clause that is quoted, else the word after "installed"."""
    quoted = QUOTED.search(clause)
    name = [quoted[1]] if quoted else after.split()[1:2] if by_agent else []
    word = name[0].strip("*`.,:") if name else ""
    return word if len(word) >= _SHORTEST_NAME and word.lower() not in _NO_NAMES and word[0] not in "/~." else None


def _listed(text: str, low: str) -> Iterator[tuple[int, StatedClaim]]:
    """Yield the files below a heading such as "Files changed:"."""
    position = left = 0
    told = tuple(each for each in _LISTING if each in low)
    for line in text.split("\n"):
        if left and line.strip():
            file = first_file(line) if _BULLET.match(line) or not line.strip("`* ").count(" ") else None
            left = left - 1 if file else 0
            if file:
                yield position, StatedClaim(ClaimKind.FILE_WRITTEN, file, said=line[:REACH])
        elif holds_any(heading := line[-REACH:].rpartition(". ")[2].lower(), told) and _heads_files(heading):
            left = _LISTED_LINES
        position += len(line) + 1


def _heads_files(heading: str) -> bool:
    """Return whether a line heads a list of files that were written."""
    return bool(_LIST_OF_FILES.fullmatch(heading) or _LIST_IN_LANGUAGES.fullmatch(heading))


_FILES: Final = frozenset({b"file", b"files", b"dateien", b"fichiers", b"archivos"}) | OF_LANGUAGES
_Finder = Callable[[str, str], Iterator[tuple[int, StatedClaim]]]
_FINDERS: Final[tuple[tuple[tuple[frozenset[bytes], ...], _Finder], ...]] = (
    ((PASSING, CHECKS), checks_in),
    ((WORKING,), running_well),
    ((PROGRAMS, RUNNING, WELL), program_ran),
    ((_FILES, _VERBS | WRITTEN), _listed),
    ((TESTS, ADDING), tests_added),
    ((OTHERS, CHANGED), nothing_else),
    ((WRITTEN,), files_in_languages),
)
"""Finders of other claims, each with the words without which it cannot be said."""

_CUES: Final = (
    _VERBS | _ACTIONS_TOLD | WRITTEN | PASSING | CHECKS | TESTS | OTHERS | CHANGED | PROGRAMS | RUNNING | WELL | _FILES
)
