"""Signs in the answer of a tool's call: whether it denies what its envelope says, and whether it was only a draft."""

from __future__ import annotations

from typing import Final, NamedTuple

from grader_daemon.analysis.claims.evidence import ToolRun, once
from grader_daemon.domain.late_pattern import late_pattern
from grader_daemon.domain.phrases import holds_any

LONGEST: Final = 600
"""Length of an answer that is read: one that denies is short, and others are data."""

_SIGNS: Final = (
    *("fals", "err", "fail", "not", "refus", "reject", "declin", "denied", "ignored", "bounc", "conflict", "draft"),
    *("preview", "skipped", "unchanged", "no changes", "rolled", "unknown", "blocked", "invalid", "abort", "dry"),
    *"cart carrito panier rechaz chec abgelehnt fehl http rollback held await approv review".split(),
    *("propos", "unpaid", "tentativ", "unable"),
    *('ed": 0', 'nt": 0', 'us": 4', 'us": 5', 'de": 4', 'de": 5'),
    *("0 row", "0 rec", "0 doc", "0 item", "0 entr", "no row", "no rec", "no doc", "no item", "no entr"),
    *("ed: 0", "ows: 0", "update 0", "delete 0", "insert 0"),
)
"""Pieces of which each answer with a sign has one: most have none, and are not read."""

_GIVEN_SIGNS: Final = ("draft", "preview", "dry", "simul", "false", "Draft", "validat")
_MAY_BE_DONE: Final = ("timeout", "timed out", "time-out", "still running", "already", "exist", "duplicate", "progress")

_STATES: Final = frozenset(
    {"status", "state", "outcome", "result", "response", "r", "deliverystate", "delivery", "delivery_status"}
    | {"send_status", "payment_status", "estado", "etat", "état", "statut", "stato", "ergebnis"}
)
_REFUSED: Final = (
    *("refused", "rejected", "declined", "denied", "failed", "failure", "error", "ignored", "bounced", "undelivered"),
    *("notdelivered", "not_", "not ", "conflict", "edit-conflict", "blocked", "aborted", "invalid", "unknown"),
    *("rechazad", "fallid", "échec", "echec", "refusé", "abgelehnt", "fehlgeschlagen"),
)
_DONE_STATES: Final = ("sent", "ok", "updated", "created", "done", "success", "moved", "tagged", "delivered", "booked")
_DEEDS: Final = frozenset(
    {"ok", "success", "succeeded", "issuccess", "saved", "sent", "updated", "created", "delivered", "stored"}
    | {"inserted", "applied", "accepted", "persisted", "committed", "published", "booked", "removed", "deleted"}
    | {"moved", "done", "gespeichert", "gesendet", "eingefuegt", "actualizado", "guardado", "enviado", "envoye"}
)
_COUNTED: Final = frozenset(
    {"rows_affected", "affected_rows", "rowsaffected", "rows_updated", "accepted", "sent", "delivered", "inserted"}
    | {"updated", "modified", "merged", "updatedcells", "created", "imported", "changed", "done"}
)
_LEFT_OUT: Final = frozenset({"skipped", "failed", "rejected", "failures", "not_found", "ignored", "unchanged"})
_ERRORS: Final = frozenset({"error", "err", "erreur", "fehler", "exception", "errors"})
_CODES: Final = frozenset({"status", "code", "statuscode", "status_code", "http"})
_DENYING: Final = _ERRORS | _LEFT_OUT | _DEEDS | _CODES | _STATES
_NOTHING: Final = frozenset({"null", "none", "false", "0"})
_FIRST_ERROR: Final = 400
_LAST_ERROR: Final = 599

_DRAFT_STATES: Final = (
    *("draft", "preview", "cart", "carrito", "panier", "warenkorb", "dry", "simulat", "entwurf", "brouillon"),
    *("borrador", "held", "proposed", "unpaid", "tentative", "validate_only"),
)
_WAITING: Final = (
    *("pending_approval", "pending approval", "pending_review", "pending review", "awaiting", "under_review"),
    *("under review", "in_review", "in review", "needs_approval", "needs_review"),
)
"""States of what somebody has still to approve."""

