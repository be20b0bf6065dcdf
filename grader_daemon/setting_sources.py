"""Names of the settings sources (flag, environment ``GRADER_…``, TOML file), and error messages that name them.

`setting_layers` has the sources that are read. Nothing here knows what a setting means, and nothing heavy is imported:
completion asks it on every Tab.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple

from grader_daemon.domain.text import nearest
from grader_daemon.errors import ConfigurationError

ENVIRONMENT_PREFIX = "GRADER_"
CONFIG_VARIABLE = "GRADER_CONFIG"
DEFAULT_DB_PATH = Path("~/.timmy/uniwizard/session_grades.db")
ROOTS: Final[Mapping[str, str]] = {
    "hermes": "watch_roots",
    "claude-code": "claude_code_roots",
    "codex": "codex_roots",
    "opencode": "opencode_roots",
    "gemini-cli": "gemini_cli_roots",
    "copilot": "copilot_roots",
    "qwen-code": "qwen_code_roots",
    "cline": "cline_roots",
    "openclaw": "openclaw_roots",
    "pi": "pi_roots",
    "atif": "atif_roots",
    "mini-swe-agent": "mini_swe_agent_roots",
    "openhands": "openhands_roots",
}
"""By the name of a source: the setting of the folders that are watched and walked for it."""

_FAULTS: Final[Mapping[str, str]] = {
    "float_parsing": "is not a number; give a number, such as 2.5",
    "float_type": "is not a number; give a number, such as 2.5",
    "finite_number": "is not a finite number; give a number, such as 2.5",
    "int_parsing": "is not a whole number; give one, such as 10",
    "int_parsing_size": "is too large; give a smaller number",
    "int_type": "is not a whole number; give one, such as 10",
    "int_from_float": "is not a whole number; give one, such as 10",
    "greater_than_equal": "is too small; give {ge:.12g} or more",
    "greater_than": "is too small; give more than {gt:.12g}",
    "less_than_equal": "is too large; give {le:.12g} or less",
    "bool_parsing": "is neither true nor false; give one of them",
    "bool_type": "is neither true nor false; give one of them",
    "literal_error": "is not known; give {expected}",
    "path_type": 'is not a path; give one in quotes, such as "/folder/name"',
    "string_type": 'is not a text; give one in quotes, such as "text"',
    "string_too_short": "is too short; the least length is {min_length}",
    "string_too_long": "is too long; the greatest length is {max_length}",
    "too_short": "is too short; the least length is {min_length}",
    "tuple_type": 'is not a list; give one, such as ["a", "b"]',
}
"""By pydantic's type of a fault: what does not fit in a value, and what would."""
_SHOWN: Final = 80
"""Characters of a value that are shown; a line has to say more than the value."""

_FLAGS = {"fleet_read_url": "db"}
TRACEBACK_VARIABLE = "GRADER_TRACEBACK"
_DEBUG_VARIABLE = "PYDANTIC_SETTINGS_DEBUG"
_OF_OURS = frozenset((CONFIG_VARIABLE, TRACEBACK_VARIABLE, "GRADER_DELIVERY"))
"""Variables that are no settings; the last is in the environment of a program that is told of an alert."""


class Source(StrEnum):
    """Source of a setting's value."""

    FLAG = "flag"
    ENVIRONMENT = "environment"
    FILE = "file"
    DEFAULT = "default"


class Given(NamedTuple):
    """Source that each setting is given by; `file` is where the TOML file is.

    `variables` names the environment variable of each setting that has one, also where a flag stands above it.
    `is_file_named` says that the file was asked for by flag or variable, not looked for at the usual place. `new` is
    a setting that is not in the file yet.
    """

    sources: dict[str, Source]
    variables: Mapping[str, str]
    file: Path
    is_file_named: bool
    new: str | None = None

    def said_by(self, name: str) -> str:
        """Return the source of a setting as a person would look for it."""
        if name == self.new:
            return "new value"
        match self.sources.get(name, Source.DEFAULT):
            case Source.FLAG:
                return f"flag --{_FLAGS.get(name) or name.replace('_', '-').replace('-roots', '-root')}"
            case Source.ENVIRONMENT:
                return f"environment {self.variables[name]}"
            case Source.FILE:
                return str(self.file)
            case Source.DEFAULT:
                return "default"


