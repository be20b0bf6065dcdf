"""A file that a trial takes away and puts back: a prompt file, the ``SKILL.md`` of a skill, or a link to one of them.

A file is renamed beside itself, so what agents look for by its name is not there, and its content is never copied. A
link is removed and made again; what it leads to stays untouched. No step overwrites anything: what somebody put there
meanwhile is kept. A process that is killed between two steps leaves what `position_of` recognises.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from enum import StrEnum
from typing import Final

import msgspec
import xxhash

from grader_daemon.errors import InputError, OutputError
from grader_daemon.skills.content import read_beginning
from grader_daemon.skills.places import SKILL_FILE

HELD: Final = ".grader-trial"
"""Added to the name of a file while it is away."""

_MOST_BYTES: Final = 1_048_576
_NO_HARD_LINKS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS})


class Position(StrEnum):
    """Position of a switched file, or the reason why it is no longer known."""

    ON = "on"
    OFF = "off"
    EDITED = "edited"
    REPLACED = "replaced"
    GONE = "gone"


class SwitchedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file as it was when its trial began.

    path: absolute, and no folder above it below the agent's home is a link.
    link: what it leads to, as is written in it; None for a file.
    digest: of its content, 32 hex digits of XXH3.
    """

    path: str
    link: str | None
    digest: str

    @property
    def held(self) -> str:
        """Path of the file while it is away."""
        return self.path + HELD


def switched_file(path: str) -> SwitchedFile:
    """Return a file, or a link to one or to the folder of a skill, as it is now.

    Raises:
        InputError: it is none of these, too large, or cannot be renamed.
    """
    link = os.readlink(path) if os.path.islink(path) else None
    digest = _digest(path if link is None else _behind(path, link))
    if digest is None:
        raise InputError(f"{path}: not a readable file of at most {_MOST_BYTES:,} bytes")
    file = SwitchedFile(path=path, link=link, digest=digest)
    if os.path.lexists(file.held):
        raise InputError(f"{file.held} is left from another trial; rename or delete it")
    if not os.access(os.path.dirname(path), os.W_OK):
        raise InputError(f"{os.path.dirname(path)}: you may not rename files in this folder")
    return file


def position_of(file: SwitchedFile) -> Position:
    """Return the position of a file, by what is on disk alone."""
    is_here, is_held = os.path.lexists(file.path), os.path.lexists(file.held)
    if file.link is not None:
        if is_here and not _leads(file.path, file.link):
            return Position.REPLACED
        found = _digest(_behind(file.path, file.link))
    else:
        if is_here and is_held and not _is_same(file.path, file.held):
            return Position.REPLACED
        if not (is_here or is_held):
            return Position.GONE
        found = _digest(file.path if is_here else file.held)
    if found != file.digest:
        return Position.EDITED if found else Position.GONE
    return Position.ON if is_here else Position.OFF


def take_away(file: SwitchedFile) -> None:
    """Move a file away that is in its place.

    Raises:
        OutputError: it cannot be renamed.
    """
    try:
        _drop_second_name(file)
        os.rename(file.path, file.held)
        if file.link is not None and _leads(file.held, file.link):
            os.unlink(file.held)
    except OSError as error:
        raise OutputError(f"{file.path}: cannot be renamed: {error.strerror}") from error


def put_back(file: SwitchedFile) -> bool:
    """Return a file to its place, whatever is known of it; False if its folder is gone, or another is there and kept.

    Raises:
        OutputError: it cannot be renamed.
    """
    try:
        _drop_second_name(file)
        if file.link is not None:
            return _link_again(file.path, file.held, file.link)
        if os.path.lexists(file.held):
            _rename_to_nothing(file.held, file.path)
    except (FileExistsError, FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise OutputError(f"{file.path}: cannot be put back: {error.strerror}") from error
    return os.path.lexists(file.path)


def _link_again(path: str, held: str, link: str) -> bool:
    if not os.path.lexists(path):
        os.symlink(link, path)
    if _leads(held, link):
        os.unlink(held)
    return _leads(path, link)


def _rename_to_nothing(held: str, path: str) -> None:
    """Rename a file to a name that nothing has; a plain rename would replace what has it."""
    try:
        os.link(held, path, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path) from error
        os.rename(held, path)
    else:
        os.unlink(held)


def _drop_second_name(file: SwitchedFile) -> None:
    """Remove the name that a process which was killed while it put the file back has left."""
    if file.link is None and os.path.lexists(file.held) and _is_same(file.path, file.held):
        os.unlink(file.held)


def _is_same(path: str, held: str) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.lstat(path), os.lstat(held))
    return False


def _leads(path: str, link: str) -> bool:
    return os.path.islink(path) and os.readlink(path) == link


def _behind(path: str, link: str) -> str:
    """Return the file that a link leads to: of a skill's folder its ``SKILL.md``."""
    target = os.path.realpath(os.path.join(os.path.dirname(path), link))
    return os.path.join(target, SKILL_FILE) if os.path.isdir(target) else target


def _digest(path: str) -> str | None:
    """Return the digest of a file; None of what is none, too large or cannot be read."""
    try:
        content = read_beginning(path, _MOST_BYTES + 1)
    except OSError:
        return None
    return xxhash.xxh3_128_hexdigest(content) if len(content) <= _MOST_BYTES else None
