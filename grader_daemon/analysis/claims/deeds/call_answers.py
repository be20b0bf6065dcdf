"""Signs in the result of a call of how it went: that it was done, not done, done in part, or only drafted.

A status in the envelope says little: agents' tools answer "ok" around an inner error. So the fields are read at every
depth, and the lines of a text; what a result tells the agent to say is none of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final, NamedTuple

import msgspec

from grader_daemon.analysis.claims.deeds.deed_words import word_set
from grader_daemon.domain.late_pattern import late_pattern
from grader_daemon.domain.phrases import holds_any

_EXAMINED: Final = 8_000
_DEEPEST: Final = 6
_MOST_FIELDS: Final = 80
_MOST_LINES: Final = 200
_LONGEST_LINE: Final = 300

_ERRORS: Final = word_set("error errors err erreur fehler errormessage exception failure motivo")
_NO_ERRORS: Final = frozenset(("", "none", "null", "no error", "no errors", "0", "ok", "false", "success"))
_FLAGS: Final = word_set(
    """
    ok success succeeded successful sent updated created applied booked accepted delivered scheduled done deleted moved
    changed completed cancelled refunded added issuccess
    """
)
"""Fields that are true where it was done."""

_FAILED_FLAGS: Final = word_set("iserror failed error rejected declined haserrors")
_KEPT: Final = word_set("saved committed published publish persisted submitted finalized commit executed")
_TRIED: Final = word_set("dryrun preview simulate simulated draft isdraft validateonly")
_STATES: Final = (
    *("status", "state", "result", "outcome", "estado", "statut", "etat", "état", "zustand", "resultado", "folder"),
    *("mode", "stage", "phase", "ergebnis"),
)
_DENIES: Final = late_pattern(
    r"\b(?:errors?|fail\w{0,4}|reject\w{0,3}|declined?|denied|refused?|ignored|skipped|bounced|unchanged|invalid|expired"
    r"|not \w{3,14}|notfound|conflict|aborted|rolled back|forbidden|unauthorized|blocked|unavailable|noop"
    r"|no op|undelivered|échec|echec|erreur|fallido|rechazad[oa]|fehlgeschlagen|abgelehnt|fehler|refusée?)\b"
)
_DRAFTS: Final = late_pattern(
    r"\b(?:drafts?|preview|cart|carrito|basket|panier|warenkorb|dry ?run|simulat\w{2,4}|unsaved|brouillon|borrador"
    r"|entwurf|proposed|unsent|tentative|provisional|unconfirmed|held|hold)\b"
)
_COUNTS: Final = word_set(
    """
    rowsaffected affectedrows affected updated modified merged inserted deleted sent accepted created changed moved
    matchedcount modifiedcount imported loaded fusionnees delivered copied updatedcount rowsupdated updatedrows rowcount
    tagged added removed replaced replacements rowswritten archived updatedcells written processed exported migrated
    """
)
_FAIL_COUNTS: Final = word_set("failed failures rejected skipped errors bounced failedcount conflicts")
_CODES: Final = word_set("status code statuscode httpstatus")
_SAID: Final = word_set(
    """
    message detail details msg output stderr text content reason info warning warnings note stdout result remark remarks
    """
)
_HTTP_ERRORS: Final = range(400, 600)
_WORDS: Final = late_pattern(r"[A-ZÀ-Ý]?[a-zà-ÿ]+|[A-Z]+(?![a-z])")
_TAG: Final = late_pattern(r"<(?:\w{1,20}:)?([\w-]{1,40})>([^<>]{1,120})</")
_CODE: Final = late_pattern(r"<\w{1,30} code=\"(\d{3})\"")
_ALREADY: Final = late_pattern(
    r"\balready (?:exists?|done|cancell?ed|in|sent|set|member|there)\b|\bexists?$|\bfile exists\b"
)
"""Words by which it was done before."""

_LINE_DENIED: Final = late_pattern(
    r"\bhttp(?:/[\d.]{1,3})? ?[45]\d\d\b|^\W{0,3}[45]\d\d [a-z]|\b(?:status|code|returned)\W{1,3}[45]\d\d\b"
    r"|^[\W\d]{0,6}(?:<?tool_use_)?(?:error|fatal|failed|failure|traceback|denied|rejected|refused|aborted|fehler)\b"
    r"|\b(?<!if )not (?:saved|sent|found|created|updated|applied|allowed|permitted|authori[sz]ed|delivered|moved"
    r"|deleted|changed|eligible|possible|booked|accepted|available|supported|stored|modified|written)\b"
    r"|\b(?:permission|access|relay|request) denied\b|\b(?:could not|couldn't|cannot|can't|unable to|failed to)\b"
    r"|\bunknown (?:id|user|recipient|customer|order|contact|record|address|mailbox)\b|\bdoes ?n[o']t exist\b"
    r"|\b(?:0|no) (?:rows?|records?|messages?|items?|files?|changes?|recipients?) (?:\w{1,12} )?"
    r"(?:affected|updated|changed|accepted|sent|modified|moved|copied|inserted|deleted|written|made|matched|queued)\b"
    r"|\b(?:rows affected|affected rows|updated|modified)\W{1,3}0\b|^(?:update|delete|insert 0) 0$"
    r"|\broll(?:ed|ing) back\b|:\s*(?:failed|unchanged|skipped|rejected|error|refused|bounced)\b|, unchanged$"
    r"|\bnicht (?:gespeichert|gesendet|gefunden|zugestellt|möglich|erlaubt)\b|\bno (?:se (?:guardó|envió)"
    r"|encontrad[oa])\b|\bnon (?:enregistrée?|trouvée?)\b|\bintrouvable\b|\béch(?:ec|oué)\b|\brechazad[oa]\b"
    r"|\bno permitido\b|\bquota (?:exceeded|exhausted)\b|\b(?:is|was) (?:locked|read-only|declined|rejected)\b"
)
_LINE_HINTS: Final = (
    *("error", "fatal", "fail", "traceback", "denied", "reject", "refuse", "abort", "fehler", "not ", "n't", "unable"),
    *(
        "unknown ",
        "exist",
        "no ",
        "0",
        "roll",
        "unchanged",
        "skipped",
        "bounced",
        "nicht ",
        "non ",
        "introuvable",
        "éch",
    ),
    *("rechazad", "quota", "locked", "read-only", "declined"),
)
"""Parts of words, of which one stands in a text that denies, if no code of HTTP does."""

_ERROR_CODE: Final = late_pattern(r"[45]\d\d")
_LINE_DONE: Final = late_pattern(
    r"\b(?:success(?:ful(?:ly)?)?|updated|created|sent|added|saved|done|ok|moved|deleted|tagged|applied|copied"
    r"|installed|imported|loaded|merged|inserted|succeeded|completed?)\b"
)
_LINE_DRAFTED: Final = late_pattern(
    r"\b(?:saved|stored|created|left|kept) (?:\w+ ){0,3}(?:as (?:an? )?|in (?:your )?|to (?:your )?)drafts?\b"
    r"|\bdry[- ]run\b|\bdraft (?:\w+ )?(?:created|saved|stored)\b|\bpreview only\b"
    r"|\bno changes (?:written|made|applied)\b|\bnot (?:yet )?(?:committed|sent|published|persisted)\b"
)
_NO_LINES: Final = ("http", "[", "<")
_AMISS: Final = (
    *(
        "error",
        "fail",
        "fatal",
        "denied",
        "refused",
        "rolled back",
        "rolling back",
        "rejected",
        "skip",
        "no space",
        "[dry",
    ),
    *("password", "would ", "dry-run", "dry run", "err ", "unchanged", "cannot", "abort"),
)
"""Parts of words, of which one stands in an output that tells of anything amiss."""

_SHELL_DENIED: Final = late_pattern(
    r"^(?:[\w./-]{1,40}: ){0,2}(?:error|fatal|failed|failure|err)\b|\b(?:\w{2,40}error|error): |: (?:failed|skipped)\b"
    r"|^failed to\b|\bpermission denied\b|\broll(?:ed|ing) back\b|\bno space left\b|\brc=[1-9]|\bincorrect password\b"
    r"|! \[\w{0,8} ?rejected|'ok': false|\bcannot (?:open|create|write|decode|process|remove|copy)\b"
    r"|\b[1-9]\d{0,4} failed\b|\] \S{1,20} skip\b|^skipped?\b|\bfailed=[1-9]|, unchanged$"
    r"|\bconnection (?:refused|lost|closed)\b|^rollback$|^aborted\b|\b(?:update|delete) 0$"
    r"|\b0 rows? (?:affected|updated)"
)
_SHELL_DONE: Final = late_pattern(
    r"\b(?:ok|done|success(?:ful|fully)?|succeeded|created|copied|complete[d]?|true|passed|exported|sent)\b"
)
_SHELL_DRAFTED: Final = late_pattern(
    r"\[dry[- _]?(?:run)?\]|\bdry[- ]run\b|\bno changes (?:written|made|applied)\b|^would \w+ "
)


class Answered(NamedTuple):
    """The parts of a result, in lower case, that say that something was denied, done, or drafted only."""

    denied: tuple[str, ...] = ()
    done: tuple[str, ...] = ()
    drafts: tuple[str, ...] = ()

    @property
    def is_denied(self) -> bool:
        """True if it was not done."""
        return bool(self.denied) and not self.done

    @property
    def is_in_part(self) -> bool:
        """True if some of it was not done."""
        return bool(self.denied and self.done)


_DENIED, _DONE, _DRAFTED = "denied", "done", "drafted"
_Sign = tuple[str, str]
"""Kind of a sign, and the part of a result that bears it."""


def answered(text: str) -> Answered:
    """Return what a result says of its call."""
    text = text if len(text) <= _EXAMINED else text[: _EXAMINED // 2] + "\n" + text[-_EXAMINED // 2 :]
    document = document_in(text)
    signs = list(_in_text(text) if document is None else _in_value(document, 0))
    return Answered(*(tuple(part for kind, part in signs if kind == each) for each in (_DENIED, _DONE, _DRAFTED)))


def may_be_amiss(text: str) -> bool:
    """Return whether a command's output has any word by which it tells that something was not done."""
    return holds_any(text.lower(), _AMISS)