def setting_of(source: str) -> str:
    """Return the setting of the folders of a source."""
    return ROOTS.get(source, "adapter_roots")


def look(*, config: str | os.PathLike[str] | None, names: Collection[str]) -> Given:
    """Find the variables and the file that are to be read; `config` is the file that a flag names.

    Raises:
        ConfigurationError: a variable is empty, or the file is missing though it was named.
    """
    variables = variables_of(names)
    path = config_file(config)
    is_named = config is not None or CONFIG_VARIABLE in os.environ
    if is_named and not path.is_file():
        by = CONFIG_VARIABLE if config is None else "--config"
        raise ConfigurationError(f"{by} names {path}, which is not a file")
    return Given(sources={}, variables=variables, file=path, is_file_named=is_named)


def database_path(flag: str | None, *, config: str | os.PathLike[str] | None) -> Path:
    """Return where the database is by flag, environment, file or default, without a look at any other setting.

    The settings library is not asked: to load it takes longer than a Tab may take.

    Raises:
        ConfigurationError: it cannot be read, or is no path.
    """
    given = look(config=config, names=("db_path",))
    written = read_file(given.file).get("db_path")
    by_variable = os.environ.get(given.variables.get("db_path", ""))
    layers: tuple[tuple[Source, Any], ...] = (
        (Source.FLAG, flag),
        (Source.ENVIRONMENT, by_variable),
        (Source.FILE, written),
        (Source.DEFAULT, DEFAULT_DB_PATH),
    )
    source, named = next(each for each in layers if each[1] is not None)
    try:
        return absolute(Path(named))
    except (TypeError, ValueError) as error:
        given.sources["db_path"] = source
        raise ConfigurationError(
            f"setting db_path ({given.said_by('db_path')}): {named!r} is wrong: {error}"
        ) from error


def config_file(named: str | os.PathLike[str] | None = None) -> Path:
    """Return where the TOML file is looked for: what is `named`, else the variable, else the usual place.

    Raises:
        ConfigurationError: the name is empty, or in a home folder that nobody knows.
    """
    if named is None:
        named = os.environ.get(CONFIG_VARIABLE, "~/.config/grader-daemon/config.toml")
    if not os.fspath(named):
        raise ConfigurationError(f"{CONFIG_VARIABLE} is empty: name a file, or unset it")
    try:
        return absolute(Path(named))
    except ValueError as error:
        raise ConfigurationError(f"settings file: {error}; set HOME") from error


def read_file(path: Path) -> dict[str, Any]:
    """Read the settings of a TOML file; none if there is no such file.

    Raises:
        ConfigurationError: it cannot be read, or is no TOML.
    """
    try:
        text = path.read_text("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path}: not UTF-8 text") from error
    import tomllib  # where there is no such file, nobody need wait for it

    try:
        return tomllib.loads(text)
    except ValueError as error:
        raise ConfigurationError(f"{path}: {error}") from error
    except RecursionError as error:
        raise ConfigurationError(f"{path}: nested too deeply") from error


def absolute(path: Path) -> Path:
    """Return a path from the root, with ``~`` filled in.

    Raises:
        ValueError: it begins with a home folder that nobody knows, or has a null character in it.
    """
    if "\0" in os.fspath(path):
        raise ValueError("a path without a null character is expected")
    try:
        return Path(os.path.abspath(path.expanduser()))
    except RuntimeError as error:
        raise ValueError("its home folder is unknown") from error


def refuse_debugging() -> None:
    """Refuse the variable by which the settings library writes every value into the log, secrets too.

    Raises:
        ConfigurationError: it is set.
    """
    if os.environ.get(_DEBUG_VARIABLE):
        raise ConfigurationError(
            f"environment {_DEBUG_VARIABLE} is set; it would log all settings with their secrets: unset it"
        )


def explained(
    fault: Mapping[str, Any], given: Given, *, names: Collection[str], is_secret: Callable[[str], bool]
) -> str:
    """Return one line on what pydantic found wrong with a setting, whose value is not told if it `is_secret`."""
    name = str(fault["loc"][0])
    if fault["type"] == "extra_forbidden":
        return f"{given.said_by(name)}: there is no setting {name!r}{meant(name, names)}"
    is_misplaced = "://" in str(fault["input"]) and not name.endswith("_url")  # and may have a password in it
    is_hidden = is_secret(name) or is_misplaced
    value = "the value" if is_hidden else _shown(fault["input"])
    return f"setting {name} ({given.said_by(name)}): {value} {_fault_words(fault)}"


