"""Removal of secrets from text before it is stored, logged, exported or shown.

Agents write keys down in requests, arguments and answers. Two things give a secret away: a form that nothing else has
(`forms`), and what it is called or used for (`names`, `option_values`). What neither tells stays: a word without a
name in front of it, digits alone, a hash, a name in a language whose word for it is not known here. All look at text
without the escapes in it (`encoded`).
"""

from grader_daemon.domain.limits import LONGEST_NAME
from grader_daemon.domain.rules import RedactionRules
from grader_daemon.domain.text import clean
from grader_daemon.redaction.finders import MARK, Packed
from grader_daemon.redaction.forms import ADDRESSES, FORMS
from grader_daemon.redaction.names import NAMES
from grader_daemon.redaction.option_values import OPTIONS
from grader_daemon.redaction.redactor import MARGIN, Redactor

_DIGITS = 12

_PLAIN = (*FORMS, *NAMES, *OPTIONS)
_PACKED = Packed(Redactor(_PLAIN).has_secret)

SECRETS = Redactor([*_PLAIN, _PACKED])
SECRETS_AND_ADDRESSES = Redactor([*_PLAIN, _PACKED, *ADDRESSES])


def redactor_of(rules: RedactionRules) -> Redactor:
    """Return the redactor that the rules ask for."""
    return SECRETS_AND_ADDRESSES if rules.emails else SECRETS


def public_id(session_id: str) -> str:
    """Return the id by which a session is known, stored and shown: whoever starts a session may name it as they like.

    It is the one in the file if that is printable, at most 256 characters long and holds no secret. Else it is what can
    be shown of it, and a digest of all: two ids stay two, and the same one stays the same, whatever the rules say.
    """
    shown = clean(SECRETS.redact(session_id))
    if shown == session_id and len(session_id) <= LONGEST_NAME:
        return session_id
    from hashlib import sha256  # OpenSSL comes with it; hardly any session needs it

    digest = sha256(session_id.encode("utf-8", "replace")).hexdigest()[:_DIGITS]
    return f"{shown[: LONGEST_NAME - _DIGITS - 1]}-{digest}"


__all__ = ["MARGIN", "MARK", "SECRETS", "SECRETS_AND_ADDRESSES", "Redactor", "public_id", "redactor_of"]
