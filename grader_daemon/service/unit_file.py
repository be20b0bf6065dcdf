"""The unit files: those of `systemd/`, fitted to one machine and its settings.

The files in this package are links to those in the repository; a wheel holds their content. What the settings ask for
beyond them (other folders, a network for a webhook) replaces lines of them, and the outcome reads like the original.
"""

from __future__ import annotations

import difflib
import hashlib
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from grader_daemon.errors import ConfigurationError
from grader_daemon.service.unit_value import Fit, Unit

TEMPORARY = (Path("/tmp"), Path("/var/tmp"))  # noqa: S108  their names; nothing is written there

_MEBIBYTE = 1 << 20
_OTHER_MEMORY_MEBIBYTES = 128
_MEMORY_FACTOR = 3.5
"""Memory for each byte of the largest session, as measured for `max_file_bytes`."""

_MEMORY_MARGIN = 1.25
_RUN = Path("/run")
_UNSEEN = (Path("/dev"), Path("/proc"), Path("/sys"))
_DIRECTIVE = re.compile(r"(\w+)=(.*)")

_END_OF_HEAD = "\n#\n"
_WRITTEN = "# Written by `"
_SUM_OF = "Sum of what follows:"
_SUMMED = re.compile(rf" {_SUM_OF} (\w+)\.?$", re.MULTILINE)

_Lines = Mapping[str, Sequence[str]]
"""The lines that take the place of a directive; none takes it out."""


def shipped(file: str) -> str:
    """Return a unit file as it is in the repository."""
    return files("grader_daemon.service").joinpath(file).read_text("utf-8")


def fitted_files(unit: Unit, fit: Fit, *, version: str) -> dict[str, str]:
    """Return the files of a unit, by their names, with absolute paths and all that the settings need.

    Raises:
        ConfigurationError: a path cannot be seen by a service, or not be written down in a unit.
    """
    if fit.needs(*_UNSEEN):
        raise ConfigurationError("a service can use no folders below /dev, /proc and /sys; choose others")
    bare = shipped(unit.service)
    changes = {
        **_command(fit),
        **_memory(fit, bare),
        **_folders(fit),
        **_sockets(fit, bare),
        **_calls(fit),
        "ListenStream": [f"ListenStream={fit.address}"],
    }
    return {file: _headed(file, _replace(shipped(file), changes), unit=unit, version=version) for file in unit.files}


def is_edited(text: str) -> bool:
    """Return whether somebody changed a file after it was written, or wrote it. Without a sum, as of old: not known."""
    head, _, rest = text.partition(_END_OF_HEAD)
    summed = _SUMMED.search(head)
    return not head.startswith(_WRITTEN) or (summed is not None and summed[1] != sum_of(rest))


def still_fits(text: str, fit: Fit, *, version: str) -> bool:
    """Return whether a file is of this version, if it was written by us, and leaves open what is needed now."""
    said = directives(text)
    is_ours = not text.startswith(_WRITTEN) or f"version {version}." in text.partition("\n")[0]
    return (
        is_ours
        and said.get("ListenStream") in (None, fit.address)
        and shows(text, fit.needed, home=fit.home)
        and ("ReadWritePaths" not in said or _are_below(_places(said, "ReadWritePaths", fit.home), fit.writable))
        and not ((fit.network or fit.programs) and said.get("PrivateNetwork") == "yes")
        and not (fit.programs and said.get("MemoryDenyWriteExecute") == "yes")
        and not _memory(fit, text)
    )


def shows(text: str, paths: Iterable[Path], *, home: Path) -> bool:
    """Return whether a service with this file sees paths, as far as they are in the home folder."""
    said = directives(text)
    needed = [path for path in paths if path.is_relative_to(home)]
    hides = "%h:ro" in said.get("TemporaryFileSystem", "").split()
    return not hides or _are_below(_places(said, "BindReadOnlyPaths", home), needed)


def edits(unit: str, fitted: str) -> list[str]:
    """Return the directives that a unit has beside a fitted one, and those that it lacks, after a plus or a minus."""
    changed = difflib.unified_diff(_told(fitted), _told(unit), n=0, lineterm="")
    return [line for line in changed if line.startswith(("+", "-")) and not line.startswith(("+++", "---"))]


def directives(unit: str) -> dict[str, str]:
    """Return the directives of a unit by name; of one that stands there several times, the last."""
    return {found[1]: found[2] for line in unit.splitlines() if (found := _DIRECTIVE.fullmatch(line))}


def _places(said: Mapping[str, str], name: str, home: Path) -> list[Path]:
    """Return the paths that a directive lists; of specifiers, that of the home folder is known."""
    meanings = {"%%": "%", "%h": str(home)}
    words = (word.removeprefix("-") for word in shlex.split(said.get(name, "")))
    return [Path(re.sub("%[%h]", lambda found: meanings[found[0]], word)) for word in words]


def _are_below(places: Sequence[Path], paths: Iterable[Path]) -> bool:
    return all(any(path.is_relative_to(place) for place in places) for path in paths)


def _headed(file: str, fitted: str, *, unit: Unit, version: str) -> str:
    return (
        f"{_WRITTEN}{unit.install}`, version {version}.\n# Put your own lines into a drop-in: systemctl --user"
        f" edit {file}. {_SUM_OF} {sum_of(fitted)}.{_END_OF_HEAD}{fitted}"
    )


