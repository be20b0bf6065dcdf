"""One request that is answered: what a page is given, and how it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from grader_daemon.api.change_watch import NOTHING
from grader_daemon.dashboard.code_colours import Colours
from grader_daemon.dashboard.scope import Scope, at
from grader_daemon.dashboard.site import Site

if TYPE_CHECKING:
    from grader_daemon.api.grader import SelfGrader


class Visit:
    """A request that has been let in. Visits are answered one at a time, so what they share needs no locks."""

    def __init__(self, site: Site, request: Request, form: Mapping[str, str]) -> None:
        """`form` is what was posted, each name once.

        `mark` becomes the newest change before anything was read, `scope` what the address says of it.
        """
        self.site = site
        self.request = request
        self.form = form
        self.mark = NOTHING
        self.scope = Scope()

    @property
    def grader(self) -> SelfGrader:
        """Grader that answers about the database that is in place now."""
        return self.site.grader

    @property
    def path(self) -> Mapping[str, str]:
        """The parts of the address that the page named."""
        return self.request.path_params

    @cached_property
    def query(self) -> Mapping[str, str]:
        """Values behind the question mark; of a name that is given twice, the last; empty ones are left out."""
        return {name: value for name, value in self.request.query_params.items() if value}

    @cached_property
    def now(self) -> datetime:
        """Time at which it is answered."""
        return self.site.clock()

    def at(self, address: str) -> str:
        """Return an address of ours with the scope of this one, as far as it does not say another."""
        place = urlsplit(address)
        query = urlencode({**self.scope.query, **dict(parse_qsl(place.query))})
        return place._replace(query=query).geturl()

    def show(self, template: str, /, *, status: int = 200, **values: Any) -> Response:
        """Answer with a page."""
        values = {
            "visit": self,
            "now": self.now,
            "mark": f"{self.mark}{self.site.work_mark}",
            "colours": Colours(),
            **values,
        }
        return HTMLResponse(self.site.render(template, cookies=self.request.cookies, values=values), status)

    def go_to(self, path: str, **query: str) -> Response:
        """Answer with another address, which is read anew: how every form ends."""
        return RedirectResponse(at(path, query), 303)


class Page(NamedTuple):
    """An address, and what answers there; `writes` for what is posted. `bare` ones do without a database.

    `for_owner` says whether those who only read are refused; by default they may read all and change nothing.
    """

    address: str
    answer: Callable[[Visit], Response]
    writes: bool = False
    bare: bool = False
    for_owner: bool | None = None

    @property
    def refuses_readers(self) -> bool:
        """True if it answers nobody who only reads."""
        return self.writes if self.for_owner is None else self.for_owner
