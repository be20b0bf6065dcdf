"""Objects of an archive, and how they are divided into shards."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from importlib import import_module
from typing import Any, Final

import msgspec
import xxhash

from grader_daemon.errors import ConfigurationError, InputError
from grader_daemon.integrations.packages import EXTRAS, how_to_add

SHARD_BYTES: Final = 16 * 1024 * 1024
"""About a thousand sessions: at the end of an archive, others wait for the last shard, and for it to be saved."""
_MOST_OBJECTS: Final = 4_000
_UNPACKED: Final = 6
"""Sessions are about so much larger than they are packed."""
TARS: Final = (".tar", ".tar.gz", ".tgz", ".tar.zst", ".tzst")
_SUFFIXES: Final = (*TARS[1:], ".tar", ".gz", ".zst")


OnUnlisted = Callable[[str, str], None]
"""Is told a folder of an archive, by its path from the root, and why it cannot be listed."""


class StoredObject(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A file of an archive.

    name: its path from the root of the archive.
    bytes: how large it is, as it lies there.
    written_ns: when it was written last, in nanoseconds since 1970.
    version: it differs when the content does: an ETag, or size and time.
    """

    name: str
    bytes: int
    written_ns: int
    version: str

    @property
    def digest(self) -> int:
        """Return 64 bits, signed, that tell this object in this version apart from others."""
        return xxhash.xxh3_64_intdigest(f"{self.name}\0{self.version}".encode("utf-8", "surrogateescape")) - 2**63

    @property
    def is_tar(self) -> bool:
        """True if it holds several files."""
        return split_name(self.name)[1] in TARS

    @property
    def weight(self) -> int:
        """Rough size in bytes when it is unpacked."""
        return self.bytes * (1 if split_name(self.name)[1] in ("", ".tar") else _UNPACKED)


class Archive:
    """A folder, or a file, on disk or wherever fsspec can read; its root is a folder in either case."""

    def __init__(self, url: str) -> None:
        """Look at it; ``file://`` before a path says no more than the path.

        Raises:
            ConfigurationError: a package that it takes to read it is not installed.
            InputError: there is nothing, or it cannot be read.
        """
        url = url.removeprefix("file://")
        try:
            self._files, path = _file_system(url)
            self._path = path.rstrip("/")
            self._is_file = self._files.isfile(self._path)
            if not self._is_file and not self._files.isdir(self._path or "/"):
                raise InputError(f"{url}: no such file or folder")
        except ImportError as error:
            raise ConfigurationError(f"{url}: {error}") from error
        except (OSError, ValueError) as error:
            raise InputError(f"{url}: cannot be read: {error}") from error
        root = self._path.rpartition("/")[0] if self._is_file else self._path
        self._root = f"{root}/"
        self._is_remote = "file" not in self._files.protocol
        self.url = str(self._files.unstrip_protocol(root)) if "://" in url else os.path.abspath(root)
        """Of its root; the path of a folder on this machine."""

    def objects(self, *, unlisted: OnUnlisted = lambda _, __: None) -> Iterator[StoredObject]:
        """Yield what is in it, folder by folder, in order of their names; links are not followed.

        A folder in it that cannot be listed is passed over, and `unlisted` told.

        Raises:
            InputError: it cannot be listed itself.
        """
        folders = [] if self._is_file else [self._path]
        try:
            if self._is_file:
                yield self._object(self._files.info(self._path))
        except OSError as error:
            raise InputError(f"{self.url}: cannot be listed: {error}") from error
        while folders:
            folder = folders.pop()
            try:
                listed = sorted(self._files.ls(folder, detail=True), key=lambda each: str(each["name"]))
            except OSError as error:
                if folder == self._path:
                    raise InputError(f"{self.url}: cannot be listed: {error}") from error
                unlisted(folder.removeprefix(self._root), f"cannot be listed: {error.strerror or error}")
                continue
            inside = [each for each in listed if each["name"].rstrip("/") != folder and not each.get("islink")]
            yield from (self._object(each) for each in inside if each["type"] == "file")
            folders += [each["name"].rstrip("/") for each in reversed(inside) if each["type"] == "directory"]

    def open(self, stored: StoredObject) -> Any:
        """Open an object to be read as bytes.

        Raises:
            OSError: it cannot be.
        """
        path = self._root + stored.name
        return self._files.open(path, "rb") if self._is_remote else open(path, "rb")  # five times as fast

    def _object(self, listed: Mapping[str, Any]) -> StoredObject:
        size, written_ns = int(listed["size"] or 0), _written_ns(listed)
        return StoredObject(
            name=str(listed["name"]).removeprefix(self._root),
            bytes=size,
            written_ns=written_ns,
            version=str(listed.get("ETag") or f"{size} {written_ns}"),
        )


