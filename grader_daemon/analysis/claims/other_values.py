"""Values that were asked for and are told, and others that stand in the calls in their place.

An id, a date, a time or an amount of money is compared by what it means: "March 4th" is 2026-03-04, "7 pm" is 19:00,
"29,40 €" is 29.40. It is told only where the agent was asked for one, tells it, and gave it to no call that worked, but
another of the same form that nobody named. What may follow from a weekday, or from a span of days, is no other date.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from itertools import islice
from typing import Final, NamedTuple

from grader_daemon.analysis.claims.call_answers import given
from grader_daemon.analysis.claims.evidence import ToolRun
from grader_daemon.domain.claims import ClaimReason
from grader_daemon.domain.late_pattern import late_pattern
from grader_daemon.domain.phrases import holds_any

_READ: Final = 3_000
_MOST_TOLD: Final = 10
_BEFORE: Final = 24
_LONGEST_DAY: Final = 2
_HALF_DAY: Final = 12
_WHEN: Final = ("date", "day", "time")
_KINDS: Final = {"date": "date", "day": "date", "time": "time", "share": "share"}
_SCALES: Final = tuple(
    frozenset(words.split())
    for words in (
        "low medium high urgent critical",
        "public private",
        "enabled disabled",
        "open closed",
        "active inactive",
        "economy business",
        "window aisle middle",
        "daily weekly monthly yearly",
        "small medium large",
        "morning afternoon evening",
    )
)
"""Words of which only one holds of a thing, where a call was given one of them by itself."""
_NAMES_OF_MONTHS: Final = (
    *("jan january januar janvier enero", "feb february februar février febrero", "mar march märz mars marzo"),
    *("apr april avril abril", "may mai mayo", "jun june juni juin junio", "jul july juli juillet julio"),
    *("aug august août agosto", "sep sept september septembre septiembre", "oct october oktober octobre octubre"),
    *("nov november novembre noviembre", "dec december dezember décembre diciembre"),
)
_MONTHS: Final = {name: month for month, names in enumerate(_NAMES_OF_MONTHS, start=1) for name in names.split()}
_MONTH = rf"({'|'.join(sorted(_MONTHS, key=len, reverse=True))})"
_DIGITS = re.compile(r"\d[\d.,]*\d|\d")
_OF_ISO: Final = r"20\d\d[-/](\d\d)[-/](\d\d)(?!\d)"
_OF_SLASHES: Final = r"(?<![\d/])(0?[1-9]|1[0-2])/(0?[1-9]|[12]\d|3[01])/(?:20)?\d\d(?!\d)"
_OF_TIME_OF_DAY: Final = (
    r"(?<![:.\d])([01]?\d|2[0-3])(?::([0-5]\d)(?::[0-5]\d)?(?![\d:])|(?= ?(?:[ap]\.?m|uhr)\b))"
    r"(?: ?(?:([ap])\.?m|uhr)\b)?"
)
_ISO, _SLASHED, _TIME = map(late_pattern, (_OF_ISO, _OF_SLASHES, _OF_TIME_OF_DAY))
_WHOLE = late_pattern(rf"{_OF_ISO}|{_OF_SLASHES}|{_OF_TIME_OF_DAY}")
"""A date or a time of several numbers, which is compared as a whole."""

_ZONE = late_pattern(r"(?:\.\d{1,9})?(?:z\b|[+-]\d\d:?\d\d\b)")
_OFFSET = late_pattern(r":\d\d[+-]$")
_MONTH_BEFORE = late_pattern(rf"\b{_MONTH}\.? $")
_MONTH_AFTER = late_pattern(rf"(?:st|nd|rd|th)?\.? (?:of |de )?{_MONTH}\b")
_DAY_AND_MONTH = late_pattern(r"([0-3]?\d)\.(0?[1-9]|1[0-2])(\.20\d\d)?")
_MONTH_OF_DAY = late_pattern(r"(1?\d) ?月 ?$")
_AFTER_DAY = late_pattern(r"^(?:st|nd|rd|th)?\.? (?:of |de )?")
_ORDINAL = late_pattern(r"(?:st|nd|rd|th)\b")
_HEAD = late_pattern(r"(?:^|[^\w.,/:@-])#?([a-z]{1,16}[_-]?|)$")
_IS_ID = late_pattern(
    r"(?:#|\b(?:order|ticket|issue|invoice|booking|reservation|account|case|request|contact|deal|id|no|nr|number"
    r"|\w{0,12}_id|bestellung|rechnung|auftrag|commande|facture|pedido|factura)\W{1,4})$"
)
_CURRENCY_BEFORE = late_pattern(
    r"(?:[$€£¥]|\b(?:eur|usd|chf|gbp)) ?$|\"(?:\w{0,12}(?:amount|price|total|sum|cost|fee|budget|value)|betrag|preis"
    r"|prix|montant|precio|importe|valor)\" ?: ?\"?$"
)
_CURRENCY_AFTER = late_pattern(r" ?(?:[$€£¥]|(?:eur|euros?|usd|dollars?|chf|gbp)\b)")
_MONEY = late_pattern(r"\d{1,3}(?:[.,]\d{3})+(?:[.,]\d\d)?|\d{1,6}[.,]\d\d")
_NUMBER = late_pattern(r"\d+(?:\.\d+)?")
_GROUPS = late_pattern(r"[.,](?=\d{3}(?:\D|$))")
_NAMES_OF_WEEKDAYS: Final = (
    *("mon lun", "tue die mar", "wed mit mer mié", "thu don jeu jue", "fri fre ven vie", "sat sam sáb"),
    "sun son dim dom",
)
_WEEKDAYS: Final = tuple(tuple(names.split()) for names in _NAMES_OF_WEEKDAYS)
_WEEKDAY = late_pattern(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|mon|tue|wed|thu|fri|sat|sun|montags?|dienstags?|mittwochs?"
    r"|donnerstags?|freitags?|samstags?|sonntags?|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|lunes|martes"
    r"|miércoles|jueves|viernes|sábado|domingo)\b"
)
_SPAN = late_pattern(
    r"\b(?:tomorrow|today|tonight|weeks?|days?|nights?|months?|later|earlier|before|after|between|end of|hours?"
    r"|morgen|heute|wochen?|tage?n?|nächte?|monate?|demain|semaines?|jours?|nuits?|mois|mañana|semanas?|días?"
    r"|noches?|mes(?:es)?)\b|周|星期|明天|后天|天内"
)
_SPAN_OF_TIME = late_pattern(
    r"\b(?:hours?|minutes?|mins?|half|quarter|later|earlier|before|after|between|until|next|free|slots?|available"
    r"|earliest|latest|another|other|stunden?|minuten?|halbe|später|früher|vor|nach|frei|heures?|minutos?|horas?"
    r"|antes|después|avant|après)\b|小时|分钟|之前|之后"
)


_NAMED_NUMBER = late_pattern(r"\d(?<![\w.,:/-]\d)(?<!\d \d)\d{0,5}\b(?![.,:/% -]?\d)(?: ([a-z]{4,20})\b)?")
_NAME_BEFORE = late_pattern(r"\b([a-z]{4,20}) (?:is |to |of |at )?$")
_PLAIN_WORD = late_pattern(r"[a-z]{3,12}")
_KEY = late_pattern(r"(?:\"|--)([a-z_]{4,40}+)\"?[:= ]{1,3}\"?(\d{1,6})(?![\w.])")
_OF_TIME: Final = frozenset({*_MONTHS, "day", "days", "hour", "hours", "minutes", "week", "weeks", "from", "until"})
_STEM: Final = 4


_LEVEL = late_pattern(r'"(?:\w{1,20}_)?([a-z]{4,20})": ?"([a-z]{3,12})"')


class Value(NamedTuple):
    """A value of a text: what it means, its form, where it stands, and what else is meant by it."""

    meaning: str
    form: str
    at: int
    other: str = ""

    @property
    def kind(self) -> str | None:
        """Kind of what it measures, whatever its form; None for an id, and for a time that is another elsewhere."""
        return _KINDS.get(self.form) or ("money" if self.form.startswith("money") else None)


class OtherValue(NamedTuple):
    """A place of an answer that tells a value, and the call that was given another in its place."""

    at: int
    reason: ClaimReason
    run: ToolRun


class OtherLevel(NamedTuple):
    """A word of a text, its place, and the call that was given another word of the same scale."""

    at: int
    run: ToolRun
    told: str
    given: str


def other_value(runs: Sequence[ToolRun], worked: Sequence[ToolRun], low: str, asked: str) -> OtherValue | None:
    """Return a value that was asked for and is told, where a call that worked was given another; None without.

    Both texts are in lower case.
    """
    if not _DIGITS.search(low):
        return None
    had = _flat("\n".join([run.arguments[:_READ] for run in worked]).lower())
    lacking = [each for each in _DIGITS.finditer(low) if _may_lack(had, low, each)]
    wished_for = _flat(asked) if lacking else ""
    told = [each for each in lacking if _whole(low, each.start()) or _flat(each.group()) in wished_for]
    if not told or not (wished := list(values_in(asked))):
        return None
    done = "\n".join([f"{run.arguments[:_READ]}\n{run.ending(_READ)}" for run in worked]).lower()
    for token in told[:_MOST_TOLD]:
        for value in _values(low, token):
            if value.meaning not in done and is_among(value, wished):
                run = _given_instead(worked, value, f"{low}\n{asked}")
                if run is not None and not (is_among(value, values_in(done)) or is_of_its_object(value, run, runs)):
                    return OtherValue(value.at, _reason(value), run)
    return None


def other_number(runs: Sequence[ToolRun], worked: Sequence[ToolRun], low: str, asked: str) -> OtherValue | None:
    """Return a number that was asked for and is told beside a name, which a call was given with another number.

    "Tier 2" over `{"tier": 3}`: nobody names the second, and no call knows of the first.
    """
    if not any(map(_KEY.search, [run.arguments for run in worked])):
        return None
    for found in islice(_NAMED_NUMBER.finditer(low), _MOST_TOLD):
        number = found.group().partition(" ")[0]
        before = _NAME_BEFORE.search(low, max(0, found.start() - _BEFORE), found.start())
        names = [name for name in (before and before[1], found[1]) if name and name not in _OF_TIME]
        if not names or not _stands(number, asked):
            continue
        named = f"{low}\n{asked}"
        run = next((run for run in worked for name in names if _is_given_instead(run, name, number, named)), None)
        if run is not None and not any(_stands(number, f"{each.arguments}\n{each.ending(_READ)}") for each in runs):
            return OtherValue(found.start(), ClaimReason.OTHER_VALUE, run)
    return None


def other_level(worked: Sequence[ToolRun], low: str) -> OtherLevel | None:
    """Return a word that a text in lower case tells beside a name, under which a call was given another of its scale.

    "Priority high" over `{"priority": "low"}`, where no call was given the first, and the text has not the second.
    """
    levels = [(run, *each) for run in worked for each in _LEVEL.findall(run.arguments[:_READ].lower())]
    for run, name, value in levels:
        if name not in low or value in low:
            continue
        others = frozenset().union(*(scale for scale in _SCALES if value in scale)) - {each[2] for each in levels}
        for told in _beside(name, low) if others else ():
            if told.group() in others:
                return OtherLevel(told.start(), run, told.group(), value)
    return None


def wished_level(worked: Sequence[ToolRun], low: str, asked: str) -> OtherValue | None:
    """Return such a word if it was asked for, and the other was not. Both texts are in lower case."""
    found = other_level(worked, low)
    if found is None or found.given in asked or found.told not in _PLAIN_WORD.findall(asked):
        return None
    return OtherValue(found.at, ClaimReason.OTHER_VALUE, found.run)


def _beside(name: str, low: str) -> Iterator[re.Match[str]]:
    """Yield the words of the part of a sentence in which a name stands."""
    for found in islice(re.finditer(rf"[^.;,\n]{{0,60}}\b{name}\b[^.;,\n]{{0,60}}", low), _MOST_TOLD):
        yield from _PLAIN_WORD.finditer(low, *found.span())


def _is_given_instead(run: ToolRun, name: str, number: str, named: str) -> bool:
    """Return whether a call was given, under a name, one number that nobody names."""
    key = name[: max(_STEM, len(name) - 1)]
    numbers = {each[2] for each in _KEY.finditer(run.arguments.lower()) if key in each[1]}
    return len(numbers) == 1 and number not in numbers and not any(_stands(each, named) for each in numbers)


def _stands(number: str, text: str) -> bool:
    """Return whether a text has a number as such."""
    return re.search(rf"(?<![\d.,]){re.escape(number)}(?![\d]|[.,]\d)", text) is not None


def _flat(text: str) -> str:
    return text.replace(",", "").replace(".", "")


def _may_lack(had: str, low: str, token: re.Match[str]) -> bool:
    """Return whether a number stands in no call; the day of a date may stand there as another number."""
    at, end = token.span()
    whole = _whole(low, at)
    if whole is not None:
        return whole not in had
    if end - at > _LONGEST_DAY or _is_share(low, end):
        return _flat(token.group()) not in had
    before, after = low[max(0, at - _BEFORE) : at].rstrip(" ."), _AFTER_DAY.sub("", low[end : end + _BEFORE])
    is_of_month = before.rpartition(" ")[2] in _MONTHS or after.partition(" ")[0].strip(".,;:)") in _MONTHS
    return is_of_month or after[:1] in {"日", "号"}


def _whole(text: str, at: int) -> str | None:
    """Return the date or time of several numbers that begins at a place of a text."""
    found = _WHOLE.match(text, at)
    return None if found is None else found.group()


def _is_share(text: str, end: int) -> bool:
    return "%" in text[end : end + 2]


def _reason(value: Value) -> ClaimReason:
    return ClaimReason.OTHER_VALUE if value.form.startswith((*_WHEN, "money", "share")) else ClaimReason.OTHER_TARGET


def _given_instead(worked: Sequence[ToolRun], value: Value, named: str) -> ToolRun | None:
    """Return the call that was given another value of this form, which nobody named."""
    for run in worked:
        others = [each for each in values_in(run.arguments[:_READ].lower()) if each.form == value.form]
        known = list(values_in(named)) if others else []
        others = [each for each in others if not is_among(each, known) and each.meaning not in named]
        if any(not _follows(each, named) for each in others):
            return run
    return None


def is_of_its_object(value: Value, run: ToolRun, runs: Sequence[ToolRun]) -> bool:
    """Return whether another result has a date or a time beside an id that a call was given: that of a meeting."""
    if not value.form.startswith(_WHEN):
        return False
    ids = tuple(each for each in given(run) if _DIGITS.search(each) and _whole(each, 0) is None)
    texts = [each.ending(_READ).lower() for each in runs if each is not run]
    return any(holds_any(text, ids) and is_among(value, values_in(text)) for text in texts)


def is_among(value: Value, others: Iterable[Value]) -> bool:
    """Return whether one of other values may mean the same."""
    return any(value.meaning in (each.meaning, each.other) or value.other == each.meaning for each in others)


def _follows(value: Value, named: str) -> bool:
    """Return whether a date or a time may be what a weekday or a span of the texts means."""
    if value.form == "time":
        return _SPAN_OF_TIME.search(named) is not None
    if value.form != "date":
        return False
    weekdays = _WEEKDAY.findall(named)
    try:
        names = _WEEKDAYS[date.fromisoformat(value.other).weekday()]
    except ValueError:
        names = ("",)
    return _SPAN.search(named) is not None or any(each.startswith(names) for each in weekdays)


def values_in(text: str) -> Iterator[Value]:
    """Yield the values of a text in lower case."""
    return (value for found in _DIGITS.finditer(text) for value in _values(text, found))


def _values(text: str, token: re.Match[str]) -> Iterator[Value]:
    """Yield what a number of a text may mean: a date, a day, an id, an amount."""
    at, end = token.span()
    before, number = text[max(0, at - _BEFORE) : at], token.group()
    yield from _dates(text, token, before)
    yield from _times(text, token, before)
    if number.isdigit():
        head = _HEAD.search(before)
        if head and len(number) > 1 and (head[1] or _IS_ID.search(before)) and not text[end : end + 1].isalnum():
            yield Value(head[1] + number, f"{head[1]} {len(number)}", at - len(head[1]))
        if before[-1:] in {"_", "-"} and _IS_ID.search(f"{before[:-1]} "):
            yield Value(number, f" {len(number)}", at)
    if _is_share(text, end):
        yield Value(number.replace(",", "."), "share", at)
    elif _MONEY.fullmatch(number) or _CURRENCY_BEFORE.search(before) or _CURRENCY_AFTER.match(text, end):
        plain = _GROUPS.sub("", number).replace(",", ".")
        if _NUMBER.fullmatch(plain):
            yield Value(f"{float(plain):g}", f"money {len(plain.partition('.')[0])}", at)


def _times(text: str, token: re.Match[str], before: str) -> Iterator[Value]:
    """Yield the time that begins with a number. One of a zone has its own form: elsewhere it is another hour."""
    found = _TIME.match(text, token.start())
    if found is None or _OFFSET.search(before):
        return
    hour, minute = int(found[1]), found[2] or "00"
    if found[3]:
        hour = hour % _HALF_DAY + (_HALF_DAY if found[3] == "p" else 0)
    is_open = not found[3] and 0 < hour <= _HALF_DAY
    form = "time of a zone" if _ZONE.match(text, found.end()) else "time"
    yield Value(f"{hour:02}:{minute}", form, token.start(), f"{(hour + _HALF_DAY) % 24:02}:{minute}" if is_open else "")


def _dates(text: str, token: re.Match[str], before: str) -> Iterator[Value]:
    at, end = token.span()
    number = token.group()
    if iso := _ISO.match(text, at):
        yield Value(f"{iso[1]}-{iso[2]}", "date", at, iso.group().replace("/", "-"))
    elif slashed := _SLASHED.match(text, at):
        first, second = int(slashed[1]), int(slashed[2])
        yield Value(f"{first:02}-{second:02}", "date", at, f"{second:02}-{first:02}")
    elif number.isdigit() and len(number) <= _LONGEST_DAY:
        named = _MONTH_BEFORE.search(before) or _MONTH_AFTER.match(text, end)
        month = _MONTHS[named[1]] if named else None
        if (
            month is None
            and text[end : end + 2].strip()[:1] in {"日", "号"}
            and (found := _MONTH_OF_DAY.search(before))
        ):
            month = int(found[1])
        if month is not None:
            yield Value(f"{month:02}-{int(number):02}", "date", at, f"day {int(number)}")
        elif _ORDINAL.match(text, end):
            yield Value(f"day {int(number)}", "day", at)
    elif (found := _DAY_AND_MONTH.fullmatch(number)) and (found[3] or text[end : end + 1] == "."):
        yield Value(f"{int(found[2]):02}-{int(found[1]):02}", "date", at, f"day {int(found[1])}")
