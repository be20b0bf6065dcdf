"""The clause around a verb: where it begins and ends, and whether it tells what was done.

Grammar by its surface: the agent as the subject, the passive, a verb without a subject at the start of a line. What is
denied, wished, planned, conditional or told as a rule is not told as done; when in doubt it is not.
"""

from __future__ import annotations

import re
from typing import Final

from grader_daemon.analysis.claims.stated_claim import ACTING_VERBS, STATE_VERBS
from grader_daemon.analysis.claims.subjects import first_file, id_in
from grader_daemon.domain.late_pattern import late_pattern
from grader_daemon.domain.phrases import holds_any

REACH = 200
"""Characters that a clause reaches to each side of its verb."""

_NOT_DONE_WORDS = """
    not never no none nothing cannot without unable fail fails failed neither nor hardly almost nearly should would
    could can may might will shall must need needs needed want wants wanted try tried trying if once unless until till
    when whenever after before while please let ensure sure check whether assuming suppose supposed example plan planned
    expected attempt attempted attempts be being how why what partially partly going instead only
"""
_NOT_DONE: Final = frozenset(_NOT_DONE_WORDS.split())
_AS_A_RULE = late_pattern(r"\b(?:when(?:ever)?|if|once|each|every|by default|automatically|as soon as|will|until)\b")
_SENTENCE_START = late_pattern(
    "[.!?;:\n|\N{WHITE HEAVY CHECK MARK}\N{EN DASH}\N{EM DASH}-]"
    r"(?:(?<=[.!?;:])(?:[*_`\"')]{0,3}\s|\*\*)|(?<=[\n\u2705])|(?<=\s[|\u2013\u2014-])\s)"
)
"""Start of a sentence. The pattern begins with one set of characters, which makes its search fast."""

_SENTENCE_END = late_pattern(r"[.!?;\n|](?:(?<=[.!?;])(?=[\s*_\"')]|$)|(?<=\n)|(?<=\s\|)(?=\s))")
_ADVERB_WORDS = """
    successfully just now also already then both all fully properly correctly finally further newly subsequently thus
    therefore manually and permanently additionally securely safely cleanly completely automatically
"""
_ADVERBS: Final = frozenset(_ADVERB_WORDS.split())
_MARKS = " \t*_`~"
_MARKS_OF_LINES: Final = f"{_MARKS}\n-+\u2022"
_AGENT: Final = (" i", " we", " i've", " we've", " i'd", " we'd", " i have", " we have", " i had", " we had")
_JOINTS: Final = ("and", "then", ",")
_AGENTS_OWN: Final = frozenset({"i", "we", "i've", "we've", "i'd", "we'd"})
_WAS: Final = (" has been", " have been", " had been", "'s been", " was", " were", " been")
_IS: Final = (" is", " are", " it's", " that's", " this's")
_RELATIVES: Final = frozenset({"that", "which", "who", "whose", "where"})
_RELATIVE_REACH = 3
_NOTHING = late_pattern(r"\s+(?:no|none|nothing|nobody|neither|not|zero|0|kein\w{0,2}|nichts|rien|nada)\b")
_FIELD = late_pattern(r"[\s*_`]*:[\s*_`]*(?!.*[./])")
"""Value of a field behind a verb without a subject ("Published: 2013")."""

_OF_OTHERS = late_pattern(
    r"[\s*_`]*(?:by\b(?! me\b)|(?:in|on|since)\s(?:early |late )?(?:[12]\d{3}\b|v?\d+\.\d"
    r"|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\b))"
)
"""Author, date or release behind a verb without a subject."""

_NAMED_FIRST = late_pattern(
    r"[\W\d]*+(?:(?:the|a|new|file|script|report|module|document)\s+){0,4}[`*\"']*+[\w./~+-]++[`*\"']*+\s*+"
)
_HEADLINE = late_pattern(
    r"[\W\d]*+(?:(?:the|a|an|your|all|both|new)\s+){0,2}(?:[a-z-]{2,20}\s+)?"
    r"(?:invit(?:e|ation)|e-?mail|mail|message|reminder|notification|reply|order|booking|reservation|appointment|meeting"
    r"|event|refund|return|exchange|payment|subscription|account|record|entry|task|ticket|comment|flight|room|table"
    r"|report|request)s?\s*+(?:#?[a-z-]*+\d[a-z0-9-]*+\s*+)?"
)
"""A thing that tools make or change, and nothing but its name: "Calendar invite sent", "Order 17 cancelled"."""

