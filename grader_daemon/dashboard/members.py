"""Members of a fleet that is served: a token each, of which a file of the server has digests.

The file lets nobody in: it has the digest of a token, and that of the cookie that comes of it, and neither leads back.
A token is 256 random bits, which a plain digest hides as well as a slow one.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from grader_daemon import log
from grader_daemon.dashboard.access import Access, cookie_of, hosts_of, names_of, stamp_of, written_privately
from grader_daemon.errors import ConfigurationError, GraderError, NotFoundError

if TYPE_CHECKING:
    from grader_daemon.settings import Settings

_FILE: Final = "fleet_tokens.json"
_MOST_BYTES: Final = 4 * 1024**2
"""Some 15,000 members."""


_Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A person who is let in: digests of their token and of the cookie that comes of it, and when it was made."""

    name: str
    token: _Digest
    cookie: _Digest
    made_at: datetime


class _Members(msgspec.Struct, frozen=True, kw_only=True):
    members: tuple[Member, ...] = ()


class MemberAccess(Access, frozen=True):
    """Access of members, each by a token of their own; `token` is one that nobody has, for what forms hold."""

    members: tuple[Member, ...] = ()

    @property
    def reads_only(self) -> bool:
        """True: what members say goes to the fleet's database under their own login."""
        return True

    @property
    def who_are_you(self) -> str:
        """The same answer to a token that is wrong, that was taken back, and to none."""
        return "Not signed in: open the address with the token that the administrator gave you."

    def is_token(self, given: str) -> bool:
        """Return whether this is the token of a member; all of them are compared."""
        digest = _digest(given)
        return sum(hmac.compare_digest(each.token, digest) for each in self.members) > 0

    def is_cookie(self, given: str) -> bool:
        """Return whether this is the cookie of a member; all of them are compared."""
        digest = _digest(given)
        return sum(hmac.compare_digest(each.cookie, digest) for each in self.members) > 0


class MemberDoor:
    """Access as it is now: a token that was replaced or taken back lets in nobody from the next request on."""

    def __init__(self, access: MemberAccess, path: Path) -> None:
        self._access = access
        self._path = path
        self._seen: tuple[int, int] | None = None

    def __call__(self) -> MemberAccess:
        """Return it; where the file is gone or cannot be read, nobody is let in."""
        stamp = stamp_of(self._path)
        if stamp is None or stamp != self._seen:
            self._seen = stamp
            self._access = msgspec.structs.replace(self._access, members=self._newest())
        return self._access

    def _newest(self) -> tuple[Member, ...]:
        try:
            return read_members(self._path)
        except GraderError as error:
            log.logger().error("fleet.tokens_unreadable", error=str(error))
            return ()


def member_door(settings: Settings, port: int) -> MemberDoor:
    """Return who may look at the fleet that is served with these settings at a port.

    Without a certificate other machines reach it through another program, under the names that are set, by https.

    Raises:
        ConfigurationError: the file of the tokens cannot be read.
    """
    path = tokens_path(settings)
    given, has_tls = settings.fleet_serve_names, settings.fleet_serve_certificate_file is not None
    is_behind = bool(given) and not has_tls
    names = names_of(settings.fleet_serve_address, given)
    hosts = hosts_of(names, port, is_secure=has_tls) | (frozenset(given) if is_behind else frozenset())
    access = MemberAccess(
        token=secrets.token_urlsafe(32),
        hosts=hosts,
        port=port,
        origin=f"https://{given[0]}" if is_behind else f"{'https' if has_tls else 'http'}://{names[0]}:{port}",
        is_secure=has_tls or is_behind,
        members=read_members(path),
    )
    return MemberDoor(access, path)


def tokens_path(settings: Settings) -> Path:
    """Return where the digests of tokens are kept: beside the database of this machine, unless a setting says else."""
    return settings.fleet_tokens_file or settings.db_path.with_name(_FILE)


def read_members(path: Path) -> tuple[Member, ...]:
    """Return who is let in; nobody where there is no file.

    Raises:
        ConfigurationError: it cannot be read, or is none of ours.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise ConfigurationError(f"{path} is too large to be a token file")
        return msgspec.json.decode(content, type=_Members).members
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise ConfigurationError(f"cannot read {path} ({error.strerror}): it contains the members' tokens") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} is not a token file: {error}") from error


def let_in(path: Path, name: str, *, now: datetime) -> str:
    """Make a token for a member, in place of the one that they had, and return it; it is kept nowhere.

    Raises:
        ConfigurationError: the file cannot be read or written.
    """
    token = secrets.token_urlsafe(32)
    member = Member(name=name, token=_digest(token), cookie=_digest(cookie_of(token)), made_at=now)
    with _changing(path) as members:
        members[name] = member
    return token


def keep_out(path: Path, name: str) -> None:
    """Revoke the token of a member.

    Raises:
        NotFoundError: they have none.
        ConfigurationError: the file cannot be read or written.
    """
    with _changing(path) as members:
        if members.pop(name, None) is None:
            raise NotFoundError(f"{name} has no token")


@contextmanager
def _changing(path: Path) -> Iterator[dict[str, Member]]:
    """Hand out members by name, and keep what is made of them; who changes them at the same time waits."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            members = {each.name: each for each in read_members(path)}
            yield members
            kept = msgspec.json.format(msgspec.json.encode(_Members(members=tuple(members.values())))).decode()
            os.replace(written_privately(f"{kept}\n", beside=path), path)
        finally:
            os.close(folder)
    except OSError as error:
        raise ConfigurationError(f"cannot write {path} ({error.strerror}): no token was added or revoked") from error


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
