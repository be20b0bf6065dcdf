"""Access control of the page: whoever knows the token, under an address of ours, by a page of ours.

127.0.0.1 is open to every user of a machine, so reading needs the token too. It is in the address that is printed, and
becomes a cookie that scripts cannot read and other sites cannot send.
"""

from __future__ import annotations

import hmac
import os
import secrets
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlencode

import msgspec
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from grader_daemon import log
from grader_daemon.dashboard.refusals import refused_at
from grader_daemon.domain.this_machine import is_this_machine
from grader_daemon.errors import ConfigurationError

if TYPE_CHECKING:
    from grader_daemon.settings import Settings

PUBLIC: Final = "/static/"
"""What is below tells nothing of anybody."""

_READING: Final = frozenset({"GET", "HEAD"})
_OWN_SITES: Final = frozenset({"same-origin", "none"})
"""To browsers all ports of one host are one site: a page of another port would be sent with our cookie."""

MOST_HEADER_BYTES: Final = 16_384
"""The server bounds only what comes in several pieces."""

_LONGEST_TOKEN: Final = 1000
_DIGEST_BYTES: Final = 32
_HTTP_PORT: Final = 80
_HTTPS_PORT: Final = 443
_YEAR_SECONDS: Final = 366 * 86_400
_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
        " form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # Not no-referrer: with it Chromium posts forms with the origin "null".
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


class Access(msgspec.Struct, frozen=True):
    """The token of this page, the names under which it is asked for, its port, and whether it answers by https."""

    token: str
    hosts: frozenset[str]
    port: int
    origin: str = ""
    """Where it is told to be."""

    is_secure: bool = False

    @property
    def cookie(self) -> str:
        """The name of the cookie: browsers send those of one host to all its ports."""
        return f"grader_dashboard_{self.port}"

    @property
    def form_token(self) -> str:
        """Token that each form holds: another site cannot know it.

        It is another text each time: from the size of compressed pages that hold what a stranger wrote, too, one could
        find out a text that stays the same (https://www.breachattack.com).
        """
        pad = secrets.token_bytes(_DIGEST_BYTES)
        return (pad + _masked(_digest(self.token, "form"), pad)).hex()

    @property
    def reads_only(self) -> bool:
        """True if whoever is let in changes nothing, and is shown nothing of this machine."""
        return False

    @property
    def who_are_you(self) -> str:
        """Answer to whoever is not let in."""
        return "Not signed in: open the address that `grader-daemon dashboard` prints."

    @property
    def cookie_value(self) -> str:
        """Value of the cookie: not the token, which opens the page for good."""
        return cookie_of(self.token)

    def is_cookie(self, given: str) -> bool:
        """Return whether somebody who brought the token was given this cookie."""
        return hmac.compare_digest(given.encode(), self.cookie_value.encode())

    @property
    def entrance(self) -> str:
        """The address that lets in whoever opens it."""
        return f"{self.origin}/?token={self.token}"

    def signed(self, text: str) -> str:
        """Return what a form holds beside a text, so that no other text comes back."""
        return _digest(self.token, f"text:{text}").hex()

    def is_token(self, given: str) -> bool:
        """Return whether somebody knows the token."""
        return hmac.compare_digest(given.encode(), self.token.encode())

    def is_form_token(self, given: str) -> bool:
        """Return whether a form is one of ours."""
        try:
            held = bytes.fromhex(given)
        except ValueError:
            return False
        pad, masked = held[:_DIGEST_BYTES], held[_DIGEST_BYTES:]
        return len(held) == 2 * _DIGEST_BYTES and hmac.compare_digest(_masked(masked, pad), _digest(self.token, "form"))

    def is_program(self, headers: Mapping[str, str]) -> bool:
        """Return whether a request holds the token itself, as those of programs do and those of browsers do not."""
        scheme, _, given = headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and self.is_token(given)

    def knows(self, headers: Mapping[str, str]) -> bool:
        """Return whether a request comes from somebody who has shown the token: its cookie, or the token itself."""
        if "authorization" in headers:
            return self.is_program(headers)
        return self.is_cookie(cookie_parser(headers.get("cookie", "")).get(self.cookie, ""))

    def is_own(self, headers: Mapping[str, str]) -> bool:
        """Return whether a request that changes something comes from a page of ours, or from no browser."""
        origin = headers.get("origin")
        if origin is None:
            return self.is_program(headers)
        return origin.partition("://")[2] == headers.get("host")


