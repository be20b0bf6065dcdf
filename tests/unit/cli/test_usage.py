from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from grader_daemon import __version__
from grader_daemon.cli.all_commands import program
from grader_daemon.cli.groups import CommandWithWays
from tests.tables import for_each
from tests.unit.cli.conftest import Run

Words = tuple[str, ...]


def commands(
    group: click.Command = program, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command with the words that name it, and the ways of each."""
    if isinstance(group, CommandWithWays):
        yield from (((*path, name), group.way(name)) for name in group.ways)
    if not isinstance(group, click.Group):
        yield path, group
        return
    ctx = click.Context(group)
    for name in group.list_commands(ctx):
        found = group.get_command(ctx, name)
        assert found is not None
        yield from commands(found, (*path, name))


COMMANDS = dict(commands())


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        pytest.param(
            ("lst",), "there is no command 'lst'; did you mean list? See 'grader-daemon --help'", id="command"
        ),
        pytest.param(("xyzzy",), "there is no command 'xyzzy'; see 'grader-daemon --help'", id="command-like-no-other"),
        pytest.param(
            ("train", "sessions"),
            "there is no command 'train'; did you mean calibration train? See 'grader-daemon --help'",
            id="command-of-a-group-without-the-group",
        ),
        pytest.param(
            ("review",),
            "there is no command 'review'; did you mean label? See 'grader-daemon --help'",
            id="earlier-name",
        ),
        pytest.param(
            ("grade", "--again", "--source", "codex"),
            "there is no option --source; see 'grader-daemon grade --again --help'",
            id="option-that-one-way-has-not",
        ),
        pytest.param(
            ("grade", "--as", "codex"),
            "--as needs the files to read; for sessions of one agent give --source; see 'grader-daemon grade --help'",
            id="agent-of-no-file",
        ),
        pytest.param(
            ("grade", "a.json", "-d", "3"),
            "give files and folders, or -d, --since, --source and --jobs, not both; see 'grader-daemon grade --help'",
            id="days-of-a-file",
        ),
        pytest.param(
            ("grade", "s3://bucket/a b"),
            "s3://bucket/a b: an address; to grade an archive: grader-daemon grade --archive 's3://bucket/a b'",
            id="address-of-an-archive",
        ),
        pytest.param(
            ("sources", "enable", "codex", "claude-code", "--path", "."),
            "--path takes one agent; see 'grader-daemon sources enable --help'",
            id="folder-of-two-agents",
        ),
        pytest.param(
            ("calibration", "level", "abc"),
            "SHARE: 'abc' is not a share of tasks; write 70% or 0.7; see 'grader-daemon calibration level --help'",
            id="name-of-an-argument-keeps-its-capitals",
        ),
        pytest.param(
            ("label", "a", "--note", "x"),
            "--note needs --completed or --quality; see 'grader-daemon label --help'",
            id="note-alone",
        ),
        pytest.param(
            ("label", "a"),
            "give one of these: --completed or --quality, --undo, --csv or --list; see 'grader-daemon label --help'",
            id="session-alone",
        ),
        pytest.param(("backup", "restore", "/tmp"), "/tmp: is a folder; name a file", id="folder-for-a-backup"),
        pytest.param(("list", '"unclosed'), '"unclosed: the quote is not closed', id="quote-that-is-not-closed"),
        pytest.param(
            ("fleet", "add-token", "x"),
            "setting fleet_read_url is missing: it names the database with the grades of your machines. Its"
            " administrator runs grader-daemon fleet add-member NAME, which prints the line for your settings file",
            id="token-without-a-fleet",
        ),
        pytest.param(
            ("dashboard", "--idle-exit=nan"),
            "invalid value for '--idle-exit': 'nan' is not a number above 0; give one, such as 2.5; see 'grader-daemon"
            " dashboard --help'",
            id="seconds-that-are-no-number",
        ),
        pytest.param(
            ("similar", "s9"),
            "there is no command 'similar'; did you mean search --similar? See 'grader-daemon --help'",
            id="earlier-name-of-a-way",
        ),
        pytest.param(
            ("push", "otlp"),
            "there is no command 'push'; did you mean export scores, export metrics or fleet push? See"
            " 'grader-daemon --help'",
            id="earlier-name-of-several",
        ),
        pytest.param(
            ("trial", "start", "deploy"),
            "there is no command 'trial'; did you mean changes trial? See 'grader-daemon --help'",
            id="earlier-name-of-a-group-that-two-groups-have",
        ),
        pytest.param(
            ("errors", "list"),
            "there is no command 'errors'; did you mean report errors? See 'grader-daemon --help'",
            id="group-of-a-group-without-the-group",
        ),
        pytest.param(
            ("help", "list"), "there is no command 'help'; did you mean --help? See 'grader-daemon --help'", id="help"
        ),
        pytest.param(
            ("summary",),
            "there is no command 'summary'; did you mean grader-daemon without a command? See 'grader-daemon --help'",
            id="earlier-name-of-the-program-alone",
        ),
        pytest.param(
            ("backfil",),
            "there is no command 'backfil'; did you mean grade or grade --archive? See 'grader-daemon --help'",
            id="slip-in-an-earlier-name",
        ),
        pytest.param(
            ("evidence",), "there is no command 'evidence'; see 'grader-daemon --help'", id="command-that-sounds-alike"
        ),
        pytest.param(
            ("list", "--nope"), "there is no option --nope; see 'grader-daemon list --help'", id="option-not-alike"
        ),
        pytest.param(
            ("list", "--standing", "checked"),
            "there is no option --standing; did you mean --result? See 'grader-daemon list --help'",
            id="earlier-option",
        ),
        pytest.param(
            ("list", "--result", "agent-says-don"),
            "invalid value for '--result': 'agent-says-don' is not a value; did you mean agent-says-done? See"
            " 'grader-daemon list --help'",
            id="slip-in-a-value",
        ),
        pytest.param(
            ("report", "errors", "resovle", "a"),
            "there is no command 'resovle'; did you mean resolve? See 'grader-daemon report errors --help'",
            id="command-of-a-group",
        ),
        pytest.param(
            ("list", "--dayz", "3"),
            "there is no option --dayz; did you mean --days? See 'grader-daemon list --help'",
            id="option",
        ),
        pytest.param(
            ("--wombat",), "there is no option --wombat; see 'grader-daemon --help'", id="option-like-no-other"
        ),
        pytest.param(
            ("--json", "list"),
            "--json stands before list; write it behind list; see 'grader-daemon --help'",
            id="option-of-the-program-alone",
        ),
        pytest.param(
            ("-d", "7", "list"),
            "--days stands before list; write it behind list; see 'grader-daemon --help'",
            id="days-of-the-program-alone",
        ),
        pytest.param(
            ("list", "-d", "nan"),
            "invalid value for '-d' / '--days': 'nan' is not a valid whole number; see 'grader-daemon list --help'",
            id="value",
        ),
        pytest.param(("show",), "missing argument 'SESSION_ID'; see 'grader-daemon show --help'", id="missing"),
        pytest.param(
            ("list", "--completed", "--not-completed"),
            "give --completed or --not-completed, not both; see 'grader-daemon list --help'",
            id="both-of-two",
        ),
        pytest.param(
            ("label", "x", "--completed", "maybe"),
            "invalid value for '--completed': 'maybe' is not one of 'yes', 'no'; see 'grader-daemon label --help'",
            id="choice",
        ),
    ],
)
def test_wrong_usage_is_told_in_one_line_of_one_style(home: Path, run: Run, arguments: Words, line: str) -> None:
    ended = run(home, *arguments)
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", f"grader-daemon: {line}\n")


@pytest.mark.parametrize(
    ("arguments", "at"),
    [
        pytest.param(("label", "x", "--completed", ""), "--completed", id="value"),
        pytest.param(("label", "x", "--completed="), "--completed", id="value-behind-an-equals-sign"),
        pytest.param(("grade", "--watch-root", ""), "--watch-root", id="folder"),
        pytest.param(("--db-path", "", "list"), "--db-path", id="before-the-command"),
        pytest.param(("show", ""), "show", id="id"),
        pytest.param(("",), "the first argument", id="command"),
    ],
)
def test_nothing_is_guessed_from_an_empty_text(home: Path, run: Run, arguments: Words, at: str) -> None:
    ended = run(home, *arguments)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == f"grader-daemon: {at}: the value is empty; give a value, or leave it out\n"
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("arguments", [("-V",), ("--version",)])
def test_the_version_is_told(home: Path, run: Run, arguments: Words) -> None:
    assert run(home, *arguments) == (0, f"grader-daemon, version {__version__}\n", "")


@pytest.mark.parametrize("group", ["service", "config"])
def test_a_group_alone_shows_its_help(home: Path, run: Run, group: str) -> None:
    assert run(home, group) == run(home, group, "--help")


def test_every_command_has_help(home: Path, run: Run) -> None:
    for words in COMMANDS:
        ended = run(home, *words, "--help")
        assert (ended.returncode, ended.stderr) == (0, ""), words
        assert ended.stdout.startswith(" ".join(("Usage: grader-daemon", *words)))
    assert list(home.iterdir()) == []


@for_each("words", COMMANDS, ids=" ".join)
def test_help_has_words_for_people(words: Words) -> None:
    """Not the names of types of a library."""
    command = COMMANDS[words]
    text = command.get_help(click.Context(command, info_name=" ".join(words)))
    assert "RANGE" not in text
    assert "FLOAT" not in text


WITHOUT_JSON = {
    ("run",),  # logs JSON: --log-format json
    ("fleet", "watch"),  # so does this one: GRADER_LOG_FORMAT=json
    ("export", "table"),  # writes JSON line by line: -f ndjson
    ("export", "metrics"),  # has a format of its own
    ("service", "logs"),  # each line that the daemon wrote is JSON: journalctl
    ("mcp",),  # speaks JSON with programs
    ("changes", "trial", "run"),  # becomes another program
    ("grade", "--demo"),
    ("dashboard", "new-token"),  # says one line and does one thing
    ("config", "completion"),
}


def test_every_command_speaks_json_too() -> None:
    without = {
        words for words, command in COMMANDS.items() if not any("--json" in param.opts for param in command.params)
    }
    assert without == WITHOUT_JSON