_FREE_HEADLINE = late_pattern(
    r"[\W\d]*+(?:(?!(?:is|are|was|were|be|been|has|have|had|will|would|could|should|can|may|no|not|that|which|who|i|we|you"
    r"|it|they|he|she|to)\b)[\w/.,()#'-]{1,30}\s+){0,9}(?!(?:is|are|was|were|been|has|have|had|be|to|not|i|we|you)\b)"
    r"[\w/.,()#'-]{1,30}\s*+"
)
"""Nouns alone before a deed of a tool to what an id names: "Knee surgery referral ordered for patient S12"."""

_OF_FREE_HEADLINE: Final = frozenset(
    {"recorded", "ordered", "returned", "booked", "scheduled", "cancelled", "submitted", "placed", "registered"}
)
_PREPOSITION = late_pattern(r"[\s*_`]*+(?:successfully )?(?:for|to|at|in|on|with|from)\b")
_LONGEST_HEAD: Final = 120
_LABEL = late_pattern(
    r"[\W\d]*+(?:(?:the|a|new|main|final|output|test|python|shell)\s+){0,2}"
    r"(?:file|script|folder|directory|document|report|project|module|output|result|archive|config|page)s?[\s*_`]*+"
)
_LABELS = late_pattern(r"(?:\w+)?[*_`]{0,3}(?: successfully)?[*_`]{0,3}:[\s*_`\"']{1,6}[\w./~-]")
"""A verb behind such a label, and a name behind both: "Script created: `a.sh`"."""

_RELEASED = late_pattern(
    r"\b(?:package|release|version|site|website|page|app|docs|documentation|image|wheel|module|library|crate|plugin"
    r"|extension|post|npm|pypi|registry|draft|dashboard|workflow|changes)s?\b",
    re.IGNORECASE,
)
_BY_OTHERS = late_pattern(r"\w+\W{1,3}(?:by|(?:in|on|since) (?:\w{1,12} ){0,3}(?:1[89]|20)\d\d)\b")
"""A thing that agents publish, and an author or a year behind the verb, with which others did."""

_HEADING = late_pattern(
    r"\W{0,8}\w+"
    r"(?: (?!(?:the|an?|all|both|your|our|this|these|it|to|in|into|from|with|for|on|at|of|and)\b)[a-z-]{2,20}){1,3}"
    r"(?: \([^)\n]{1,20}\))?[*_`]{0,3}(?::| [-\u2013\u2014] )",
    re.IGNORECASE,
)
"""A verb and bare words that head a list or a value: "Updated item:"."""

_BEEN: Final = (" been ", " was ", " were ")
_JOINED_PASSIVE = late_pattern(
    r" (?:has been|have been|was|were) (?:\w{2,14}ly )?\w{2,14}(?:ed|en|un|ut)(?: [\w./\u2192`'-]{1,30}){0,8}?"
    r"(?:, (?:\w{2,14}ly )?\w{2,14}(?:ed|en|un|ut)){0,3}(?:,| and|, and)(?: \w{2,14}ly)?[\s*_`]*$"
)
"""A passive that goes on: "has been archived, encrypted, and"."""

_GOES_ON = late_pattern(r"\b(?:is|was|are|were|has|have|had|will|can|could|should|by|says?|shows?|contains?)\b")
"""Words behind such a verb with which it only says which thing is meant."""

_HEDGED = late_pattern(
    r"\bas far as\b|\bto (?:my|the best of my) knowledge\b|\b(?:believe|think|guess|assume|probably|likely|presumably"
    r"|apparently|possibly|perhaps|maybe|hopefully|seems?|seemed|appears?|appeared)\b"
)
_ADDRESS = late_pattern(r"\S{0,80}(?:@|://)\S{0,200}")
_IN_QUOTES = late_pattern(r"\"[^\"\n]{1,60}\"|`[^`\n]{1,60}`")
_WORD = late_pattern(r"[a-z']+")


def sentence(low: str, position: int) -> tuple[int, int]:
    """Return where the clause around a place begins and ends, at most 200 characters to each side.

    What stands in backticks is one word: "`f(a: int)` was added".
    """
    line = low.rfind("\n", 0, position) + 1
    start = max(line, position - REACH)
    for boundary in _SENTENCE_START.finditer(low, start, position):
        if not low.count("`", line, boundary.start()) % 2:
            start = boundary.end()
    for ending in _SENTENCE_END.finditer(low, position, position + REACH):
        if low[ending.start()] == "\n" or not low.count("`", line, ending.start()) % 2:
            return start, ending.start()
    return start, min(len(low), position + REACH)


