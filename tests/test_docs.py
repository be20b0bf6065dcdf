"""What the documents promise is what the code has: commands, settings, rules, log events, files, links."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path

import click
import pytest

from grader_daemon import __version__
from grader_daemon.analysis.claims.evidence import MOST_RUNS
from grader_daemon.analysis.claims.extract import EXAMINED_CHARACTERS
from grader_daemon.analysis.claims.stated_claim import MOST_CLAIMS
from grader_daemon.analysis.features import FEATURES
from grader_daemon.calibration.update import MOST_LABELS
from grader_daemon.cli.all_commands import program
from grader_daemon.cli.groups import CommandWithWays, GroupWithDefault, GroupWithWords
from grader_daemon.cli.self_grader import command as self_grader
from grader_daemon.domain.analysis import Category
from grader_daemon.domain.claims import Support
from grader_daemon.domain.session import SkipReason
from grader_daemon.grading import CATALOG
from grader_daemon.log.events import EVENTS
from grader_daemon.settings import Settings
from grader_daemon.storage.sqlite.schema import migrations
from tests.__main__ import CHECKS
from tests.documents import PAGES, ROOT, Page, page
from tests.tables import for_each
from tests.unseen_secrets import CARRIERS, KINDS

_MOST_BYTES_OF_README = 9_000
_MOST_WORDS_BY_HAND = 45_000
"""As `wc -w` counts them, in README.md and docs/, without what is written from the code."""
_PROGRAMS = {"grader-daemon": program, "self-grader": self_grader}
_COMMAND_NAMES = frozenset(program.list_commands(click.Context(program)) if isinstance(program, click.Group) else ())

_TABLES_OF_KEYS = ("docs/log-events.md", "docs/json.md", "docs/export.md", "docs/routing.md")
"""Their tables also explain keys, of which some have the name of a setting, a rule or a verdict."""

_each_page = for_each("document", PAGES, ids=lambda one: one.name)


@_each_page
def test_commands_and_their_options_exist(document: Page) -> None:
    assert [fault for command in _commands(document) for fault in _faults(command)] == []


@pytest.mark.parametrize(
    ("command", "fault"),
    [
        ("grader-daemon lst", "lst"),
        ("grader-daemon report errors sho ID", "sho"),
        ("grader-daemon list --claims verified", "--claims"),
        ("grader-daemon report --format pdf", "pdf"),
        ("python -m pytest tests/test_docs.py::test_nothing", "test_nothing"),
        ("python -m tests.benchmarks.nothing", "tests.benchmarks.nothing"),
        ("python -m tests.benchmarks.backfill --nothing", "--nothing"),
    ],
)
def test_command_that_does_not_exist_is_noticed(command: str, fault: str) -> None:
    assert any(fault in told for told in _faults(command))


@_each_page
def test_links_lead_somewhere(document: Page) -> None:
    assert [link for link in document.links if not _leads_somewhere(document, link)] == []


@_each_page
def test_files_of_the_repository_exist(document: Page) -> None:
    named = [
        span for span in document.spans if re.fullmatch(r"(tests|grader_daemon|systemd|config|docs)/[\w./-]+", span)
    ]

    assert [name for name in named if not (ROOT / name).exists()] == []


@_each_page
def test_names_in_code_stand_in_the_code(document: Page) -> None:
    named = {span for span in document.spans if re.fullmatch(r"_?[a-z][a-z0-9]*(_[a-z0-9]+)+", span)}

    assert sorted(named - _names()) == []


@_each_page
def test_settings_in_examples_exist(document: Page) -> None:
    named = {
        *re.findall(r"\bsettings? `(\w+)`", document.text),
        *re.findall(r"config (?:un)?set ([a-z]\w*)", document.text),
        *(name for block in document.blocks("toml") for name in tomllib.loads(re.sub(r"(?m)^# (?=\w+ =)", "", block))),
    }

    assert sorted(named - Settings.model_fields.keys() - {"alerts", "project"}) == []


_HASHED = sum(name.startswith("hash:") for name in FEATURES)


@pytest.mark.parametrize(
    ("name", "figure"),
    [
        pytest.param(
            "docs/install.md", f"uv tool install grader_daemon-{__version__}-py3-none-any.whl", id="wheel-for-uv"
        ),
        pytest.param("docs/probability.md", f"{len(FEATURES) - _HASHED} numbers", id="named-features"),
        pytest.param("docs/probability.md", f"{_HASHED} more features say which words occur", id="hashed-words"),
        pytest.param("docs/performance.md", f"{len(KINDS)} kinds in {len(CARRIERS)} carriers", id="unseen-secrets"),
        pytest.param("docs/grades.md", f"in sessions of more than {MOST_RUNS:,} calls", id="calls-of-claims"),
        pytest.param(
            "docs/grades.md", f"in the last {EXAMINED_CHARACTERS:,} characters of an answer", id="answer-of-claims"
        ),
        pytest.param("docs/grades.md", f"at most {MOST_CLAIMS} claims", id="claims"),
        pytest.param("docs/labels-and-calibration.md", f"the newest {MOST_LABELS} at most", id="labels"),
        pytest.param("docs/operations.md", f"0 of {len(Settings.model_fields)} settings are set", id="settings"),
        pytest.param("docs/operations.md", f"schema {migrations()[-1][0]}, ", id="schema"),
    ],
)
def test_figure_of_a_document_is_that_of_the_code(name: str, figure: str) -> None:
    assert figure in " ".join(page(name).text.split())


@_each_page
def test_log_events_exist(document: Page) -> None:
    groups = {event.partition(".")[0] for event in EVENTS}
    named = {span for span in document.spans if re.fullmatch(r"[a-z]+\.[a-z_]+", span)}

    told = {name for name in named if name.partition(".")[0] in groups and not name.endswith((".md", ".py", ".json"))}
    assert sorted(told - EVENTS.keys() - CATALOG.keys()) == []


@pytest.mark.parametrize(
    ("name", "explained"),
    [
        pytest.param("docs/settings.md", list(Settings.model_fields), id="settings"),
        pytest.param("docs/log-events.md", list(EVENTS), id="log-events"),
        pytest.param("docs/sources.md", [reason.value for reason in SkipReason], id="skip-reasons"),
        pytest.param("docs/grades.md", list(CATALOG), id="rules"),
        pytest.param("docs/grades.md", [category.value for category in Category], id="categories-of-failure"),
        pytest.param("docs/grades.md", [support.value for support in Support], id="verdicts-on-claims"),
    ],
)
def test_one_page_explains_each(name: str, explained: list[str]) -> None:
    others = [one for one in PAGES if one.name not in _TABLES_OF_KEYS]
    places = {each: [one.name for one in {*others, page(name)} if each in one.explained] for each in explained}

    assert {each: found for each, found in places.items() if found != [name]} == {}


def test_one_page_explains_each_command() -> None:
    headings = page("docs/commands.md").headings

    assert [name for name in _COMMAND_NAMES if headings.count(f"grader-daemon {name}") != 1] == []


def test_every_page_is_reached_from_the_index() -> None:
    listed = {
        (index.path.parent / link.partition("#")[0]).resolve()
        for index in PAGES
        if index.path.name == "README.md"
        for link in index.links
    }

    assert [one.name for one in PAGES if one.path not in listed and one.name != "README.md"] == []


def test_readme_is_short_and_shows_the_pictures() -> None:
    readme = page("README.md")

    assert len(readme.text.encode()) <= _MOST_BYTES_OF_README
    pictures = ("terminal.svg", "weekly.png", "overview.png", "session.png")
    assert {f"docs/pictures/{name}" for name in pictures} <= set(readme.links)


def test_words_written_by_hand_are_few() -> None:
    read = [one for one in PAGES if one.name == "README.md" or one.name.startswith("docs/")]
    words = {one.name: len(one.by_hand.split()) for one in read}

    assert sum(words.values()) <= _MOST_WORDS_BY_HAND, sorted(words.items(), key=lambda item: -item[1])[:10]


@_each_page
def test_page_that_is_mostly_generated_says_so(document: Page) -> None:
    by_hand = document.by_hand.split()

    assert len(by_hand) * 2 > len(document.text.split()) or "generated from the code" in " ".join(by_hand)


def test_install_begins_as_the_readme_does() -> None:
    assert page("docs/install.md").blocks("sh")[0] == page("README.md").blocks("sh")[0]


def test_rules_in_the_code_are_the_rules_in_the_catalog() -> None:
    grading = "\n".join(path.read_text("utf-8") for path in (ROOT / "grader_daemon" / "grading").rglob("*.py"))

    used = set(re.findall(r'"((?:completion|efficiency|quality|recovery)\.\w+)"(?!: ")', grading))

    assert used == {rule for rule in CATALOG if not rule.startswith(("ending.", "standing."))}


def test_ci_runs_the_test_command_of_the_readme() -> None:
    commands = [line for line in (ROOT / ".ci" / "run").read_text("utf-8").splitlines() if line.endswith("-m tests")]

    assert len(commands) == 1
    assert f"{commands[0]}\n" in page("README.md").blocks("sh")


def test_hooks_before_a_commit_are_the_checks_of_the_test_command() -> None:
    hooks = (ROOT / ".pre-commit-config.yaml").read_text("utf-8")

    run = [line.split() for line in re.findall(r"entry: \.venv/bin/(.+)", hooks)]
    assert [tuple(words) for words in run if words[0] != "python"] == list(CHECKS)


def test_changelog_has_a_place_for_what_comes_next() -> None:
    assert "## Unreleased" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_changelog_names_pages_and_sections_that_exist() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    named = re.findall(r"`(docs/[\w/-]+\.md)(?:#([\w-]+))?`", changelog)

    anchors = {one.name: one.anchors for one in PAGES}
    assert [each for each in named if each[0] not in anchors or (each[1] and each[1] not in anchors[each[0]])] == []
    assert named


@cache
def _names() -> set[str]:
    """Return every word of the code."""
    return {
        name
        for folder in ("grader_daemon", "tests", "systemd", "config")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".toml", ".json", ".sql", ".service"}
        for name in re.findall(r"\w+", path.read_text("utf-8"))
    }


def _commands(document: Page) -> Iterator[str]:
    """Yield what a reader may type: the lines of shell blocks, what stands behind a prompt, and spans of code."""
    lines = [line for block in document.blocks("sh") for line in block.splitlines()]
    lines += [line[2:] for block in document.blocks("console") for line in block.splitlines() if line.startswith("$ ")]
    for line in lines:
        for part in re.split(r";|&&|\|\|?|\s#", line):
            yield part.strip()
    for span in document.spans:
        yield f"grader-daemon {span}" if span.partition(" ")[0] in _COMMAND_NAMES else span


def _faults(command: str) -> Iterable[str]:
    """Return what is wrong with a command; nothing where it is none of ours."""
    called, *arguments = re.sub(r"[\[\]…'\"()$]", " ", command).split() or [""]
    name = called.rpartition("/")[2]
    if name in _PROGRAMS:
        own = list(takewhile(lambda argument: argument != "--", arguments))  # behind it stands another program
        return _faults_of_call(_PROGRAMS[name], own, told=command)
    if "pytest" in arguments:
        return _faults_of_tests(arguments, told=command)
    if name.startswith("python") and arguments[:1] == ["-m"] and arguments[1].partition(".")[0] == "tests":
        return _faults_of_module(arguments[1].removesuffix("."), arguments[2:], told=command)
    return ()


def _faults_of_call(command: click.Command, arguments: list[str], *, told: str) -> Iterator[str]:
    context = click.Context(command)
    known = _options(command)
    waiting: click.Parameter | None = None
    for argument in arguments:
        if argument.startswith("-") and argument != "-":
            name, _, value = argument.partition("=")
            command = _turned(command, name)
            known = known | _options(command)
            waiting = known.get(name)
            if waiting is None and name not in {"-h", "--help"}:
                yield f"no option {name}: {told}"
            if value:
                yield from _faults_of_value(waiting, value, told=told)
            continue
        if waiting is not None and not getattr(waiting, "is_flag", False):
            yield from _faults_of_value(waiting, argument, told=told)
        elif isinstance(command, click.Group) and not argument.isupper():
            found = _below(command, context, argument)
            if found is None:
                yield f"no command {argument}: {told}"
                return
            command, known = found, known | _options(found)
        waiting = None


def _below(command: click.Group, context: click.Context, word: str) -> click.Command | None:
    """Return the command that a word calls in a group."""
    named = command.named([word])[0] if isinstance(command, GroupWithWords) else word
    return command.get_command(context, named)


def _turned(command: click.Command, option: str) -> click.Command:
    """Return what an option makes of a command."""
    return command.way(option) if isinstance(command, CommandWithWays) and option in command.ways else command


def _options(command: click.Command) -> dict[str, click.Parameter]:
    """Return the options of a command by their names, for a group also those of what it does without a command."""
    own = {name: option for option in command.params for name in (*option.opts, *option.secondary_opts)}
    if isinstance(command, GroupWithDefault):
        own |= _options(command.default_command(click.Context(command)))
    return own


def _faults_of_value(option: click.Parameter | None, value: str, *, told: str) -> Iterator[str]:
    if option is not None and isinstance(option.type, click.Choice) and not value.isupper():
        for one in value.split("|"):
            if one not in option.type.choices:
                yield f"{one} is no choice of {option.name}: {told}"


def _faults_of_module(module: str, arguments: list[str], *, told: str) -> Iterator[str]:
    spec = find_spec(module) if (ROOT / module.replace(".", "/")).with_suffix(".py").exists() else None
    if module == "tests" or (spec is None and (ROOT / module.replace(".", "/")).is_dir()):
        return
    if spec is None or spec.origin is None:
        yield f"no module {module}: {told}"
        return
    source = Path(spec.origin).read_text("utf-8")
    yield from (
        f"no option {one}: {told}"
        for one in arguments
        if one.startswith("--") and one != "--help" and f'"{one}"' not in source
    )


def _faults_of_tests(arguments: list[str], *, told: str) -> Iterator[str]:
    for argument in arguments:
        file, _, name = argument.partition("::")
        if file.endswith(".py") and not ((ROOT / file).exists() and f"def {name}" in (ROOT / file).read_text("utf-8")):
            yield f"no test {argument}: {told}"


def _leads_somewhere(document: Page, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = (document.path.parent / path).resolve() if path else document.path
    if not anchor or target.suffix != ".md":
        return target.exists()
    return any(one.path == target and anchor in one.anchors for one in PAGES)