def _fault_words(fault: Mapping[str, Any]) -> str:
    """Return what does not fit in a value, and what would."""
    context = fault.get("ctx", {})
    if fault["type"] == "value_error":
        return f"is wrong: {context['error']}"
    return _FAULTS.get(fault["type"], "does not fit; see docs/settings.md").format_map(context)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def unknown_variables(names: Collection[str]) -> list[str]:
    """Return a line on each ``GRADER_…`` variable that nobody reads, and which one may be meant."""
    known = [*_OF_OURS, *(ENVIRONMENT_PREFIX + name.upper() for name in names)]
    return [
        f"environment {variable} is no setting and was not read{meant(variable.upper(), known)}"
        for variable in sorted(os.environ)
        if variable.upper().startswith(ENVIRONMENT_PREFIX) and variable.upper() not in known
    ]


def cache_folder() -> Path:
    """Return the folder of what can be made again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "grader-daemon"


def unknown_zone() -> list[str]:
    """Return a line if the C library does not know the zone in TZ, and takes UTC without a word; see tzset(3)."""
    zone = os.environ.get("TZ", "")
    name = zone.removeprefix(":")
    if not name or any(character in name for character in "0123456789<,"):  # spelled out, such as CET-1CEST
        return []
    import zoneinfo  # most set none

    if any(os.path.isfile(os.path.join(folder, name)) for folder in zoneinfo.TZPATH):
        return []
    return [f"environment TZ={zone} names no zone that is known here: UTC is used; correct it, or set timezone"]


def meant(word: str, known: Collection[str]) -> str:
    """Return which word may be meant by one that nobody knows; "" if none is like it."""
    near = nearest(word, known)
    return "" if near is None else f"; did you mean {near}?"


def variables_of(names: Collection[str]) -> dict[str, str]:
    """Find the variable of each setting that has one; capitals or not, but capitals win.

    Raises:
        ConfigurationError: one is empty.
    """
    settings = {ENVIRONMENT_PREFIX + name.upper(): name for name in names}
    variables: dict[str, str] = {}
    for variable in sorted(os.environ, reverse=True):  # capitals sort first, so they come last
        name = settings.get(variable.upper())
        if name is not None:
            variables[name] = variable
            if not os.environ[variable]:
                raise ConfigurationError(f"environment {variable} is empty: give it a value, or unset it")
    return variables


# -- writing the file ------------------------------------------------------------------------------------------------


def edited(text: str, name: str, literal: str | None) -> str:
    """Return the TOML `text` with a setting of this value, or without it (None); all else stays, comments too.

    What is new stands below the comment that shows it, as in config/grader.toml, else at the end.
    """
    lines = text.splitlines(keepends=True)
    begin, end = _assignment(lines, name)
    comment = _comment_behind("".join(lines[begin:end]))
    new = [] if literal is None else [f"{name} = {literal}{comment}\n"]
    if begin == end and lines and not lines[begin - 1].endswith("\n"):
        new = ["\n", *new]
    return "".join([*lines[:begin], *new, *lines[end:]])


def _assignment(lines: Sequence[str], name: str) -> tuple[int, int]:
    """Find the lines that set a name; without any, the place where it may stand, twice."""
    for begin, line in enumerate(lines):
        if re.match(rf"""\s*["']?{name}["']?\s*=""", line):
            for end in range(begin + 1, len(lines) + 1):
                if name in _parsed("".join(lines[begin:end])):
                    return begin, end
    shown = [number for number, line in enumerate(lines, 1) if re.match(rf"#\s*{name}\s*=", line)]
    place = shown[-1] if shown else len(lines)
    return place, place


def _comment_behind(assignment: str) -> str:
    """Return the comment that follows a value; "" without one."""
    values = _parsed(assignment)
    for found in re.finditer(r"\s*#", assignment.rstrip("\n")):
        if values and _parsed(assignment[: found.start()]) == values:
            comment = assignment[found.start() :].rstrip("\n")
            return comment if "\n" not in comment else ""
    return ""


def _parsed(text: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except ValueError:
        return {}
