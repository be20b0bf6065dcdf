from __future__ import annotations

import pytest

from grader_daemon.analysis.claims.extract import find_claims
from grader_daemon.domain.claims import ClaimKind
from tests.tables import for_each


@for_each(
    ("answer", "expected"),
    [
        pytest.param("Die Datei `a.csv` wurde erstellt.", ["a.csv"], id="german"),
        pytest.param("Ich habe `a.py` und `b.py` angepasst.", ["a.py", "b.py"], id="german-active"),
        pytest.param("Die Daten aus a.csv wurden in `b.csv` gespeichert.", ["b.csv"], id="german-source"),
        pytest.param("Die Datei `a.csv` wurde nicht erstellt.", [], id="german-denied"),
        pytest.param("Die Datei `a.csv` kann erstellt sein, wenn es ist erstellt", [], id="german-condition"),
        pytest.param("J'ai créé `a.csv`.", ["a.csv"], id="french"),
        pytest.param("Le fichier `a.csv` a été mis à jour.", ["a.csv"], id="french-passive"),
        pytest.param("Le fichier `a.csv` n'a pas été créé, il est modifié.", [], id="french-denied"),
        pytest.param("El archivo a.csv ha sido creado.", ["a.csv"], id="spanish"),
        pytest.param("He guardado los datos de a.csv en `b.csv`.", ["b.csv"], id="spanish-source"),
        pytest.param("Creé el archivo `a.csv`.", ["a.csv"], id="spanish-past"),
        pytest.param("Файл `a.csv` успешно создан.", ["a.csv"], id="russian"),
        pytest.param("Исправил `a.py`: теперь всё верно", ["a.py"], id="russian-active"),
        pytest.param("В файлах a.py и b.py все имена заменены.", ["a.py", "b.py"], id="russian-enumeration"),
        pytest.param("Файл `a.json` преобразован и сохранён как `a.yaml`.", ["a.yaml"], id="russian-new-name"),
        pytest.param("Файл `a.csv` преобразован в `a.tsv`.", ["a.tsv"], id="russian-made-of-another"),
        pytest.param("Файл `a.csv` переименован.", [], id="russian-made-without-a-name"),
        pytest.param("Файл `a.py` с функцией `f(s, t)` создан", ["a.py"], id="russian-code-between"),
        pytest.param("Le fichier a.csv a été converti en `a.tsv`.", ["a.tsv"], id="french-made-of-another"),
        pytest.param("В файл `a.py` внесены изменения.", ["a.py"], id="russian-changes"),
        pytest.param("Файл `a.py` с функцией `f(n: int)` создан", ["a.py"], id="russian-colon-in-code"),
        pytest.param("Файл `a.csv` не создан.", [], id="russian-denied"),
        pytest.param("Файл `a.csv` будет создан.", [], id="russian-planned"),
        pytest.param("Файл `a.csv` сохранён без изменений.", [], id="russian-kept"),
        pytest.param("Файл `a.csv` создан?", [], id="russian-question"),
        pytest.param("Файл `a.csv` создан в 2019 году.", [], id="russian-dated"),
        pytest.param('Там сказано: "файл a.csv создан"', [], id="russian-quoted"),
        pytest.param("Записаны имена: a.py и b.py", [], id="russian-list-behind-a-colon"),
        pytest.param("Строки удалены из `a.md`, остальное сохранено", [], id="russian-other-part"),
        pytest.param("Сохранено", [], id="russian-without-a-file"),
        pytest.param("已创建 `a.csv`。", ["a.csv"], id="chinese"),
        pytest.param("文件 `a.csv` 未创建成功", [], id="chinese-denied"),
        pytest.param("Файлы созданы:\n- a.csv\n- b.csv", ["a.csv", "b.csv"], id="russian-list"),
        pytest.param("Geänderte Dateien (ist erstellt):\n- a.csv", [], id="german-list-with-more-in-its-head"),
        pytest.param("Die Dateien sind erstellt.\n\nErstellte Dateien:\n- a.csv", ["a.csv"], id="german-list"),
    ],
)
def test_files_that_are_claimed_in_other_languages(answer: str, expected: list[str]) -> None:
    assert [each.subject for each in find_claims(answer) if each.kind is ClaimKind.FILE_WRITTEN] == expected


@pytest.mark.parametrize(
    ("answer", "is_whole"),
    [("Все тесты успешно пройдены", True), ("Тест проходит", False)],
)
def test_tests_that_pass_in_russian(answer: str, is_whole: bool) -> None:
    assert [(each.kind, each.is_whole) for each in find_claims(answer)] == [(ClaimKind.TESTS_PASSED, is_whole)]


@pytest.mark.parametrize("answer", ["Тесты не проходят", "Если тесты проходят, всё готово", "Тесты должны проходить"])
def test_tests_that_do_not_pass_in_russian(answer: str) -> None:
    assert find_claims(answer) == ()
