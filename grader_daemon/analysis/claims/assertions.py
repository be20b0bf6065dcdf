"""Places of an answer where the agent itself asserts that something is so now.

The form of a sentence does not say so alone: "All tests pass" is also an open item ("- [ ] All tests pass"), a goal
("Definition of done: …", or below such a heading), somebody else's word ("The README says …"), a guess ("In theory …")
and news of another day. The line around a place, the heading above it and the beginning of its sentence tell. A tick
asserts, wherever it stands.
"""

from __future__ import annotations

from typing import Final

from grader_daemon.domain.late_pattern import late_pattern

_REACH: Final = 400
"""Characters of a line that are read to each side of a place."""

_ABOVE: Final = 2_000
"""Characters above a place in which its heading is looked for."""

_LONGEST_HEADING: Final = 80
_BULLET: Final = r"[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+"
_ITEM = late_pattern(rf"{_BULLET}|[ \t]*[✅✔✓☑☐⬜❌✗✘⏳|]")
_TICKED = late_pattern(rf"(?:{_BULLET})?\[x\]")
_OPEN_BOX = late_pattern(rf"(?:{_BULLET}|[ \t]*)\[[ ~/-]?\]")
_TICKS: Final = frozenset("✅✔✓☑🗸")
_OPEN_SIGNS: Final = frozenset("☐⬜◻🔲❌✗✘⏳⌛🚧")
_STRUCK: Final = "~~"

_OF_WHAT: Final = r"(?: (?:for|of|to|by|from|in|at|before|after|if|is|are|was|were)\b.{0,40})?"
_WANTED = late_pattern(
    r"\b(?:to[ -]?dos?|to be \w+|goals?|aims?|objectives?|plans?|next|next (?:steps?|up|actions?|tasks?|time)"
    r"|requirements?|requires|criteri(?:a|on)|expectations?|definition of done|recommendations?|suggestions?"
    r"|proposals?|follow[ -]?ups?|ideas?|questions?|risks?|assumptions?|hypothes[ie]s|checklist|draft|subject|title"
    r"|(?:commit|suggested) message|(?:the|your|my) task|in progress"
    r"|not (?:yet )?(?:done|finished|started|verified)(?: yet)?|unclear|untested|unverified|untrue|false|wrong"
    r"|left|remains"
    r"|(?:remaining|pending|outstanding|open|missing|planned|proposed|recommended|suggested|expected|future|optional)"
    r"(?: (?:work|tasks?|steps?|items?|points?|issues?|actions?|changes?|fix(?:es)?|results?|outputs?|outcomes?|states?"
    r"|behaviou?r|improvements?|questions?|replies|reply))?"
    r"|nächste\w? schritte?|offen\w{0,2}|ziele?|plan|akzeptanzkriterien|anforderungen|prochaines étapes|objectifs?"
    rf"|à faire|reste|próximos pasos|objetivos?|pendientes?|por hacer){_OF_WHAT}\W*$"
    r"|^\W*(?:task\W*$|before\b|previously\b|originally\b|(?:for )?examples?\b|e\.g|template\b|how to\b"
    r"|what(?:'s| is| was) (?:still |yet )?(?:left|next|open|missing|wanted|needed|planned))"
    r"|следующие шаги|план|цел[ьи]|осталось|下一步|目标|计划|待办|要求"
)
"""Words of a label or a heading that tells what is to be, or was before."""

_REACHED = late_pattern(
    r"(?<!\bof )(?<!\bbe )(?<!\bnot )(?<!\byet )\b(?:done|did|completed?|finished|met|satisf\w+|fulfilled|achieved"
    r"|reached|accomplished|implemented|delivered|added|created|made|verified|confirmed|passed|fixed|resolved|executed"
    r"|status|erreicht|erfüllt|erledigt|atteints?|cumplid\w{1,2}|выполнен\w{0,2})\b|[✅✔✓]|完成"
)
"""Words of such a label by which it tells that it is so."""

