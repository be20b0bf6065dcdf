"""Secrets out of text before anything is stored, logged, exported or shown.

Agents write keys down in requests, arguments and answers. Two things give a secret away: a form that nothing else has
(`forms`), and what it is called or used for (`names`, `options`, `spoken`). What neither tells stays: a word without a
name in front of it, digits alone, a hash, a name in a language whose word for it is not known here. All look at text
without the escapes in it (`encoded`).
"""

from grader_daemon.analysis.redaction.addresses import ADDRESSES
from grader_daemon.analysis.redaction.forms import FORMS
from grader_daemon.analysis.redaction.names import NAMES
from grader_daemon.analysis.redaction.options import OPTIONS
from grader_daemon.analysis.redaction.redactor import Redactor
from grader_daemon.analysis.redaction.spans import MARK
from grader_daemon.analysis.redaction.spoken import SPOKEN
from grader_daemon.domain.rules import RedactionRules

SECRETS = Redactor([*FORMS, *NAMES, *OPTIONS, *SPOKEN])
SECRETS_AND_ADDRESSES = Redactor([*FORMS, *NAMES, *OPTIONS, *SPOKEN, *ADDRESSES])


def redactor_of(rules: RedactionRules) -> Redactor:
    """Give the redactor that the rules ask for."""
    return SECRETS_AND_ADDRESSES if rules.emails else SECRETS


__all__ = ["MARK", "SECRETS", "SECRETS_AND_ADDRESSES", "Redactor", "redactor_of"]
