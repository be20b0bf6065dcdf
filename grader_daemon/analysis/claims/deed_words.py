"""Words of answers on deeds of tools: those that tell one as done, as finished, as failed, or that admit anything."""

from __future__ import annotations

from grader_daemon.analysis.claims.clauses import is_denied, is_of_nothing
from grader_daemon.domain.late_pattern import late_pattern

FINISHED = late_pattern(
    r"\b(?:sent|e-?mailed|mailed|published|saved|stored|booked|ordered|submitted|placed|posted|imported|applied|filed"
    r"|is out|is live|veröffentlicht|gesendet|versendet|verschickt|gespeichert|bestellt|gebucht|envoyée?s?"
    r"|publiée?s?|enregistrée?s?|commandée?s?|enviad[oa]s?|publicad[oa]s?|guardad[oa]s?"
    r"|confirmed|paid|transferred|bestätigt|bezahlt|confirmée?s?|payée?s?|confirmad[oa]s?|pagad[oa]s?)\b"
    r"|已发|已保存|已发布|已提交|已确认|已支付"
)
SUBMITTED = late_pattern(r"\b(?:submitted|filed|requested|request|applied|application|approv\w{1,5}|reviews?)\b")
ADMITS = late_pattern(
    r"\b(?:not|no|never|without|fail(?:s|ed|ure)?|could|unable|cannot|refus\w{0,4}|reject\w{0,4}|declin\w{0,4}|denied"
    r"|errors?|however|but|except|instead(?! of)|only|skipp?\w{0,4}|missing|unfortunately|although|though|still|yet"
    r"|already|left|remain\w{0,3}|others?|retr\w{1,4}|attempts?|partial\w{0,2}|draft\w{0,3}|preview\w{0,3}|dry"
    r"|cart|basket|pending|queued|conflicts?|expired|unavailable|full|so (?:i|we)"
    r"|locked|warnings?|problems?|sorry(?! (?:for|about) the (?:wait|delay|trouble))"
    r"|nicht|kein\w{0,2}|konnte\w{0,2}|leider|aber|ohne|fehl\w{0,12}|entwurf"
    r"|gesperrt|pas|non|mais|sauf|erreur|brouillon|impossible|échou\w{1,3}|pero|salvo|falló|borrador|sin"
    r"|would|não|nie|niet|geen|kon|ikke|inte|не|bounc\w{2,3})\b|n't|❌|⚠|✗|未|没|失败|但|草稿"
)
"""Words of an answer that may admit that something was not done."""

FAILS = late_pattern(
    r"\b(?:fail(?:s|ed|ing|ures?)?|could|couldn't|unable|cannot|can't|refus\w{0,4}|denied|unfortunately|konnte\w{0,2}|leider"
    r"|fehlgeschlagen|échou\w{1,3}|falló)\b|❌|⚠|✗|失败|未能|无法"
)
"""Words of an answer that tell of something that failed."""

_DEED_WORDS = """
    sent emailed e-mailed mailed messaged notified informed told replied forwarded posted booked rebooked reserved
    scheduled rescheduled cancelled canceled refunded returned exchanged ordered placed submitted issued charged
    credited paid transferred moved renamed merged assigned approved closed reopened archived removed deleted
    dropped added created updated changed set logged recorded registered subscribed unsubscribed invited imported
    uploaded exported saved stored published shared filed applied enabled disabled activated upgraded downgraded
    restarted restored reset flagged tagged marked converted attached extended arranged processed completed rolled
    deployed migrated loaded appended inserted replaced copied synced corrected fixed cleaned pushed released renewed
    rotated granted revoked escalated reassigned cleared
    """
_DEED = rf"(?:{'|'.join(_DEED_WORDS.split())})"
_TELLS_DONE = late_pattern(
    rf"\b(?:{_DEED}|now|in place|up to date|live|done|(?:is|are) (?:in|on|out|set)|ist|sind|steht|liegt|wurden?|habe"
    r"|ge[a-z]{2,12}[tn]|[a-z]{2,12}iert|est|sont"
    r"|j'ai|[a-z]{2,12}ée?s?|están?|[a-z]{2,12}[ai]d[oa]s?|[a-z]{3,12}[aiu]t[oaie])\b|[✅✔✓已了]"
)


def tells_done(sentence: str) -> bool:
    """Return whether a sentence tells something as done."""
    low = plain(sentence)
    found = _TELLS_DONE.search(low)
    return found is not None and not is_denied(low[: found.end()]) and not is_of_nothing(low[found.end() :])


def tells_finished(sentence: str) -> bool:
    """Return whether a sentence tells that something is sent, stored or done for good."""
    return tells_done(sentence) or FINISHED.search(plain(sentence)) is not None


def plain(text: str) -> str:
    """Return a text in lower case, with straight apostrophes and without asterisks."""
    return text.lower().replace("\u2019", "'").replace("*", "")