_DRAFTED: Final = frozenset(
    {"preview", "dry_run", "dryrun", "draft", "simulate", "validate_only", "validateonly", "is_draft"}
)
_KEPT: Final = frozenset({"saved", "published", "persisted", "publish", "save", "commit", "send"})
_PLACES: Final = _STATES | {"mode", "folder", "labelids"}
_DRAFTING: Final = _DRAFTED | _KEPT | _PLACES

_IN_WORDS: Final = (
    *("not saved", "not sent", "not delivered", "not stored", "not updated", "not changed", "not applied"),
    *("not created", "not posted", "not booked", "not queued", "nicht gespeichert", "nicht gesendet", ">false<"),
    *("error:", "failed:", ": failed", ": error", ": rejected", ", unchanged", ": unchanged", ": skipped"),
    *(
        "unable to ",
        "exception>",
        "permission denied",
        "access denied",
        "no changes written",
        "rolled back",
        "not written",
    ),
)
_FIELDS: Final = ('":', '\\":')
_PASSED: Final = frozenset({"passed", "pass", "valid", "is_valid", "success", "clean"})
_FOUND: Final = frozenset(
    {"failed", "failures", "errors", "invalid", "conflicts", "issues", "corrupt", "unresolved", "broken", "violations"}
    | {"unsupported", "problems"}
)
"""What a check counts or lists as wrong."""

_BEGINS_REFUSING = late_pattern(r"(?:http\S{0,5} )?[45]\d\d\b")
_COUNTED_THINGS: Final = r"(?:rows?|records?|documents?|items?|entr(?:y|ies))(?:\(s\))?"
_CHANGED: Final = r"(?:affected|updated|changed|modified|deleted|removed|inserted)"
_NONE_AFFECTED = late_pattern(
    rf"(?<![\d.,])(?:0|no|zero) {_COUNTED_THINGS} (?:were |was )?{_CHANGED}\b"
    rf"|\b{_COUNTED_THINGS} {_CHANGED}\W{{1,3}}0(?![\d.,]?\d)|\b{_CHANGED} {_COUNTED_THINGS}\W{{1,3}}0(?![\d.,]?\d)"
    r"|(?:^|\n)(?:update|delete|insert 0) 0\s*$"
)
_SOME_AFFECTED = late_pattern(
    rf"(?<![\d.,])[1-9]\d{{0,8}} (?:{_COUNTED_THINGS} )?(?:were |was )?[a-z]{{3,12}}ed\b|\bmatched: [1-9]"
)
_OF_TABLES = late_pattern(r"\b(?:create|alter|drop|truncate|rename|grant|revoke) ")
"""Statements that affect no row however well they do."""

_ROLLED_BACK = late_pattern(r"(?:^|\n)rollback\s*$")
_DONE_LINE = late_pattern(r"(?:: | )(?:updated|sent|ok|done|tagged|created|moved)\s*$")
_PAIR = late_pattern(r'"([a-z_é]{1,24})": ?[\[\s"]{0,12}([^\s",}\]\[][^",}\]]{0,39})')
_GIVEN = late_pattern(r'[:\[,] ?(?:"([^"\\]{2,80})"(?! ?:)|(\d{2,}))')


class Answered(NamedTuple):
    """Signs of a call: not done, done in part, only drafted; open, where it may be done, or was before.

    `is_waiting`: what was drafted waits for an approval.
    """

    is_denied: bool = False
    is_done: bool = False
    is_drafted: bool = False
    is_open: bool = False
    is_waiting: bool = False


