"""Words by which deeds are told, asked for, denied or put off, in English and the plain forms of other languages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from grader_daemon.domain.late_pattern import late_pattern


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text that lists them."""
    return frozenset(text.split())


_DEEDS: Final = word_set(
    """
    sent send emailed mailed messaged notified replied forwarded invited reminded posted shared told informed answered
    booked rebooked reserved cancelled canceled scheduled rescheduled moved postponed refunded charged credited paid
    ordered submitted placed issued registered subscribed unsubscribed transferred assigned reassigned closed reopened
    merged archived deleted removed tagged labelled labeled logged filed stored saved published uploaded imported
    exported updated changed renamed created added set enabled disabled activated approved exchanged extended applied
    migrated restored reset restarted deployed scaled rotated attached raised entered recorded noted swapped switched
    verschickt gesendet versendet gebucht storniert gelöscht verschoben angelegt eingetragen gespeichert bezahlt
    bestellt veröffentlicht eingereicht zugewiesen geändert aktualisiert erstellt hinzugefügt erstattet hochgeladen
    abgeschickt eingeladen benachrichtigt informiert umgestellt archiviert markiert gesetzt vermerkt reserviert
    envoyé envoyée envoyés envoyées réservé réservée annulé annulée supprimé supprimée déplacé déplacée enregistré
    enregistrée ajouté ajoutée créé créée publié publiée remboursé payé commandé fusionnées fusionnés modifié prévenu
    enviado enviada enviados enviadas reservado reservada cancelado cancelada borrado eliminado movido guardado guardada
    añadido creado creada publicado publicada reembolsado pagado pedido anotado actualizado actualizada asignado
    """
)
_OTHER_WORDS: Final = word_set(
    "checked verified works pass passes passed meet meets clean valid fixed resolved ran now ahora"
)
_TELLING: Final = frozenset(word.encode() for word in _DEEDS | _OTHER_WORDS if word.isascii())
_TO_WORDS: Final = bytes(code if bytes([code]).isalnum() else ord(" ") for code in bytes(range(256)).lower())
"""Translation table by ASCII code: the letter in lower case or the digit, else a space."""

