"""The work tree that a folder belongs to, and the refs of its repository.

A repository is read where git itself would trust it: it belongs to this user, and its folder is the ``.git`` of the
work tree, or one that a linked work tree or a submodule names and that names it in turn.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from typing import Final, NamedTuple

import xxhash

from grader_daemon.errors import ReadError
from grader_daemon.sources.file_reading import open_file

_LONGEST_REF: Final = 4_096
_LONGEST_PACKED: Final = 4_000_000
_MOST_REFS: Final = 5_000
_DEEPEST: Final = 12
_MOST_LINKS: Final = 5
_ID: Final = re.compile(r"[0-9a-f]{40}")
_LONG_ID: Final = re.compile(r"[0-9a-f]{64}")
_KINDS: Final = ("heads", "remotes", "tags")


class WorkTree(NamedTuple):
    """A work tree: its folder, its own folder of git, and that which all work trees of the repository share."""

    root: str
    git: str
    common: str

    @property
    def objects(self) -> str:
        """The folder of objects."""
        return os.path.join(self.common, "objects")


class Refs(NamedTuple):
    """The commits at which branches, tags and work trees of a repository stand; `head` is that of this work tree."""

    head: str | None
    tips: frozenset[str]

    @property
    def state(self) -> str:
        """The same while no ref moves."""
        return xxhash.xxh3_64_hexdigest("\n".join((self.head or "", *sorted(self.tips))).encode())


def find_work_tree(folder: str) -> WorkTree | None:
    """Return the work tree that a folder lies in; None where it lies in none.

    Raises:
        ReadError: there is one, and it cannot be read.
    """
    here = os.path.realpath(folder)
    while True:
        place = os.path.join(here, ".git")
        try:
            status = os.lstat(place)
        except (FileNotFoundError, NotADirectoryError):
            above = os.path.dirname(here)
            if above == here:
                return None
            here = above
            continue
        except OSError as error:
            raise ReadError(f"{place}: {error.strerror}") from error
        return _work_tree(here, place, status)


def read_refs(tree: WorkTree) -> Refs:
    """Return the refs of a repository.

    Raises:
        ReadError: they cannot be read, or are of a kind that is not read.
    """
    if os.path.isdir(os.path.join(tree.common, "reftable")):
        raise ReadError("its refs are in a reftable, which this version cannot read")
    packed = dict(_packed(tree.common))
    loose = dict(_loose(tree.common))
    known = {**packed, **loose}
    if any(_LONG_ID.fullmatch(value) for value in known.values()):
        raise ReadError("it uses SHA-256, which this version cannot read")
    tips = {found for name in known if (found := _commit(name, known)) is not None}
    heads = [_head(tree.git, known), *(_head(each, known) for each in _linked(tree.common))]
    return Refs(heads[0], frozenset(tips.union(filter(None, heads))))


def small_file(path: str, root: str, most: int = _LONGEST_REF) -> bytes | None:
    """Return the content of a small file below `root`, to which no link is followed; None where there is none.

    Raises:
        ReadError: it cannot be read, or is none of the kind.
    """
    try:
        descriptor = open_file(path, [root])
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except OSError as error:
        raise ReadError(f"{path}: {error.strerror}") from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        content = os.read(descriptor, most + 1)
    except OSError as error:
        raise ReadError(f"{path}: {error.strerror}") from error
    finally:
        os.close(descriptor)
    if len(content) > most:
        raise ReadError(f"{path}: it is too large for such a file")
    return content


def _work_tree(root: str, place: str, status: os.stat_result) -> WorkTree:
    if stat.S_ISREG(status.st_mode):
        git = _named(root, place)
        status = os.lstat(git)
    else:
        git = place
    if not stat.S_ISDIR(status.st_mode):
        raise ReadError(f"{place}: it is not a folder, so it is skipped")
    if status.st_uid != os.geteuid():
        raise ReadError(f"{place}: it belongs to another user")
    common = _common(git)
    if os.lstat(common).st_uid != os.geteuid():
        raise ReadError(f"{place}: it belongs to another user")
    return WorkTree(root, git, common)


def _named(root: str, place: str) -> str:
    """Return the folder that a file ``.git`` names, which has to name it, too, or lie in the repository around it."""
    content = (small_file(place, root) or b"").decode("utf-8", "surrogateescape").strip()
    way, _, target = content.partition(": ")
    git = os.path.realpath(os.path.join(root, target))
    if way != "gitdir" or not target or not os.path.isdir(git):
        raise ReadError(f"{place}: it names no git folder")
    back = (small_file(os.path.join(git, "gitdir"), git) or b"").decode("utf-8", "surrogateescape").strip()
    is_linked = os.path.realpath(os.path.join(git, back)) == place if back else False
    if not is_linked and not _is_submodule(root, git):
        raise ReadError(f"{place}: it refers to a repository that does not list it")
    return git


def _is_submodule(root: str, git: str) -> bool:
    """Return whether a folder of git lies below ``.git/modules`` of a work tree around this one."""
    around = os.path.dirname(root)
    while around != os.path.dirname(around):
        if git.startswith(os.path.join(around, ".git", "modules", "")):
            return True
        around = os.path.dirname(around)
    return False


def _common(git: str) -> str:
    """Return the folder that a linked work tree shares with its repository, which is above its own."""
    named = (small_file(os.path.join(git, "commondir"), git) or b"").decode("utf-8", "surrogateescape").strip()
    if not named:
        return git
    common = os.path.realpath(os.path.join(git, named))
    if os.path.dirname(git) != os.path.join(common, "worktrees"):
        raise ReadError(f"{git}: its shared git folder is elsewhere, so it is skipped")
    return common


def _head(git: str, known: dict[str, str]) -> str | None:
    content = (small_file(os.path.join(git, "HEAD"), git) or b"").decode("utf-8", "replace").strip()
    known = {**known, "HEAD": content}
    return _commit("HEAD", known)


def _commit(name: str, known: dict[str, str]) -> str | None:
    """Return the commit of a ref, by way of those that it names; None where that leads nowhere, or in a circle."""
    for _ in range(_MOST_LINKS):
        value = known.get(name, "")
        if _ID.fullmatch(value):
            return value
        name = value.removeprefix("ref: ").strip()
    return None


def _packed(common: str) -> Iterator[tuple[str, str]]:
    content = small_file(os.path.join(common, "packed-refs"), common, _LONGEST_PACKED) or b""
    for line in content.decode("utf-8", "replace").split("\n"):
        value, _, name = line.partition(" ")
        if name.startswith("refs/") and name.split("/")[1] in _KINDS:
            yield name, value


def _loose(common: str) -> Iterator[tuple[str, str]]:
    folders = [(f"refs/{kind}", 0) for kind in _KINDS]
    seen = 0
    while folders:
        folder, depth = folders.pop()
        for entry in _entries(os.path.join(common, folder)):
            seen += 1
            if seen > _MOST_REFS:
                raise ReadError(f"it has more than {_MOST_REFS:,} refs in separate files; run git pack-refs")
            name = f"{folder}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                if depth < _DEEPEST:
                    folders.append((name, depth + 1))
            elif entry.is_file(follow_symlinks=False):
                content = small_file(os.path.join(common, name), common) or b""
                yield name, content.decode("utf-8", "replace").strip()


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        if os.path.islink(folder):
            return []
        with os.scandir(folder) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise ReadError(f"{folder}: {error.strerror}") from error


def _linked(common: str) -> list[str]:
    """Return the folders of linked work trees."""
    entries = _entries(os.path.join(common, "worktrees"))[:_MOST_REFS]
    return [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