_NOT_OF_HEADING = late_pattern(r"\([^()\n]{0,80}\)|\"[^\"\n]{0,80}\"|`[^`\n]{0,80}`|(?<!\w)'[^'\n]{0,80}'")
"""Brackets, and names in quotes."""

_LABEL = late_pattern(r"[\W\d]*(\w[^:|\n]{0,40}?)(?:[*_`]*\s?:|\s[-–—|]\s)")
_SENTENCE = late_pattern(r"[^\W\d][)\"'`*_]{0,3}[.!?;][)\"'`*_]{0,3}\s")
_LEAD: Final = r"[\W\d]*+(?:(?:but|and|so|however|still|also|note|that|again)\b\W*+)*+"
_PRONOUNS: Final = r"(?:you|they|he|she|someone|somebody|everyone|nobody|people)"
_SAID = late_pattern(
    rf"{_LEAD}(?:{_PRONOUNS}|(?!(?:i|we)\b)(?:(?!{_PRONOUNS}\b|(?:i|we|that|which|who)\b)[\w#'`./-]++ ){{0,4}}"
    rf"(?!{_PRONOUNS}\b|(?:i|we|that|which|who)\b)[\w#'`./-]++)"
    r" (?:also |just |only |still |had |has |have )?"
    r"(?:(?:says?|said|tells? (?:me|us)|told (?:me|us)|asks?|asked|wants?|wanted|expects?|demands?|insists?"
    r"|believes?)\b|(?<=you )(?:claim|state|report|mention|think|write|wrote|assume)(?:e?d)?\b"
    r"|(?:claims?|claimed|states?|stated|reports?|reported|mentions?|mentioned|wrote|writes|notes|noted|requires"
    r"|thinks?|thought|assumes?|assumed) ?(?::|(?:that|all|the|every)\b)|means\b)"
    r"(?! ?(?:for|about|to|and|or)\b|,)"
)
"""Somebody else or a text as the subject of a verb of saying or wishing, at the beginning of a sentence."""

_GUESSED = late_pattern(
    rf"{_LEAD}(?:in (?:theory|principle)|theoretically|ideally|hopefully|apparently|presumably|probably|supposedly"
    r"|allegedly|seemingly|(?:it |this |that )?(?:looks|seems|appears)\b|as far as|from what i can"
    r"|to (?:my|the best of my) \w+|according to (?!your\b)|contrary to|for (?:example|instance)|imagine|pretend|say"
    r"|per the (?:issue|readme|docs?|ticket|spec|task|customer)|suppose|i (?:was told|was asked|heard)"
    r"|i (?:would )?(?:think|believe|guess|assumed?|suppose|expect|hope|say)|i'd (?:think|guess|assume|expect|hope|say)"
    r"|i(?: a|')m (?:\w+ )?(?:confident|sure|certain)"
    r"|(?:the|my|our|your|its|a|one) (?:\w+ )?(?:guess|understanding|goal|aim|objective|requirement|expectation|plan"
    r"|idea|assumption|hypothesis|condition|hope|task) (?:is|was)"
    r"|(?:the|my|our|your|a|one) rule (?:is|was)(?=:| that\b)"
    r"|it (?:is|was|would be) (?:\w+ )?(?:important|essential|required|necessary|false|untrue|unclear|possible|likely"
    r"|unlikely|assumed|expected|planned|said|claimed|true|best|better|good|nice)"
    r"|(?:in|at|on|from) the (?:previous|last|earlier) (?:run|session|release|version|attempt|conversation|sprint))\b"
)
"""Beginning of a sentence that guesses, gives another's word or tells of an earlier time."""

_DAY: Final = (
    r"(?:yesterday|last (?:night|week|month|year|time|[a-z]{2,6}day)|earlier (?:today|this week)"
    r"|(?:\d{1,3}|an?|one|two|three|a few|some|several) (?:hours?|days?|weeks?|months?|years?) ago|back then)\b"
)
_ON_A_DAY = late_pattern(rf"{_LEAD}{_DAY}")
_DAY_BEHIND = late_pattern(rf"[^\s]{{1,20}}(?: on [\w-]{{1,20}})? {_DAY}")
_OWN = late_pattern(r"(?:,|;|\band|\bso|\bbut|\bwhich) (?:so |and |then )?(?:i|we)(?:'ve)?\b")
"""Beginning of a sentence of the agent's own behind another one."""