_CHINESE_DEEDS: Final = late_pattern(
    r"已(?:经)?[^，。；！？\n]{0,12}?(?:发|改|删|移|存|订|付|退|取消|提交|更新|创建|添加|通知)"
)
_IS_NOW: Final = late_pattern(
    r"\b(?:is|are|has|have|starts?|takes?|sits?|runs?|holds?|goes|shows?|owns?|reads?|belongs?|points?|stands?"
    r"|includes?|carr(?:y|ies))(?: \w{1,12}){0,2} now\b|\bnow (?:is|are|has|have|starts?|takes?|sits?|holds?|gives?"
    r"|goes|shows?|owns?|reads?|belongs?|points?|loads?|includes?|stands?|carr(?:y|ies))\b|\b(?:jetzt|ahora)\b|现在"
)
_COMMUNICATION: Final = word_set(
    """
    send mail email message notify reply forward invite remind sms slack telegram chat teams campaign post share comment
    senden enviar envoyer dispatch announce respond broadcast whatsapp discord gmail outlook correo notice alert
    invitation publish page ping dm phone sent emailed mailed messaged notified replied forwarded invited reminded
    posted told informed texted
    """
)
_TOLD_BY_AGENT: Final = late_pattern(
    r"\b(?:i|we)(?:'ve| have)?(?: also| just| then){0,2} (?:emailed|mailed|messaged|notified|replied|forwarded|invited"
    r"|reminded|texted|sent|informed|told)\b|\bhabe\b[^.;]{0,80} (?:benachrichtigt|informiert|verschickt|geschrieben)\b"
    r"|\bj'ai (?:également |aussi )?(?:envoyé|prévenu|informé|répondu)\b|\bhe (?:también )?(?:enviado|avisado)\b"
)
_WORD: Final = late_pattern(r"[^\W\d_]{3,30}")
_STEM: Final = 4
_NO_STEMS: Final = word_set(
    """
    the and for with was were has have had been are from this that all now your you its done into also new not one two
    der die das und den dem ist sind wurde wird mit für von auf ein eine les des une est sont avec pour dans sur los las
    del una con para por que está han yes please will true false null name
    """
)
_NOT_TOLD: Final = late_pattern(
    r"^\W*next\b|\b(?:glad|able to|left|not|no|never|nothing|none|cannot|unable|fail\w{0,4}|should|would|could|can|may"
    r"|might|will|must|needs?|if|once|unless|until|whenever|please|let me|let us|let's|ensure|try|tried|trying"
    r"|plan(?:s|ned|ning)?|propose\w?|suggest\w{0,3}|recommend\w{0,3}|believe|think|guess|assume|probably|likely|seems?"
    r"|appears?|supposed|shall|want|pending|nicht|kein\w{0,2}|wenn|falls|sobald|könn\w{1,4}|soll\w{0,3}|würde\w?|bitte"
    r"|vermutlich|wahrscheinlich|noch|nichts|ne|pas|aucune?|si|peut|pouvez|faut|sera|seront|rien|ningun[oa]?|nada"
    r"|puede\w{0,2}|será|serán|debe\w{0,2})\b|n't\b|'ll\b|[未没不请若如]|\?|？"
)
_EARLIER: Final = late_pattern(r"\b(?:already|earlier|bereits|schon|déjà|ya)\b|之前")
_ADMITS: Final = late_pattern(
    r"\b(?:fail(?:s|ed|ing|ure)?|errors?|unable|rejected|refused|declined|skipped|bounced|unfortunately|except|remaining"
    r"|pending|missing|timed? ?out|timeout|locked|denied|first (?:try|attempt|go)|retried|retry|second (?:try|attempt)"
    r"|(?:was|is|are|were|got) blocked|expired|full|left|exist\w{1,4}|told me|\d+ of (?:the )?\d+"
    r"|\w+ of the (?:two|three|four|five|six|seven|eight|nine|ten|other)|invalid|not|however|partial(?:ly)?|cannot"
    r"|draft|unsent|queued|trouble|the other (?:one|two|three|four)s?|stays?|stayed|untouched"
    r"|leider|nicht|kein\w{0,2}|fehlgeschlagen|fehler|abgelehnt|gesperrt|offen|entwurf"
    r"|échou\w{0,3}|erreur|sauf|pas|refus\w{0,3}|impossible|brouillon|fall[óa]\w{0,3}|salvo|excepto|rechazad\w{1,2}"
    r"|falta\w{0,2}|no (?:se|pude|fue|está|puedo|ha)|sigue|borrador|già)\b|n't\b"
    r"|未|没有|没能|失败|无法|不能|不可|除了|草稿|❌|⚠|✗|✘"
)
_NO_FAILURE: Final = late_pattern(
    r"\b(?:no|without(?: any)?|0|zero|ohne|keine|sin|sans|aucune?) (?:[\w-]{1,15} )?(?:errors?|failures?|problems?"
    r"|conflicts?|issues?|fehler|konflikte?|error(?:es)?|erreurs?|problèmes?)\b"
)
_SPEAKS_OF_DRAFTS: Final = late_pattern(
    r"draft|preview|propos|\bhold\b|\bheld\b|awaiting|pending|dry[- ]?run|simulat|entwurf|brouillon|borrador|草稿|预览"
    r"|\bcart\b|basket|unsaved|not (?:yet )?(?:sent|saved)|warenkorb|panier|carrito|vorschau|tentativ|provision"
)
_MARKS: Final = late_pattern(r"[*`]{1,3}|(?<!\w)_{1,3}|_{1,3}(?!\w)")
_ALL: Final = late_pattern(
    r"\b(?:all|both|every|each|fully|whole|everyone|alle[nrs]?|beide|sämtliche|komplett|tous|toutes|tout|los|las|todos"
    r"|todas|ambos)\b|全部|所有|都|均"
)
_FOREIGN: Final = late_pattern(r"\b(?:el|la|los|las|der|die|das|den|dem|le|les|des|du|del|al)\b")
_ASKS_TO_LOOK: Final = late_pattern(
    r"\W{0,4}(?:busca|muestra|lista|lee|resume|dime|cherche|montre|liste|lis|résume|dis|suche|zeig|lies|fass|was|wie|wer"
    r"|wann|vergleich|compara|compare|prüf|revisa|vérifie|explica|erklär|explique)",
    re.IGNORECASE,
)
_ASKS: Final = late_pattern(
    r"(?:^|[.,;:!\n+]|\b(?:and|then|please|pls|now|to|also|can you|could you|you)\b)\W{0,4}(?:also |then |please )?"
    r"(?:just )?"
    r"(?:add|append|apply|approve|archive|assign|block|book|build|cancel|change|clean|close|combine|compress|convert"
    r"|copy|create|correct|dedupe|delete|deploy|e-?mail|enter|exchange|export|extend|extract|file|fill|fix|forward"
    r"|import|insert|install|invite|label|log|mail|make|mark|merge|message|migrate|move|notify|order|pack|pay|place"
    r"|post|publish|purge|push|commit|put|raise|refund|register|remind|remove|rename|replace|reply|reschedule|resolve"
    r"|roll|rotate|save|scale|schedule|send|set|share|sort|split|store|submit|swap|switch|sync|tag|tell|transfer"
    r"|unsubscribe|update|upgrade|upload|write|answer|reset|restart|unlock|lock|suspend|enable|disable|activate|flag"
    r"|escalate|drop|give|lower|rerun|run|note|increase|decrease|bump|turn|pause|resume|reopen|void|issue|reserve)\b"
    r"|[帮请把给将]",
    re.IGNORECASE,
)
_LONG_REQUEST: Final = 1_500