def is_quoted(text: str, position: int) -> bool:
    """Return whether a place is quoted: behind an opening quote of its line, or in a line that is quoted whole."""
    start = text.rfind("\n", max(0, position - REACH), position) + 1
    line = text[start or max(0, position - REACH) : position]
    return line.lstrip().startswith(">") or line.count('"') % 2 == 1 or line.count("“") > line.count("”")


def is_denied(before: str) -> bool:
    """Return whether the words before a verb deny, wish, plan, ask, condition or hedge what it tells.

    Those of an address or of a name in quotes are none: "sent to a@mail.example", 'the "No service" issue'.
    """
    before = _ADDRESS.sub("", before) if "@" in before or "://" in before else before
    before = _IN_QUOTES.sub("", before) if '"' in before or "`" in before else before
    words = _WORD.findall(before)
    return not _NOT_DONE.isdisjoint(words) or "n't" in before or "'ll" in before or is_hedged(before)


def is_hedged(clause: str) -> bool:
    """Return whether a clause holds only as far as the agent believes."""
    return _HEDGED.search(clause) is not None


def is_told_as_done(before: str, after: str, word: str) -> bool | None:
    """Return whether it is told in the active voice, as the agent's own deed; None if not as done at all."""
    if is_of_nothing(after):
        return None
    subject = " " + _without_adverbs(before)
    if subject.endswith(_AGENT) or (before.rstrip(_MARKS).endswith(_JOINTS) and names_agent(before)):
        return True
    if not any(map(str.isalpha, subject)):
        is_action = word in ACTING_VERBS
        return None if _OF_OTHERS.match(after) or (not is_action and _FIELD.match(after)) else not is_action
    if _is_passive(subject, before, word):
        return None if _is_relative(subject) or _AS_A_RULE.search(after) else False
    if len(subject) < _LONGEST_HEAD and _is_headline(subject, after, word):
        return False
    return False if _NAMED_FIRST.fullmatch(subject) and first_file(subject) else None


def _is_headline(subject: str, after: str, word: str) -> bool:
    """Return whether a thing alone, and no whole sentence, stands before a verb: "Order 17 cancelled"."""
    if _HEADLINE.fullmatch(subject):
        return _GOES_ON.search(after) is None
    if labels(after):
        return _LABEL.fullmatch(subject) is not None
    is_free = word in _OF_FREE_HEADLINE and _PREPOSITION.match(after) is not None and _GOES_ON.search(after) is None
    return is_free and _FREE_HEADLINE.fullmatch(subject) is not None and id_in(f"{subject}{after}".upper()) is not None


def _is_passive(subject: str, before: str, word: str) -> bool:
    """Return whether a verb is told in the passive, be it joined to another: "was sorted and merged"."""
    if subject.endswith(_WAS) or (subject.endswith(_IS) and word in STATE_VERBS):
        return True
    return holds_any(before, _BEEN) and _JOINED_PASSIVE.search(before) is not None


def is_of_nothing(after: str) -> bool:
    """Return whether the words behind a verb take it back: "I charged no extra sum"."""
    return _NOTHING.match(after) is not None


def labels(after: str) -> bool:
    """Return whether a verb and what stands behind it label a file or a folder: "created: `a.sh`"."""
    return _LABELS.match(after) is not None


def is_heading(text: str, start: int, end: int) -> bool:
    """Return whether a clause heads a list, or is a state by itself: "Updated item:", "Order 17: **CANCELLED**"."""
    clause = text[start:end]
    if _HEADING.match(clause):
        return True
    alone = clause.strip(_MARKS_OF_LINES)
    return alone.isalpha() and (alone.isupper() or text[start - 2 : start].strip(_MARKS_OF_LINES) != "")


def is_release(clause: str, position: int) -> bool:
    """Return whether a clause around a verb tells that an agent's work was published, not a book or a magazine."""
    return _RELEASED.search(clause) is not None and _BY_OTHERS.match(clause, position) is None


def names_agent(before: str) -> bool:
    """Return whether the words before a verb name the agent: "I" or "we"."""
    return not _AGENTS_OWN.isdisjoint(_WORD.findall(before))


def _is_relative(subject: str) -> bool:
    """Return whether the verb belongs to a clause that only says which thing is meant: "the file that was saved"."""
    words = _WORD.findall(subject[-REACH // 2 :])
    return not _RELATIVES.isdisjoint(words[-_RELATIVE_REACH:])


def _without_adverbs(before: str) -> str:
    while True:
        before = before.rstrip(_MARKS)
        last = before.rpartition(" ")[2].lstrip(_MARKS)
        if last not in _ADVERBS:
            return before
        before = before[: len(before) - len(last)]
