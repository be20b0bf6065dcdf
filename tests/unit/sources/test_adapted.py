"""An adapter may fail in any way: that is its own, and one line."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from grader_daemon.adapters import installed, missing
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import Session, Skipped, SkipReason
from grader_daemon.domain.unit import Found, Unit
from grader_daemon.errors import GraderError, ReadError, VanishedFileError
from grader_daemon.sources.adapted import Adapted
from grader_daemon.sources.protocol import Sources, Watch
from tests.adapters import install

LOG = b"""{"event": "start", "session": "7", "version": "3.1", "at": "2026-11-22T15:20:00Z"}
{"event": "person", "text": "Fix it", "at": "2026-11-22T15:20:00Z"}
{"event": "model", "text": "Fixed.", "at": "2026-11-22T15:20:00Z"}
"""
METHODS = ("claims", "recognizes", "touched", "walk", "look", "size_of", "read", "parse")


@dataclass
class Site:
    """What is installed, where it looks, and what was told."""

    folder: Path
    logs: Path
    told: list[str] = field(default_factory=list)

    @property
    def unit(self) -> Unit:
        return Unit("acme", str(self.logs / "7.log"))

    def load(self) -> Adapted:
        adapted = Adapted(installed()["acme"], [str(self.logs)], limits=Limits())
        adapted.guard(lambda name, error: self.told.append(f"{name}: {error}"))
        return adapted

    def failing(self, body: str) -> Adapted:
        """Install an adapter whose class has something else in it, and load it."""
        (self.folder / "working.py").write_text((self.folder / "acme_grader.py").read_text())
        names = "from grader_daemon.sources.api import *\nfrom working import *\nWorking = Acme\n"
        (self.folder / "acme_grader.py").write_text(f"{names}class Acme(Working):\n    {body}\n")
        return self.load()


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    made = Site(tmp_path / "site", tmp_path / "logs")
    install(made.folder)
    made.logs.mkdir()
    (made.logs / "7.log").write_bytes(LOG)
    monkeypatch.syspath_prepend(str(made.folder))
    yield made
    for name in ("acme_grader", "working"):
        sys.modules.pop(name, None)


def read(source: Adapted, unit: Unit) -> Session | Skipped | None:
    return source.read(source.look(unit)).session


def test_an_adapter_is_a_source_as_ours_are(site: Site) -> None:
    source = site.load()
    [found] = source.walk(str(site.logs))
    session = read(source, site.unit)

    assert isinstance(session, Session)
    assert (source.name, source.title, source.package) == ("acme", "Acme", "acme-grader 1.0")
    assert (found.unit, found.stamp) == (site.unit, source.look(site.unit).stamp)
    assert [message.text for message in session.messages] == ["Fix it", "Fixed."]
    assert list(source.touched(site.unit.locator)) == [site.unit]
    assert list(source.watches) == [Watch(str(site.logs), writes=True)]
    assert source.claims(site.unit.locator)
    assert source.recognizes("/x", LOG)
    assert source.size_of(site.unit) == len(LOG)
    assert source.is_of_files
    assert (source.fault, site.told) == (None, [])


@pytest.mark.usefixtures("site")
def test_without_folders_it_says_where_sessions_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/a")

    assert Adapted(installed()["acme"], [], limits=Limits()).roots == ("/home/a/.acme/logs",)


def test_another_process_loads_it_anew(site: Site) -> None:
    other: Adapted = pickle.loads(pickle.dumps(site.load()))

    assert read(other, site.unit) == read(site.load(), site.unit)


def test_what_was_read_is_not_decoded_again_by_the_same_version(site: Site) -> None:
    source = site.load()
    found = source.look(site.unit)
    digest = source.read(found).digest

    assert source.read(found, unless=digest).session is None
    assert source.read(found, unless="another").session is not None


def test_another_version_reads_all_anew(site: Site) -> None:
    before = site.load()
    found = before.look(site.unit)
    digest = before.read(found).digest
    (site.folder / "acme_grader-1.0.dist-info").rename(site.folder / "acme_grader-1.1.dist-info")
    (site.folder / "acme_grader-1.1.dist-info" / "METADATA").write_text("Name: acme-grader\nVersion: 1.1\n")
    after = site.load()

    assert after.look(site.unit).stamp != found.stamp
    assert after.read(after.look(site.unit), unless=digest).session is not None


@pytest.mark.parametrize("method", METHODS)
def test_whatever_it_raises_is_one_line_that_says_where(site: Site, method: str) -> None:
    source = site.failing(f"def {method}(self, *_, **__): raise ValueError('a\\nb')")
    sources = Sources([source])

    assert sources.claims(site.unit.locator) is (method != "claims")
    assert source.recognizes("/x", LOG) is (method != "recognizes")
    assert list(source.touched(site.unit.locator)) == ([] if method == "touched" else [site.unit])
    assert len(list(source.walk(str(site.logs)))) == (0 if method in ("claims", "walk") else 1)
    assert source.size_of(site.unit) == (0 if method == "size_of" else len(LOG))
    if method in ("look", "read", "parse"):
        with pytest.raises(ReadError, match=r"^acme-grader 1\.0: "):
            read(source, site.unit)
    else:
        assert isinstance(read(source, site.unit), Session)

    called = "read" if method == "parse" else "walk" if method == "walk" else method
    assert sources.faults == {"acme": f"acme-grader 1.0: {called}: ValueError: a b (acme_grader.py:5)"}
    assert (f"acme: {sources.faults['acme']}" in site.told) is (method not in ("look", "read", "parse"))


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("def claims(self, path): return 1", "claims: bool is expected, not int"),
        ("def touched(self, path): return [path]", "touched: Unit is expected, not str"),
        ("def touched(self, path): return [Unit('codex', path)]", "touched: a unit is of source 'codex'"),
        ("def touched(self, path): return [Unit('acme', 'x')]", "touched: a unit is of source 'acme' at 'x'"),
        ("watches = [1]", "watches: Watch is expected, not int"),
        ("def walk(self, root): return [root]", "walk: Walk is expected, not list"),
        ("def _units_of(self, path, status): return [path]", "walk: Found is expected, not str"),
        ("def look(self, unit): return super().look(Unit('acme', '/etc/passwd'))", "look: it returned another unit"),
        ("def read(self, found, *, unless=None): return None", "read: Read is expected, not NoneType"),
        ("def read(self, found, *, unless=None): return Read('x', None)", "read: it returned no session"),
        (
            "def read(self, found, *, unless=None): return msgspec.structs.replace(super().read(found), digest=None)",
            "read: a session has no digest",
        ),
        ("def read(self, found, *, unless=None): return Read('x', 3)", "read: Session is expected, not int"),
        ("def parse(self, content, unit): return Parsed(None)", "read: AttributeError: 'NoneType'"),
        ("def parse(self, content, unit): return Parsed({})", "read: AttributeError: 'dict'"),
    ],
)
def test_nonsense_is_told_and_is_nothing(site: Site, body: str, why: str) -> None:
    source = site.failing(body)

    source.claims(site.unit.locator)
    assert [found for found in source.walk(str(site.logs)) if not isinstance(found, Found)] == []
    assert [unit for unit in source.touched(site.unit.locator) if unit != site.unit] == []
    assert [watch for watch in source.watches if not isinstance(watch, Watch)] == []
    with suppress(ReadError):
        assert isinstance(read(source, site.unit), Session)
    assert source.fault is not None
    assert source.fault.startswith(f"acme-grader 1.0: {why}")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("model=3", r"an invalid session: Expected `str \| null`, got `int` - at `\$.model`"),
        ("messages=('x',)", "an invalid session"),
        ("session_id=''", "a session without an id"),
        ("file='/etc/passwd'", "instead of the requested one"),
        ("format='codex'", "instead of the requested one"),
        ("message_times=(None,)", "message_times of another length"),
        ("reported={9: ReportedOutcome(CallStatus.SUCCESS)}", "reported names a message that is not there"),
        ("started_at=__import__('datetime').datetime(2026, 1, 1)", "a time without a zone"),
        ("cost_usd=object()", "an invalid session"),
        ("project='\\ud800'", "an invalid session"),
    ],
)
def test_a_session_that_is_none_is_told(site: Site, change: str, why: str) -> None:
    parsed = "(lambda parsed: parsed._replace(session=msgspec.structs.replace(parsed.session, {})))"
    body = f"parse = lambda self, *args: {parsed.format(change)}(Working.parse(self, *args))"
    source = site.failing(body)

    with pytest.raises(ReadError, match=why):
        read(source, site.unit)


def test_too_many_messages_are_too_many_whoever_reads_them(site: Site) -> None:
    source = Adapted(installed()["acme"], [str(site.logs)], limits=Limits(messages=1))

    with pytest.raises(GraderError, match="2 messages are more than max_messages = 1"):
        read(source, site.unit)


def test_what_a_source_may_say_stays_as_it_is_said(site: Site) -> None:
    source = site.load()
    (site.logs / "7.log").unlink()

    with pytest.raises(VanishedFileError):
        source.look(site.unit)
    assert site.told == []


def test_what_is_no_session_is_passed_over(site: Site) -> None:
    source = site.failing("def parse(self, content, unit): return Parsed(Skipped(SkipReason.NOT_A_SESSION))")

    assert read(source, site.unit) == Skipped(SkipReason.NOT_A_SESSION)


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (
            "import nothing_of_this_name",
            "ModuleNotFoundError: No module named 'nothing_of_this_name' (acme_grader.py:1)",
        ),
        ("import sys; sys.exit(3)", "SystemExit: 3 (acme_grader.py:1)"),
        ("def", "SyntaxError"),
        ("", "AttributeError: module 'acme_grader' has no attribute 'Acme'"),
        ("class Acme: pass", "its api_version is None; this grader-daemon supports 1"),
        ("class Acme: api_version = 2", "its api_version is 2; this grader-daemon supports 1"),
        (
            "class Acme:\n    api_version = 1\n    def __init__(self, *_, **__): self.name = 'other'",
            "it calls itself 'other'",
        ),
        (
            "class Acme:\n    api_version = 1\n    name = 'acme'\n    def __init__(self, *_, **__): 0",
            "it has no claims, recognizes",
        ),
    ],
)
def test_what_cannot_be_loaded_fails_in_all_and_in_nothing_else(site: Site, code: str, why: str) -> None:
    (site.folder / "acme_grader.py").write_text(code)
    source = site.load()

    assert source.fault is not None
    assert source.fault.startswith("acme-grader 1.0: cannot be loaded: ")
    assert why in source.fault
    assert (source.name, source.title, source.roots) == ("acme", "acme", (str(site.logs),))
    assert not source.claims(site.unit.locator)
    assert not source.is_of_files
    assert list(source.walk(str(site.logs))) == []
    with pytest.raises(ReadError, match="cannot be loaded"):
        source.look(site.unit)
    assert {line.removeprefix("acme: ") for line in site.told} == {source.fault}


def test_a_walk_of_all_says_whose_part_of_it_failed(site: Site) -> None:
    sources = Sources([site.failing("def walk(self, root): raise KeyError(1)")])
    told: list[str] = []
    sources.guard(lambda name, error: told.append(f"{name}: {error}"))
    [walk] = sources.walks()

    assert list(walk) == []
    assert walk.failed == {"acme"}
    assert told == ["acme: acme-grader 1.0: walk: KeyError: 1 (acme_grader.py:5)"]


def test_only_our_own_walk_is_walked(site: Site) -> None:
    """A walk that goes its own way could fail in the middle of the folders of all others."""
    walks = "type('Own', (Walk,), {'__iter__': lambda _: 1 / 0})(root, claims=self.claims, units_of=self._units_of)"

    assert len(list(site.failing(f"def walk(self, root): return {walks}").walk(str(site.logs)))) == 1


def test_an_adapter_that_two_packages_give_is_not_chosen_from(site: Site) -> None:
    install(site.folder, package="other-grader", version="2.0")
    source = site.load()

    assert source.package == "acme-grader 1.0 and other-grader 2.0"
    assert source.fault is not None
    assert "acme: 2 installed packages provide it; keep one" in source.fault


def test_one_that_is_gone_since_the_settings_were_read_fails_as_others_do() -> None:
    fault = Adapted(missing("acme"), [], limits=Limits()).fault

    assert fault == "no installed package provides it: install the package, or remove the name from sources"
