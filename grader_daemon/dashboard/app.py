"""The addresses of the page, and how each is answered."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from functools import partial
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from grader_daemon.dashboard import http_api
from grader_daemon.dashboard.access import Guard
from grader_daemon.dashboard.pages import (
    alerts,
    changes,
    errors,
    first_look,
    health,
    overview,
    palette,
    reports,
    review,
    search,
    session,
    sessions,
    trust,
    usage,
)
from grader_daemon.dashboard.prompt import Prompt, prompted
from grader_daemon.dashboard.refusals import PLACE, is_for_programs, refused, refused_at
from grader_daemon.dashboard.scope import at, read_scope
from grader_daemon.dashboard.site import THEME_COOKIE, THEMES, Site
from grader_daemon.dashboard.visit import Page, Visit
from grader_daemon.errors import GraderError, InputError, NotFoundError
from grader_daemon.wings import part

_MOST_BODY_BYTES: Final = 65_536
_MOST_FIELDS: Final = 100
_LEAST_COMPRESSED_BYTES: Final = 1024
_EFFORT: Final = 5
"""Of 9: more made the page of a session of 50 KB no smaller, and the style 1 % smaller, in half as much time again."""
_YEAR_SECONDS: Final = 366 * 86_400
_ONLY_READ: Final = (
    "This page of a fleet is read-only: to label or mark something you need a login at its database; see docs/fleet.md."
)

_Handler = Callable[[Request], Coroutine[Any, Any, Response]]


def _theme(visit: Visit) -> Response:
    """Keep which colours a person wants."""
    theme = visit.form.get("theme", "")
    answer = visit.go_to(_own_path(visit.form.get("from", "/")))
    if theme in THEMES:
        answer.set_cookie(THEME_COOKIE, theme, max_age=_YEAR_SECONDS, httponly=True, samesite="strict")
    return answer


def _metrics(visit: Visit) -> Response:
    """Answer a Prometheus that asks for the metrics, in the format it prefers; with the token, as all programs do."""
    told: tuple[str, str] = part("metrics")(visit.grader.context, visit.request.headers.get("accept", ""))
    text, kind = told
    return Response(text, headers={"Content-Type": kind, "Vary": "Accept"})


PAGES: Final[tuple[Page, ...]] = (
    *overview.PAGES,
    *first_look.PAGES,
    *session.PAGES,
    *sessions.PAGES,
    *search.PAGES,
    *palette.PAGES,
    *errors.PAGES,
    *alerts.PAGES,
    *changes.PAGES,
    *usage.PAGES,
    *reports.PAGES,
    *review.PAGES,
    *trust.PAGES,
    *health.PAGES,
    Page("/metrics", _metrics, bare=True),
    Page("/theme", _theme, writes=True, bare=True, for_owner=False),
)


def make_app(site: Site, prompt: Prompt | None = None) -> ASGIApp:
    """Return the page as an ASGI application; with a `prompt`, programs have commands run there, too."""

    @asynccontextmanager
    async def closing(_: Starlette) -> AsyncIterator[None]:
        yield
        await site.live.close()
        site.close()

    async def asset(request: Request) -> Response:
        return site.assets.answer(request.path_params["name"])

    routes = [
        Route("/static/{name}", asset),
        Route("/events", site.live.answer),
        *(Route(each.address, _program_handler(site, each), methods=[each.method]) for each in http_api.ENDPOINTS),
        *(Route(page.address, _handler(site, page), methods=["POST" if page.writes else "GET"]) for page in PAGES),
    ]
    if prompt is not None:
        routes.append(Route(f"{PLACE}/prompt", _prompt_handler(prompt), methods=["POST"]))
    app = Starlette(
        routes=routes, lifespan=closing, exception_handlers={HTTPException: _refusal(site), Exception: _crash}
    )
    return Guard(GZipMiddleware(app, _LEAST_COMPRESSED_BYTES, _EFFORT), lambda: site.access)


def _handler(site: Site, page: Page) -> _Handler:
    async def handle(request: Request) -> Response:
        if site.reads_only and page.refuses_readers:
            raise HTTPException(403, _ONLY_READ)
        form = await _read_form(request) if page.writes else {}
        if page.writes and not site.access.is_form_token(form.get("form_token", "")):
            raise HTTPException(
                403,
                "This form is out of date or from another site, so nothing was changed. Reload the page and try again.",
            )
        return await site.in_turn(partial(_answered, page, Visit(site, request, form)))

    return handle


def _program_handler(site: Site, endpoint: http_api.Endpoint) -> _Handler:
    async def handle(request: Request) -> Response:
        if site.reads_only and endpoint.writes:
            raise HTTPException(403, _ONLY_READ)
        if endpoint.writes and not site.access.is_program(request.headers):
            raise HTTPException(403, "A program that changes something must send the token; see docs/dashboard.md.")
        given = await _read_body(request)
        return await site.in_turn(partial(http_api.answered, endpoint, Visit(site, request, {}), given))

    return handle


def _prompt_handler(prompt: Prompt) -> _Handler:
    async def handle(request: Request) -> Response:
        return await prompted(prompt, await _read_body(request))

    return handle


def _answered(page: Page, visit: Visit) -> Response:
    """Answer a visit; what a person can cause is one line."""
    if not page.writes and "" in visit.request.query_params.values():
        return visit.go_to(_without_empty(visit.request))
    try:
        visit.scope = read_scope(visit.query)
        if not (page.bare or visit.grader.context.has_database):
            return first_look.first_look(visit)
        if visit.grader.context.has_database:
            visit.mark = visit.grader.grades.change_mark()
        return page.answer(visit)
    except NotFoundError as error:
        return visit.show("message.html", status=404, title="Not found", said=str(error))
    except InputError as error:
        return visit.show("message.html", status=400, title="Not possible", said=str(error))
    except GraderError as error:
        return PlainTextResponse(f"{error}\n", 503) if page.bare else _unreadable(visit, error)


def _without_empty(request: Request) -> str:
    """Return an address without what a form sends of fields that nobody filled in."""
    filled = [(name, value) for name, value in request.query_params.multi_items() if value]
    return at(request.url.path, filled)


def _unreadable(visit: Visit, error: GraderError) -> Response:
    """Answer that the database cannot be used now, with what was posted, to be sent again as it was."""
    sent = {name: value for name, value in visit.form.items() if name != "form_token"}
    values = {"title": "Not available now", "said": f"{error}", "sent": sent, "alert_news": 0}
    return visit.show("try_again.html", status=503, **values)


def _refusal(site: Site) -> Callable[[Request, Exception], Coroutine[Any, Any, Response]]:
    async def refuse(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        is_missing = error.status_code == HTTPStatus.NOT_FOUND
        if is_for_programs(request.url.path):
            return refused(error.status_code, "This address does not exist." if is_missing else error.detail)
        values = {
            "title": "Not found" if is_missing else "Refused",
            "said": "This page does not exist." if is_missing else error.detail,
        }
        return await site.in_turn(partial(_refused, Visit(site, request, {}), error.status_code, values))

    return refuse


def _refused(visit: Visit, status: int, values: Mapping[str, str]) -> Response:
    """Return why nothing is shown: on a page, or in one line where the database cannot be read."""
    try:
        return visit.show("message.html", status=status, **values)
    except GraderError:
        return PlainTextResponse(f"{values['said']}\n", status)


async def _crash(request: Request, _: Exception) -> Response:
    """Answer in one line; the guard logs what happened."""
    return refused_at(
        request.url.path,
        500,
        "This page failed because of a bug in grader-daemon; details are in the log of this command.",
    )


async def _read_body(request: Request) -> bytes:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MOST_BODY_BYTES:
            raise HTTPException(413, "The request is too large for this page.")
    return body


async def _read_form(request: Request) -> Mapping[str, str]:
    """Return what was posted, as browsers send forms without files; of a name that comes twice, the last."""
    body = await _read_body(request)
    try:
        return dict(parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError as error:
        raise HTTPException(400, "The form could not be read.") from error


def _own_path(given: str) -> str:
    """Return an address of ours as it is, and the first page for any other."""
    return given if given.startswith("/") and not given.startswith(("//", "/\\")) and given.isprintable() else "/"