def plain(answer: str) -> str:
    """Return an answer in lower case, without marks of Markdown, and without what says that nothing failed."""
    return _NO_FAILURE.sub("", _MARKS.sub("", answer.lower().replace("’", "'")))


def words_in(low: str) -> list[str]:
    """Return the words of a text in lower case."""
    return _WORD.findall(low)


def stems_of(low: str) -> frozenset[str]:
    """Return the first letters of the words of a text in lower case that say something."""
    return frozenset(word[:_STEM] for word in _WORD.findall(low) if word not in _NO_STEMS)


def may_tell_deed(answer: str) -> bool:
    """Return whether an answer has any word by which a deed or a check is told; in other letters it may."""
    if not answer.isascii():
        return True
    return not _TELLING.isdisjoint(answer.encode().translate(_TO_WORDS).split())


def tells_deed(low: str) -> bool:
    """Return whether a sentence in lower case has a word by which a deed of a tool is told, or a new state."""
    return not _DEEDS.isdisjoint(_WORD.findall(low)) or bool(_IS_NOW.search(low) or _CHINESE_DEEDS.search(low))


def begins_with_deed(low: str) -> bool:
    """Return whether the first word of a sentence in lower case tells a deed: "Cancelled order 17"."""
    return next(iter(_WORD.findall(low)), "") in _DEEDS


def is_not_told(low: str) -> bool:
    """Return whether a sentence in lower case denies, plans, asks, hedges or puts off what it speaks of."""
    return _NOT_TOLD.search(low) is not None


def is_earlier(low: str) -> bool:
    """Return whether a sentence in lower case tells what was so before."""
    return _EARLIER.search(low) is not None


def tells_of_all(low: str) -> bool:
    """Return whether a text in lower case tells of all there is."""
    return _ALL.search(low) is not None


def admits(answer: str) -> bool:
    """Return whether a plain answer admits that anything failed, was left out or is still to be done."""
    return _ADMITS.search(answer) is not None


def speaks_of_drafts(answer: str) -> bool:
    """Return whether a plain answer says that anything is a draft, a preview or held."""
    return _SPEAKS_OF_DRAFTS.search(answer) is not None


def is_communication(words: Iterable[str]) -> bool:
    """Return whether one of some words is for telling something to a person."""
    return not _COMMUNICATION.isdisjoint(words)


def tells_communication(low: str) -> bool:
    """Return whether the agent says in a text in lower case that it told people something."""
    return _TOLD_BY_AGENT.search(low) is not None


def asks_for_deed(request: str) -> bool:
    """Return whether what a person wrote asks to do something, and is no question."""
    if "?" in request[-3:]:
        return False
    is_foreign = _FOREIGN.search(request) is not None and _ASKS_TO_LOOK.match(request) is None
    return is_foreign or _ASKS.search(request[:_LONG_REQUEST]) is not None