_NAMES_OPEN = late_pattern(
    r"[^()\n]{0,200}\)[*_`]{0,3} (?:is|are|remains?|stays?|still)\b[^.;\n]{0,20}?"
    r" (?:open|pending|left|outstanding|unfinished|missing|not|todo|to do|next|blocked)\b"
)
"""Text from a place in brackets on, where the brackets only name something that is open."""

_LEFT_OPEN = late_pattern(
    r"(?:[:(\[|]|\s[-–—])[ *_`]{0,4}(?:(?:not (?:yet|done|started|run|verified)|to[ -]?do|open|pending|planned"
    r"|outstanding|in progress|blocked|skipped|failed|left|next|missing)[ *_`]{0,4}(?:$|[)\]|.])"
    r"|(?<=\|).{0,4}(?:no|none|n/a)\s{0,8}\|)"
)
"""State of something open at the end of a line, in brackets or in a cell behind a place."""


def is_asserted(low: str, position: int) -> bool:
    """Return whether the agent asserts what stands at a place of a text in lower case, as being so now."""
    start, end = low.rfind("\n", 0, position) + 1, low.find("\n", position)
    line = low[max(start, position - _REACH) : min(end if end >= 0 else len(low), position + _REACH)]
    at = min(position - start, _REACH)
    before = line[:at]
    sign = _sign(before[::-1]) or _sign(line[at:])
    if sign in _OPEN_SIGNS or before.count(_STRUCK) % 2 or _OPEN_BOX.match(low, start):
        return False
    piece = _sentence(before)
    if _is_of_others(piece) or _DAY_BEHIND.match(low, position) or _is_open(before, line[at:]):
        return False
    if sign or _TICKED.match(low, start):
        return True
    label = _LABEL.match(piece)
    return not ((label and _is_wanted(label[1])) or _is_wanted(_heading(low, start)))


def _sign(text: str) -> str | None:
    """Return the first tick or sign of something open in a text."""
    return None if text.isascii() else next((each for each in text if each in _TICKS or each in _OPEN_SIGNS), None)


def _sentence(before: str) -> str:
    """Return the part of a line before a place that belongs to its sentence, with its label."""
    start = 0
    for stop in _SENTENCE.finditer(before):
        start = stop.end()
    return before[start:]


def _is_of_others(piece: str) -> bool:
    """Return whether a sentence begins as somebody else's word, as a guess, or with another day."""
    found = _SAID.match(piece)
    if found is not None and "," not in piece[found.end() :]:
        return _OWN.search(piece, found.end()) is None
    found = _GUESSED.match(piece) or _ON_A_DAY.match(piece)
    return found is not None and _OWN.search(piece, found.end()) is None


def _is_open(before: str, after: str) -> bool:
    """Return whether the rest of a line says that something is open: "Step 3 (all tests pass) is open"."""
    if _LEFT_OPEN.search(after):
        return True
    return before.count("(") > before.count(")") and _NAMES_OPEN.match(after) is not None


def _is_wanted(heading: str) -> bool:
    """Return whether a label or a heading tells what is to be, and not that it is so."""
    words = _NOT_OF_HEADING.sub("", heading)
    return _WANTED.search(words) is not None and _REACHED.search(words) is None


def _heading(low: str, start: int) -> str:
    """Return the short line above the line that starts at a place: above its list, if it is an item."""
    is_item = _ITEM.match(low, start) is not None
    above = (line for line in reversed(low[max(0, start - _ABOVE) : start].split("\n")) if line.strip())
    line = next((line for line in above if not (is_item and (_ITEM.match(line) or line[0] in " \t"))), "")
    is_heading = len(line) <= _LONGEST_HEADING and not line.rstrip().endswith((".", "!", "?"))
    return "" if _ITEM.match(line) or not is_heading else line