def cookie_of(token: str) -> str:
    """Return the cookie of whoever brought a token, from which the token cannot be found out."""
    return _digest(token, "cookie").hex()


def _digest(token: str, purpose: str) -> bytes:
    return hmac.digest(token.encode(), purpose.encode(), "sha256")


def _masked(text: bytes, pad: bytes) -> bytes:
    return bytes(one ^ other for one, other in zip(text, pad, strict=True))


def make_access(settings: Settings, port: int) -> Access:
    """Return who may look at a page that listens on a port: under its address, its names, and on this machine's."""
    is_secure = settings.dashboard_certificate_file is not None
    names = names_of(settings.dashboard_address, settings.dashboard_names)
    given = settings.dashboard_token
    return Access(
        token=read_token(settings.db_path) if given is None else given.get_secret_value(),
        hosts=hosts_of(names, port, is_secure=is_secure),
        port=port,
        origin=f"{'https' if is_secure else 'http'}://{names[0]}:{port}",
        is_secure=is_secure,
    )


def names_of(address: str, named: Iterable[str]) -> tuple[str, ...]:
    """Return by which names a page is asked for that listens at an address, those that were given first."""
    own = f"[{address}]" if ":" in address else address
    return (*named, own, *(("localhost",) if is_this_machine(address) else ()))


def hosts_of(names: Iterable[str], port: int, *, is_secure: bool) -> frozenset[str]:
    """Return what requests name as their host, under these names of a page; browsers leave the usual port out."""
    is_usual = port == (_HTTPS_PORT if is_secure else _HTTP_PORT)
    return frozenset(host for name in names for host in (f"{name}:{port}", *((name,) if is_usual else ())))


def token_path(db_path: Path) -> Path:
    """Return where the token of the page of a database is kept."""
    return db_path.with_name(f"{db_path.name}.token")


def read_token(db_path: Path) -> str:
    """Return the token of a database, which is made when it is first asked for, for its owner alone.

    Where it cannot be kept it is another one each time.
    """
    path, made = token_path(db_path), secrets.token_urlsafe(32)
    with suppress(OSError):
        known = _kept_token(path)
        if known:
            return known
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Whole or not at all: a token that was cut off would lock everybody out for good.
        written = written_privately(made, beside=path)
        try:
            try:
                os.link(written, path)
            except FileExistsError:
                known = _kept_token(path)
                if known:  # another process was sooner
                    return known
                os.replace(written, path)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(written)
    return made


def renew_token(settings: Settings) -> None:
    """Replace the token of a database: what the one before opened, asks again.

    Raises:
        ConfigurationError: the token is a setting, or its file cannot be written.
    """
    if settings.dashboard_token is not None:
        raise ConfigurationError("the setting dashboard_token contains the token: change it there and restart the page")
    path = token_path(settings.db_path)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.replace(written_privately(secrets.token_urlsafe(32), beside=path), path)
    except OSError as error:
        raise ConfigurationError(f"cannot write {path} ({error.strerror}): the old token stays valid") from error


def write_way_in(entrance: str, place: Path) -> Path:
    """Write a page for its owner alone that leads on to an address, and return where it is.

    The arguments of a browser can be read by every user of the machine; this file cannot.

    Raises:
        ConfigurationError: it cannot be written.
    """
    path = place / "grader-dashboard.html"
    try:
        os.replace(written_privately(_leading_to(entrance), beside=path), path)
    except OSError as error:
        raise ConfigurationError(f"cannot write {path} ({error.strerror}): open the address by hand") from error
    return path


def _leading_to(address: str) -> str:
    return (
        f'<!DOCTYPE html><title>grader-daemon</title><meta http-equiv="refresh" content="0; url={escape(address)}">\n'
    )


def written_privately(text: str, *, beside: Path) -> str:
    """Write a file that its owner alone can read, to be put in place of another, and return its name."""
    descriptor, name = tempfile.mkstemp(prefix=f"{beside.name}.", dir=beside.parent)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(text)
    return name


