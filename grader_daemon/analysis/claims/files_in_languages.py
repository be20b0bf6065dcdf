"""Files that an answer says it wrote, in the plain forms of German, French, Spanish, Russian and Chinese.

"Die Datei `a.csv` wurde erstellt", "J'ai créé `a.csv`", "El archivo `a.csv` ha sido creado", "Файл `a.csv` создан",
"已创建 `a.csv`". What is denied, wished, planned or conditional is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from grader_daemon.analysis.claims.clauses import is_quoted, sentence
from grader_daemon.analysis.claims.stated_claim import StatedClaim
from grader_daemon.analysis.claims.subjects import enumerated, places_of_files
from grader_daemon.domain.claims import ClaimKind
from grader_daemon.domain.late_pattern import late_pattern
from grader_daemon.domain.phrases import holds_any

_MOST: Final = 20
_REACH: Final = 70
_ASKING: Final = frozenset("?？")
_NEXT_WORDS: Final = 24
_SOURCE_REACH: Final = 40
_QUOTED = late_pattern(r"`[^`]{1,80}`")
_APART = late_pattern(r"[,:(，：（]")
"""What parts the verb from a file that is not its own."""

_ASCII_WORDS: Final = frozenset(
    {b"erstellt", b"angelegt", b"geschrieben", b"gespeichert", b"aktualisiert", b"erzeugt", b"generiert", b"korrigiert"}
    | {b"angepasst", b"ersetzt", b"eingetragen", b"mis", b"converti"}
    | {
        stem + ending
        for stem in (
            b"cread",
            b"guardad",
            b"actualizad",
            b"modificad",
            b"generad",
            b"escrit",
            b"agregad",
            b"corregid",
            b"convertid",
            b"copiad",
            b"movid",
        )
        for ending in (b"o", b"a", b"os", b"as")
    }
)
"""Words without other letters, of which one stands in an answer that claims in German or Spanish."""

STEMS: Final = tuple(
    each.encode()
    for each in (
        *("eändert", "rgänzt", "inzugefügt", "berschrieben"),
        *("réé", "odifié", "énéré", "jouté", "écrit", "nregistré", "auvegardé", "à jour", "orrigé", "emplacé"),
        *("ñadid", "reé", "uardé", "ctualicé", "eneré", "odifiqué", "scribí"),
        *(
            "озда",
            "апис",
            "охран",
            "бнов",
            "змен",
            "справ",
            "обав",
            "енер",
            "формиров",
            "амен",
            "редактиров",
            "чищ",
            "несен",
        ),
        *(
            "реобраз",
            "ереимен",
            "копиров",
            "онвертир",
            "звлеч",
            "еремещ",
            "бъедин",
            "opié",
            "éplacé",
            "enommé",
            "usionné",
        ),
        *("创建", "写入", "保存", "更新", "修改", "生成", "添加", "修复"),
    )
)
"""Pieces of words with other letters, without their first one, of which one stands in an answer that claims by them."""

OF_LANGUAGES: Final = frozenset({b"of language"})
WRITTEN: Final = _ASCII_WORDS | OF_LANGUAGES
_Patterns = tuple[tuple[tuple[str, ...], re.Pattern[str]], ...]
_WORDS: Final = r"(?:[^.;!?\n]|\.(?=\w))"
_DONE: Final[_Patterns] = (
    (
        ("wurde", "worden", "ist ", "sind ", "habe"),
        late_pattern(
            rf"\b(?:wurden?|worden|ist|sind|habe|haben)\b{_WORDS}{{0,80}}?\b(?:erstellt|angelegt|geschrieben|gespeichert"
            r"|aktualisiert|geändert|ergänzt|erzeugt|generiert|hinzugefügt|überschrieben|korrigiert|angepasst|ersetzt"
            r"|eingetragen)\b"
        ),
    ),
    (
        ("j'ai ", " été ", "est ", "sont "),
        late_pattern(
            rf"\b(?:j'ai|a été|ont été|est|sont)\b{_WORDS}{{0,60}}?\b(?:créé|modifié|généré|ajouté|écrit|enregistré"
            r"|sauvegardé|mis|corrigé|remplacé)(?:e?s?\b| à jour)"
        ),
    ),
    (
        ("he ", "hemos ", " sido ", "se h", "fue", "é", "í"),
        late_pattern(
            rf"\b(?:he|hemos|ha sido|han sido|se ha|se han|fue|fueron)\b{_WORDS}{{0,60}}?\b(?:cread|escrit|guardad"
            r"|actualizad|modificad|generad|añadid|agregad|corregid|reemplazad)[oa]s?\b"
            r"|\b(?:creé|guardé|actualicé|generé|modifiqué|escribí)\b"
        ),
    ),
    (
        ("н", "л"),
        late_pattern(
            r"[сздпоив](?<=\b.)(?:(?:озда|аписа|ереписа|описа|охран[её]|бновл[её]|змен[её]|справл?[её]|обавл[её]"
            r"|генерирова|формирова|амен[её]|тредактирова|ополн[её]|чищ[её]|нес[её])н[аоы]?"
            r"|(?:озда|аписа|охрани|бнови|змени|справи|обави|генерирова|формирова|амени|ереписа)ла?)\b"
        ),
    ),
    (
        ("已", "了", "成功", "完成"),
        late_pattern(
            r"已(?:成功|经|将)?[^。，；！？\n]{0,40}?(?:创建|写入|保存|更新|修改|生成|添加|修复)"
            r"|(?:创建|写入|保存|更新|修改|生成|添加|修复)(?:了|成功|完成)"
        ),
    ),
)
"""Words by which a file is told as written, by language, with pieces of which one stands in each."""

_MADE: Final[_Patterns] = (
    (
        ("н",),
        late_pattern(
            r"[пскио](?<=\b.)(?:(?:реобразова|ереименова|копирова|онвертирова)н|(?:звлеч|еремещ|бъедин)[её]н)[аоы]?\b"
        ),
    ),
    (
        ("converti", "é", "copiad", "movid", "renombrad", "combinad"),
        late_pattern(
            r"\b(?:convertie?s?|copié|déplacé|renommé|fusionné)e?s?\b"
            r"|\b(?:convertid|copiad|movid|renombrad|combinad)[oa]s?\b"
        ),
    ),
)
"""Words by which one thing is told as made of another: of a file only where one is named as what was made."""

_NOT_DONE = late_pattern(
    r"\b(?:nicht|kein\w{0,2}|wird|werden|würden?|soll\w{0,3}|kann|können|könnten?|muss|müssen|falls|wenn|bevor|sobald"
    r"|bitte|pas|aucune?|sera|seront|si|quand|lorsque|doi\w{1,4}|devrai\w{1,3}|pourrai\w{1,3}|veuillez|avant|impossible"
    r"|no|ning[uú]n\w{0,2}|será|serán|cuando|debe\w{0,2}|podría|antes|favor|не|нет|ни|если|будет|будут|должн\w{1,2}"
    r"|нужно|можно|чтобы|когда|пожалуйста|перед|кем|ранее|прежн\w{1,3})\b"
    r"|без изменений|未|没|不|如果|若|请|应|需|将会|可以|之前|以前"
)
_PLACING = late_pattern(
    r" (?:в|во|как|in|als|unter|dans|sous|vers|en|como|a)(?: (?:der|die|das|den|le|la|el|un|uno|new|datei|fichier"
    r"|archivo|файл\w{0,2}))*\W{1,4}"
)
"""Words between the verb and the file that it put something into."""

_DATED = late_pattern(r"\b(?:19|20)\d\d\b|\d{1,2}[.:]\d\d\b|\d{1,2}月")
"""Date or time behind the verb: news of a file, and no deed."""

_SOURCE = late_pattern(
    r"(?:\b(?:aus|von|vom|anhand|laut|mit|depuis|partir|du|de|des|del|desde|según|avec|con|из|изо|с|со|по|на основе"
    r"|на основании|согласно|через|вместо|импорт\w{0,3})|从|根据|基于|由|用)"
    r"(?: (?:der|dem|den|datei|le|la|el|fichier|archivo|файл\w{0,3}|скрипт\w{0,3}|тест\w{0,3})){0,3}\W{0,4}$"
)
"""Words before a file that was only read."""


def files_in_languages(text: str, low: str) -> Iterator[tuple[int, StatedClaim]]:
    """Yield the files that are told as written."""
    found, made = _all(_DONE, low), _all(_MADE, low)
    for each in (*found, *made):
        start, end = sentence(low, each.end() - 1)
        start = min(start, each.start())
        if low[end : end + 1] not in _ASKING and not is_quoted(low, each.start()):
            verb = each.end() - start
            for file in _written(text[start:end], low[start:end], verb, is_placed=each in made):
                yield each.start(), StatedClaim(ClaimKind.FILE_WRITTEN, file, said=text[start:end])


def _all(patterns: _Patterns, low: str) -> list[re.Match[str]]:
    """Return where patterns are found whose pieces stand in a text."""
    return [
        each for pieces, pattern in patterns if holds_any(low, pieces) for each in islice(pattern.finditer(low), _MOST)
    ]


def _written(clause: str, low: str, verb: int, *, is_placed: bool) -> tuple[str, ...]:
    """Return the files that a clause, whose verb ends at a place, tells as written; `is_placed`: only into what."""
    before = low[:verb]
    if _NOT_DONE.search(before) or before.count("`") % 2 or _NOT_DONE.search(low[verb : verb + _NEXT_WORDS]):
        return ()
    return _files(clause, low, verb, is_placed=is_placed)


def _files(clause: str, low: str, verb: int, *, is_placed: bool) -> tuple[str, ...]:
    """Return the files of a clause whose verb ends at a place: those before it, else those behind it, close to it."""
    found = [
        each
        for each in places_of_files(clause)
        if not _SOURCE.search(low[max(0, each.start() - _SOURCE_REACH) : each.start()])
    ]
    placed = [each for each in found if verb <= each.start() and _PLACING.fullmatch(low, verb, each.start())]
    before = [] if placed or is_placed else [each for each in found if each.start() < verb]
    behind = [] if before else placed if is_placed else placed or found
    between = clause[before[-1].end() : verb] if before else clause[verb : behind[0].start()] if behind else ""
    rest = clause[behind[-1].end() if behind else verb :]
    between = _QUOTED.sub("", between.lstrip("`"))
    if len(between) > _REACH or _APART.search(between) or _DATED.search(rest):
        return ()
    return enumerated(clause, before or behind)