def answered_by_shell(low: str) -> Answered:
    """Return what the lines of a command's output, in lower case, say of what it did."""
    if not holds_any(low, _AMISS):
        return Answered()
    lines = [line.strip()[:_LONGEST_LINE] for line in low.splitlines()[-_MOST_LINES:]]
    telling = [line for line in lines if holds_any(line, _AMISS)]
    denied = tuple(line for line in telling if _SHELL_DENIED.search(line))
    done = tuple(line for line in lines if denied and line not in denied and _SHELL_DONE.search(line))
    return Answered(denied, done, tuple(line for line in telling if _SHELL_DRAFTED.search(line)))


def document_in(text: str) -> object:
    """Return the JSON that a text is; None where it is another text."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None


def _in_value(value: object, depth: int) -> Iterator[_Sign]:
    """Yield the signs in a value; each item of a list is a part by itself, and says the worst of its fields."""
    if isinstance(value, dict) and depth <= _DEEPEST:
        yield from _in_object(value, depth)
    elif isinstance(value, list) and depth <= _DEEPEST:
        for each in value[:_MOST_FIELDS]:
            kinds = {kind for kind, _ in _in_value(each, depth + 1)}
            worst = next((kind for kind in (_DENIED, _DRAFTED, _DONE) if kind in kinds), None)
            if worst is not None:
                yield worst, msgspec.json.encode(each).decode().lower()


def _in_object(fields: Mapping[str, object], depth: int) -> Iterator[_Sign]:
    """Yield the signs in an object: a denial in it, at any depth, outweighs what its envelope says of success."""
    signs = [sign for key, value in islice(fields.items(), _MOST_FIELDS) for sign in _in_field(key, value)]
    if any(kind == _DONE and part[-1].isdigit() for kind, part in signs):
        signs = [(kind, part) for kind, part in signs if not (kind == _DENIED and part.endswith(": 0"))]
    inner = [sign for value in fields.values() for sign in _in_value(value, depth + 1)]
    is_amiss = any(kind != _DONE for kind, _ in signs) or any(kind == _DENIED for kind, _ in inner)
    is_counted = any(kind == _DONE and part[-1].isdigit() for kind, part in signs)
    yield from (sign for sign in signs if sign[0] != _DONE or not is_amiss or (is_counted and sign[1][-1].isdigit()))
    yield from inner


def _in_field(key: str, value: object) -> Iterator[_Sign]:
    """Yield what a field says by its name and value."""
    name = "".join(filter(str.isalnum, key.lower()))
    if isinstance(value, str) and name not in _ERRORS | _FAIL_COUNTS:
        yield from _said(name, value)
        return
    kind = _flagged(name, value=value) if isinstance(value, bool) else _numbered(name, value)
    if kind:
        yield kind, f"{key}: {value}".lower()


def _flagged(name: str, *, value: bool) -> str:
    if name in _TRIED:
        return _DRAFTED if value else ""
    if name in _KEPT:
        return _DONE if value else _DRAFTED
    if name in _FAILED_FLAGS:
        return _DENIED if value else ""
    return ("", _DONE if value else _DENIED)[name in _FLAGS]


def _numbered(name: str, value: object) -> str:
    """Return what a number, a list or an object says as the value of a field."""
    if name in _ERRORS | _FAIL_COUNTS:
        said = str(value or "").strip().lower()
        return "" if said in _NO_ERRORS or _ALREADY.search(said) else _DENIED
    if not isinstance(value, int):
        return ""
    if name in _COUNTS:
        return _DONE if value else _DENIED
    return _DENIED if name in _CODES and value in _HTTP_ERRORS else ""


def _said(name: str, value: str) -> Iterator[_Sign]:
    """Yield what the text of a field says: a state, a message, or a document within."""
    if name.endswith(_STATES) or name == "r":
        words = " ".join(_WORDS.findall(value[:_LONGEST_LINE])).lower()
        told = ((_DENIED, _DENIES), (_DRAFTED, _DRAFTS), (_DONE, _LINE_DONE))
        yield from islice(((kind, f"{name}: {value}".lower()) for kind, says in told if says.search(words)), 1)
    elif name in _SAID:
        inner = document_in(value)
        yield from _in_text(value) if inner is None else _in_value(inner, 1)


def _in_text(text: str) -> Iterator[_Sign]:
    """Yield the signs in the lines of a text, in the fields of XML, and in lines that are JSON."""
    low = text.lower().replace("\\n", "\n")
    for tag in islice(_TAG.finditer(low), _MOST_FIELDS) if "</" in low else ():
        yield from _in_field(tag[1], {"true": True, "false": False}.get(tag[2].strip(), tag[2]))
    if any(int(code) in _HTTP_ERRORS for code in _CODE.findall(low)):
        yield _DENIED, low[:_LONGEST_LINE]
    may_deny = holds_any(low, _LINE_HINTS) or _ERROR_CODE.search(low) is not None
    for line in low.splitlines()[:_MOST_LINES]:
        inner = document_in(line)
        said = line[:_LONGEST_LINE].strip()
        yield from _in_line(said, may_deny=may_deny) if inner is None else _in_value(inner, 1)


def _in_line(line: str, *, may_deny: bool) -> Iterator[_Sign]:
    if may_deny and _LINE_DENIED.search(line) and not _ALREADY.search(line):
        yield _DENIED, line
    elif _LINE_DRAFTED.search(line):
        yield _DRAFTED, line
    elif not line.startswith(_NO_LINES) and _LINE_DONE.search(line):
        yield _DONE, line
