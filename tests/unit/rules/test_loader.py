from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from grader_daemon.domain.analysis import Category
from grader_daemon.domain.rules import Rules
from grader_daemon.domain.verdict import is_of_same_facts
from grader_daemon.errors import ConfigurationError
from grader_daemon.rules import load_rules
from grader_daemon.rules.loader import shipped_text


def overlay(folder: Path, text: str) -> Path:
    """A rules file of a user's own."""
    path = folder / "rules.toml"
    path.write_text(text, "utf-8")
    return path


def test_the_numbers_of_the_contract_are_shipped(rules: Rules) -> None:
    levels = [(level.score, level.error_rate, level.tool_calls) for level in rules.efficiency.levels]
    assert levels == [(5, 0.0, 10), (4, 0.1, 15), (3, 0.25, 25), (2, 0.4, None)]
    assert (rules.error_runs.repeated_errors, rules.error_runs.loop_errors, rules.error_runs.loop_api_calls) == (
        3,
        5,
        50,
    )
    assert rules.failures.exit_codes == {"124": Category.TIMEOUT, "126": Category.PERMISSION_DENIED}


def test_an_overlay_changes_only_what_it_names(tmp_path: Path, rules: Rules) -> None:
    own = load_rules(overlay(tmp_path, "[quality]\nlong_characters = 300\n"))
    assert (own.quality.long_characters, own.quality.longer_characters) == (300, rules.quality.longer_characters)
    assert own.completion == rules.completion


def test_an_overlay_adds_to_a_table(tmp_path: Path, rules: Rules) -> None:
    own = load_rules(overlay(tmp_path, '[failures.exit_codes]\n137 = "timeout"\n'))
    assert own.failures.exit_codes == {**rules.failures.exit_codes, "137": Category.TIMEOUT}


def test_an_overlay_replaces_a_list_whole(tmp_path: Path) -> None:
    own = load_rules(overlay(tmp_path, '[task_types.keywords]\ntesting = ["probe"]\ngardening = ["plant"]\n'))
    assert own.task_types.keywords["testing"] == ("probe",)
    assert own.task_types.keywords["gardening"] == ("plant",)
    assert "debugging" in own.task_types.keywords


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("# nothing\n", id="comment"),
        pytest.param("[quality]\nbase = 3.0\n", id="same-value"),
        pytest.param(shipped_text(), id="a-copy-of-the-shipped-rules"),
    ],
)
def test_the_version_is_the_same_for_the_same_content(text: str, tmp_path: Path, rules: Rules) -> None:
    assert load_rules(overlay(tmp_path, text)).version == rules.version


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[quality]\nbase = 3.5\n", id="number"),
        pytest.param('[completion]\nnegations = ["not"]\n', id="list"),
        pytest.param('[task_types.keywords]\ngardening = ["plant"]\n', id="new-key"),
    ],
)
def test_the_version_changes_with_the_content(text: str, tmp_path: Path, rules: Rules) -> None:
    assert load_rules(overlay(tmp_path, text)).version != rules.version


@pytest.mark.parametrize(
    ("text", "keeps_facts"),
    [
        pytest.param("[quality]\nbase = 3.5\n", True, id="an-effect"),
        pytest.param("[efficiency]\notherwise = 2\n", True, id="a-score"),
        pytest.param("[completion]\nhigh_error_rate = 0.5\n", True, id="a-limit-of-errors"),
        pytest.param("[quality]\nlong_characters = 300\n", False, id="a-length-that-is-not-kept"),
        pytest.param('[completion]\nnegations = ["not"]\n', False, id="words-of-an-answer"),
        pytest.param("[error_runs]\nloop_errors = 4\n", False, id="a-table-of-the-analysis"),
    ],
)
def test_the_version_tells_whether_sessions_must_be_read_again(
    text: str, keeps_facts: bool, tmp_path: Path, rules: Rules
) -> None:
    own = load_rules(overlay(tmp_path, text))
    assert is_of_same_facts(f"{rules.version}+m.rules", f"{own.version}+m.rules") is keeps_facts


@pytest.mark.parametrize(
    ("text", "key", "line"),
    [
        pytest.param("[efficiency]\n\notherwise = 9\n", "efficiency.otherwise", 3, id="out-of-range"),
        pytest.param("[quality]\nbse = 1\n", "quality.bse", 2, id="unknown-key"),
        pytest.param("nonsense = 1\n", "nonsense", 1, id="unknown-key-at-the-top"),
        pytest.param("\n[nonsense]\nx = 1\n", "nonsense", 2, id="unknown-table"),
        pytest.param('[quality]\nbase = "high"\n', "quality.base", 2, id="wrong-type"),
        pytest.param('quality.base = "high"\n', "quality.base", 1, id="dotted-key"),
        pytest.param('[quality]\n"base" = "high"\n', "quality.base", 2, id="quoted-key"),
        pytest.param(
            "[[efficiency.levels]]\nscore = 5\nerror_rate = 0.0\n\n"
            "[[efficiency.levels]]\nscore = 7\nerror_rate = 0.1\n",
            "efficiency.levels.1.score",
            6,
            id="second-table-of-an-array",
        ),
        pytest.param('[failures.categories]\ntypo = ["x"]\n', "failures.categories.typo", 2, id="unknown-category"),
        pytest.param(
            '[failures.exit_codes]\n9 = "timeout"\n124 = "time"\n', "failures.exit_codes.124", 3, id="category-as-value"
        ),
        pytest.param(
            '[task_types.keywords]\ntesting = ["test"]\ngardening = [1]\n',
            "task_types.keywords.gardening",
            3,
            id="wrong-type-in-a-list",
        ),
        pytest.param("[quality]\nbase = nan\n", "quality.base", 2, id="not-a-number"),
    ],
)
def test_an_error_names_file_line_and_key(text: str, key: str, line: int, tmp_path: Path) -> None:
    path = overlay(tmp_path, text)
    with pytest.raises(ConfigurationError) as caught:
        load_rules(path)
    assert str(caught.value).startswith(f"rules file {path}, line {line}: {key}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b"[quality", "not valid TOML", id="no-toml"),
        pytest.param(b"[quality]\nx = \n", "line 2", id="no-toml-in-a-line"),
        pytest.param(b"# \xff\n", "not UTF-8", id="no-text"),
        pytest.param(b"x = " + b"[" * 9999, "nested too deeply", id="nested-without-end"),
        pytest.param(b'version = "x"\n', "'version' is computed", id="version"),
    ],
)
def test_an_unreadable_overlay_is_told_in_one_line(content: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_bytes(content)
    with pytest.raises(ConfigurationError) as caught:
        load_rules(path)
    assert words in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_byte_order_mark_as_editors_on_windows_write_it_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_bytes(b"\xef\xbb\xbf[quality]\nbase = 2\n")

    assert load_rules(path).quality.base == 2


def test_a_missing_overlay_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="No such file"):
        load_rules(tmp_path / "absent.toml")


def test_every_category_with_a_text_has_phrases() -> None:
    table = tomllib.loads(shipped_text())["failures"]["categories"]
    assert list(table) == [category for category in Category if category is not Category.UNKNOWN]