class _LocalFiles:
    """The file system of this machine, as fsspec would show it: for a folder here that package is not needed."""

    protocol: Final = ("file",)
    isfile = staticmethod(os.path.isfile)
    isdir = staticmethod(os.path.isdir)

    def info(self, path: str) -> dict[str, Any]:
        found = os.stat(path)
        return {"name": path, "type": "file", "size": found.st_size, "mtime": found.st_mtime}

    def ls(self, folder: str, *, detail: bool) -> list[dict[str, Any]]:
        del detail  # fsspec knows a list of names alone, too
        with os.scandir(folder) as entries:
            return [listed for each in entries if (listed := self._listed(each)) is not None]

    def _listed(self, entry: os.DirEntry[str]) -> dict[str, Any] | None:
        """Return an entry; None if it is gone by now."""
        try:
            found = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return None
        kind = "directory" if stat.S_ISDIR(found.st_mode) else "file" if stat.S_ISREG(found.st_mode) else "other"
        return {
            "name": entry.path,
            "type": kind,
            "islink": entry.is_symlink(),
            "size": found.st_size,
            "mtime": found.st_mtime,
        }


def _file_system(url: str) -> tuple[Any, str]:
    """Return what lists and opens files, and the path of the archive in it."""
    if "://" in url or "::" in url:
        return import_package("fsspec.core").url_to_fs(url)  # type: ignore[no-any-return]
    return _LocalFiles(), os.path.abspath(os.path.expanduser(url))


def shards_of(objects: Iterable[StoredObject], *, most_bytes: int = SHARD_BYTES) -> Iterator[list[StoredObject]]:
    """Divide an archive into shards of about so many bytes when unpacked, between folders where it can be.

    A tar file that holds more is a shard of its own.
    """
    shard: list[StoredObject] = []
    weight = 0
    for each in objects:
        is_slices = each.is_tar and each.weight > most_bytes
        ends = is_slices or len(shard) >= _MOST_OBJECTS or weight >= 2 * most_bytes
        if shard and (ends or (weight >= most_bytes and os.path.dirname(each.name) != os.path.dirname(shard[-1].name))):
            yield shard
            shard, weight = [], 0
        shard.append(each)
        weight = 2 * most_bytes if is_slices else weight + each.weight
    if shard:
        yield shard


def split_name(name: str) -> tuple[str, str]:
    """Return the name of what is packed, and how: "a.json", ".gz"; "" where it is not."""
    suffix = next((each for each in _SUFFIXES if name.lower().endswith(each)), "")
    return name[: len(name) - len(suffix)], suffix


def import_package(name: str) -> Any:
    """Import a module of an optional package.

    Raises:
        ConfigurationError: it is not installed.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise ConfigurationError(
            f"archives need the package {name.partition('.')[0]}. Add what they need: {how_to_add(*EXTRAS['archive'])}"
        ) from error


def _written_ns(listed: Mapping[str, Any]) -> int:
    """Return when an object was written: local files have `mtime`, object storage `LastModified`; 0 where neither."""
    seconds = listed.get("mtime")
    moment = listed.get("LastModified")
    if isinstance(moment, datetime):
        seconds = moment.timestamp()
    return int(float(seconds or 0.0) * 1e9)