class Door:
    """Access to the page of a database as it is now: a renewed token ends what the one before let in."""

    def __init__(self, access: Access, *, kept: Path | None) -> None:
        """`kept` is the file of the token, if it lies in one."""
        self._access = access
        self._kept = kept
        self._seen: tuple[int, int] | None = None

    def __call__(self) -> Access:
        """Return it; the token is read again when its file is another one."""
        newer = None if self._kept is None else self._newer(self._kept)
        if newer:
            self._access = msgspec.structs.replace(self._access, token=newer)
        return self._access

    def _newer(self, path: Path) -> str | None:
        """Return the token if the file is another one than when it was asked for last; else None."""
        stamp = stamp_of(path)
        if stamp in (None, self._seen):
            return None
        self._seen = stamp
        return _kept_token(path)


def door_of(settings: Settings, access: Access) -> Door:
    """Return who may look at the page of settings, now and later."""
    return Door(access, kept=token_path(settings.db_path) if settings.dashboard_token is None else None)


def stamp_of(path: Path) -> tuple[int, int] | None:
    """Return what changes when a file is replaced by another one; None where there is none to be seen."""
    try:
        known = path.stat()
    except OSError:
        return None
    return known.st_ino, known.st_mtime_ns


def _kept_token(path: Path) -> str:
    """Return the token of a file; an empty text where there is none, or no token in it."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
            return file.read(_LONGEST_TOKEN).decode("ascii").strip()
    except (FileNotFoundError, UnicodeDecodeError):
        return ""


class Guard:
    """The door of the app: only what `Access` allows gets in, and each answer says what browsers may do with it."""

    def __init__(self, app: ASGIApp, access: Callable[[], Access]) -> None:
        """`access` is asked at each request, since the token may be renewed meanwhile."""
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        answer = self._answer(scope)
        try:
            await (self._app if answer is None else answer)(scope, receive, send_guarded)
        except Exception:  # noqa: BLE001  it was answered with a line; what went wrong is for the log
            log.logger().exception("page.crashed", address=scope["path"])

    def _answer(self, scope: Scope) -> Response | None:
        """Return what is said to whoever may not go on; None where they may."""
        headers, access = Headers(scope=scope), self._access()
        refuse = partial(refused_at, scope["path"])
        if (
            sum(len(name) + len(value) for name, value in headers.raw)
            + len(scope["raw_path"])
            + len(scope["query_string"])
            > MOST_HEADER_BYTES
        ):
            return refuse(431, "The request is too large.")
        if headers.get("host", "").lower() not in access.hosts:
            return refuse(421, "Unknown host name: use the address that `grader-daemon dashboard` printed.")
        query = dict(parse_qsl(scope["query_string"].decode("ascii", "replace"), keep_blank_values=True))
        token = query.pop("token", "")
        if access.is_token(token):
            came_from_elsewhere = headers.get("sec-fetch-site", "none") not in _OWN_SITES
            return _welcome(
                access,
                f"{scope['path']}?{urlencode(query)}".removesuffix("?"),
                cookie=cookie_of(token),
                from_elsewhere=came_from_elsewhere,
            )
        if scope["path"].startswith(PUBLIC):
            return None
        if not access.knows(headers):
            return refuse(401, access.who_are_you)
        if headers.get("sec-fetch-site", "none") not in _OWN_SITES and headers.get("sec-fetch-mode") != "navigate":
            return refuse(403, "Only this page itself may load this.")
        if scope["method"] not in _READING and not access.is_own(headers):
            return refuse(403, "The request came from another site, so nothing was changed.")
        return None


def _welcome(access: Access, path: str, *, cookie: str, from_elsewhere: bool) -> Response:
    """Return a cookie for whoever brought the token, and the address without it.

    A browser that was led here by a file or another site would go on without the cookie, which no other site may send;
    from a page of ours it sends it.
    """
    address = f"/{path.lstrip('/')}"
    answer: Response = HTMLResponse(_leading_to(address)) if from_elsewhere else RedirectResponse(address, 303)
    answer.set_cookie(
        access.cookie, cookie, max_age=_YEAR_SECONDS, httponly=True, samesite="strict", secure=access.is_secure
    )
    return answer