def sum_of(text: str) -> str:
    """Return what tells whether somebody edited a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _told(unit: str) -> list[str]:
    return [line for line in unit.splitlines() if line.strip() and not line.startswith("#")]


# -- what takes the place of what ------------------------------------------------------------------------------------


def _command(fit: Fit) -> _Lines:
    environment = dict(fit.environment)
    if fit.needs(*TEMPORARY):
        environment["TMPDIR"] = str(fit.writable[0])
    return {
        "ExecStart": [
            *(f"Environment={_quoted(f'{name}={value}')}" for name, value in sorted(environment.items())),
            "ExecStart=" + " ".join(_quoted(word).replace("$", "$$") for word in fit.command),
        ]
    }


def _memory(fit: Fit, text: str) -> _Lines:
    """Return the lines of more memory than a file allows, if it is needed; limits of a person's own are left alone."""
    high = _OTHER_MEMORY_MEBIBYTES + _MEMORY_FACTOR * fit.max_file_bytes / _MEBIBYTE
    allowed = re.fullmatch(r"(\d+)M", directives(text).get("MemoryHigh", ""))
    if allowed is None or high <= int(allowed[1]):
        return {}
    return {"MemoryHigh": [f"MemoryHigh={high:.0f}M"], "MemoryMax": [f"MemoryMax={_MEMORY_MARGIN * high:.0f}M"]}


def _folders(fit: Fit) -> _Lines:
    sees_temporary = fit.needs(*TEMPORARY)
    written = fit.writable if sees_temporary else (*fit.writable, *TEMPORARY)
    bare = [folder for folder in written if not any(path.is_relative_to(folder) for path in fit.needed)]
    hidden = [path for path in fit.writable if path.is_relative_to(fit.home)] if fit.seen_in_home is not None else []
    folders: dict[str, Sequence[str]] = {
        "BindPaths": [f"BindPaths={_list(hidden)}"] if hidden else [],
        "ReadWritePaths": [f"ReadWritePaths={_list(fit.writable)}"],
        "NoExecPaths": [f"NoExecPaths={_list(bare)}"] if bare else [],
    }
    if sees_temporary:
        folders["PrivateTmp"] = [
            "# It needs something in a folder for temporary files, so it can read all of them, but write to none."
        ]
    return folders


def _sockets(fit: Fit, shipped: str) -> _Lines:
    notify = ["%t/systemd/notify"] if directives(shipped)["Type"] == "notify" else []
    seen = fit.seen_in_home
    hidden, comment = ([] if seen is None else ["%h:ro"]), []
    bound = [_quoted(f"-{path}") for path in seen or ()]
    if not (fit.programs or fit.needs(fit.runtime)):
        bound[:0] = [*notify, *(_quoted(f"-{path}") for path in fit.shown)]
        is_open = bool(fit.network) or fit.needs(_RUN)
        hidden.insert(0, "%t:ro" if is_open else "/run:ro")
        if is_open:
            needed = "It needs one: to say that it is ready and alive. " if notify else ""
            comment = [
                "# Through your session's sockets it could make other programs act for it, first your service manager.",
                f"# {needed}The rest of /run is open, to look up names.",
            ]
    return {
        "TemporaryFileSystem": [*comment, f"TemporaryFileSystem={' '.join(hidden)}"] if hidden else [],
        "BindReadOnlyPaths": [f"BindReadOnlyPaths={' '.join(bound)}"] if bound else [],
    }


def _calls(fit: Fit) -> _Lines:
    calls: dict[str, Sequence[str]] = {}
    if fit.network:
        calls["RestrictAddressFamilies"] = [
            f"# For {_names(fit.network)}.",
            "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6",
        ]
    if fit.programs:
        calls["RestrictAddressFamilies"] = [
            f"# Programs of {_names(fit.programs)} run in this sandbox too, so rarely needed system calls are allowed.",
            "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK",
        ]
        calls["SystemCallFilter"] = ["SystemCallFilter=@system-service"]
        calls["MemoryDenyWriteExecute"] = []
    return {**calls, "PrivateNetwork": []} if calls else {}


def _names(settings: Sequence[str]) -> str:
    return " and ".join(f"`{name}`" for name in settings)


# -- the language of unit files --------------------------------------------------------------------------------------


def _replace(unit: str, changes: _Lines) -> str:
    """Write other lines where a directive stands; of what a unit does not restrict nothing need be lifted.

    The comment right above a directive goes with it if that is taken out or brings a comment of its own.
    """
    for name, lines in changes.items():
        block = re.compile(rf"^((?:# (?!--).*\n)*)(?:{name}=.*\n)+", re.MULTILINE)
        found = block.search(unit)
        if found is None:
            continue
        keeps_comment = bool(lines) and not lines[0].startswith("#")
        new = "".join(f"{line}\n" for line in lines)
        unit = unit[: found.start()] + (found[1] if keeps_comment else "") + new + unit[found.end() :]
    return unit


def _list(paths: Iterable[Path]) -> str:
    return " ".join(_quoted(str(path)) for path in paths)


def _quoted(word: str) -> str:
    """Quote one word of a list, a command or an assignment (systemd.syntax(7)); a per cent sign begins a specifier.

    Raises:
        ConfigurationError: it has characters that a line of text cannot have.
    """
    if not word.isprintable():
        raise ConfigurationError(f"{word!r} cannot be used in a unit file: it has unprintable characters")
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return escaped if re.fullmatch(r"[\w%+=:,./-]+", escaped) else f'"{escaped}"'