@once
def answered(run: ToolRun) -> Answered:
    """Return the signs in the result of a call, and in what it was given."""
    result = run.ending(LONGEST + 1).lower()
    if len(result) > LONGEST:
        return Answered(is_open=True)
    fields = _PAIR.findall(run.arguments.lower()) if holds_any(run.arguments, _GIVEN_SIGNS) else []
    is_drafted = any(key in _DRAFTING and _drafts(key, value) for key, value in fields)
    if run.worked is not False and not holds_any(result, _SIGNS):
        return Answered(is_drafted=is_drafted)
    if holds_any(result, _MAY_BE_DONE):
        return Answered(is_open=True)
    plain = result.replace('\\"', '"')
    pairs = _PAIR.findall(plain)
    is_drafted = is_drafted or any(key in _DRAFTING and _drafts(key, value) for key, value in pairs)
    is_waiting = any(key in _PLACES and value.startswith(_WAITING) for key, value in pairs)
    is_denied = _tells_denied(plain, pairs) or _affects_none(run, plain)
    return Answered(is_denied, _tells_done(plain, pairs), is_drafted or is_waiting, is_waiting=is_waiting)


@once
def passed(run: ToolRun) -> bool | None:
    """Return whether a result says that a check passed; None if it says nothing of it."""
    result = run.ending(LONGEST + 1).lower()
    if len(result) > LONGEST or not holds_any(result, _FIELDS):
        return None
    signs = {sign for pair in _PAIR.findall(result.replace('\\"', '"')) if (sign := _passes(*pair)) is not None}
    return all(signs) if signs else None


@once
def given(run: ToolRun) -> list[str]:
    """Return the texts and numbers that a call was given, in their order and in lower case."""
    return [text or number for text, number in _GIVEN.findall(run.arguments.lower())]


def _passes(key: str, value: str) -> bool | None:
    if key in _FOUND:
        return value in _NOTHING
    if key in _PASSED and value in {"true", "false"}:
        return value == "true"
    if key not in _STATES:
        return None
    if value.startswith(("ok", "pass", "succe", "valid")):
        return True
    return False if value.startswith(("fail", "inval")) else None


def _tells_denied(plain: str, pairs: list[tuple[str, str]]) -> bool:
    counts = {value != "0" for key, value in pairs if key in _COUNTED and value.isdigit()}
    return (
        counts == {False}
        or any(key in _DENYING and _denies(key, value) for key, value in pairs)
        or plain.startswith(_REFUSED)
        or holds_any(plain, _IN_WORDS)
        or _BEGINS_REFUSING.match(plain) is not None
        or _ROLLED_BACK.search(plain) is not None
    )


def _affects_none(run: ToolRun, plain: str) -> bool:
    """Return whether a result says that no row was changed, of a call that was there to change some."""
    found = _NONE_AFFECTED.search(plain)
    return found is not None and not (_SOME_AFFECTED.search(plain) or _OF_TABLES.search(run.arguments.lower()))


def _tells_done(plain: str, pairs: list[tuple[str, str]]) -> bool:
    """Return whether a result says of anything that it was done."""
    return any(
        (key in _COUNTED and value.isdigit() and value != "0") or (key in _STATES and value.startswith(_DONE_STATES))
        for key, value in pairs
    ) or any(map(_DONE_LINE.search, plain.split("\n")))


def _denies(key: str, value: str) -> bool:
    """Return whether a field says that it was not done."""
    if key in _ERRORS or key in _LEFT_OUT:
        return value not in _NOTHING
    if value == "false":
        return key in _DEEDS
    if value.isdigit():
        return key in _CODES and _FIRST_ERROR <= int(value) <= _LAST_ERROR
    return key in _STATES and value.startswith(_REFUSED)


def _drafts(key: str, value: str) -> bool:
    """Return whether a field says that it was only drafted or tried."""
    if value in {"true", "false"}:
        return key in (_DRAFTED if value == "true" else _KEPT)
    return key in _PLACES and value.startswith(_DRAFT_STATES)
