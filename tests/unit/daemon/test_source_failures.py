"""A source that fails, in whatever it is asked, is its own trouble: all other sessions are graded."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet
from structlog.testing import capture_logs

from grader_daemon.bootstrap import read_store
from grader_daemon.daemon import source_troubles
from grader_daemon.daemon.notify import Notifier
from grader_daemon.daemon.service_loop import Service
from grader_daemon.setting_sources import ROOTS
from grader_daemon.settings import Settings, load_settings
from grader_daemon.sources.hermes.state_db import HermesQueries
from grader_daemon.sources.openclaw.openclaw_db import OpenClawQueries
from grader_daemon.sources.opencode.opencode_db import OpenCodeQueries
from grader_daemon.storage.records import GradeFilter
from grader_daemon.storage.sqlite.store import SqliteStore
from grader_daemon.testing.source_contract import Keeper
from tests.adapters import install
from tests.unit.sources.contract.kept_by import (
    KEEPERS,
    AtifLines,
    ClineTask,
    HermesFile,
    OpenClawFile,
    OpenHandsFolder,
)
from tests.waiting import PATIENCE_SECONDS, wait_until

KINDS = [kind for kind in KEEPERS if kind not in (HermesFile, ClineTask, OpenClawFile, AtifLines, OpenHandsFolder)]
METHODS = ("claims", "touched", "walk", "look", "size_of", "read", "roots", "watches")
QUERIES = {"hermes-database": HermesQueries, "openclaw-database": OpenClawQueries, "opencode-database": OpenCodeQueries}
ASKED = ("schema", "mark", "id_at", "grown_since", "ids_after", "entries")
Case = tuple[str, type | None, str]
TABLES: tuple[tuple[Sequence[tuple[str, type | None]], Sequence[str]], ...] = (
    ([(kind.name, None) for kind in KINDS], METHODS),
    (list(QUERIES.items()), ASKED),
    ([(kind.name, None) for kind in KINDS if not kind.is_database], ("parse",)),
)
"""Sources, and what all of them are asked."""


def fail(*_: Any, **__: Any) -> Any:
    raise ValueError("not enough values to unpack")


def break_in(kind: type, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    is_property = method in ("roots", "watches")
    monkeypatch.setattr(kind, method, property(fail, lambda *_: None) if is_property else fail, raising=False)


@pytest.fixture
def keepers(tmp_path: Path) -> list[Keeper]:
    made = []
    for kind in KINDS:
        root = tmp_path / kind.name
        root.mkdir()
        made.append(kind(root))
        made[-1].write(1)
    return made


@pytest.fixture
def settings(keepers: list[Keeper], tmp_path: Path) -> Settings:
    roots: dict[str, Any] = {ROOTS[keeper.source().name]: [keeper.root] for keeper in keepers}
    return load_settings(
        **roots, sources=list(ROOTS), db_path=tmp_path / "db" / "grades.db", scan_seconds=3600, quiet_seconds=0.05
    )


@contextmanager
def running(settings: Settings) -> Iterator[Service]:
    service = Service(settings, Notifier({}))
    thread = threading.Thread(target=service.run)
    thread.start()
    try:
        yield service
    finally:
        service.stop()
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive()


def graded(store: SqliteStore) -> dict[str, int]:
    """Return how many messages of the model were graded in the session of each source."""
    return {each.grade.format: each.grade.total_api_calls for each in store.grades.page(GradeFilter(limit=100)).grades}


def _cases() -> Iterator[ParameterSet]:
    """Yield all; of each table CI tries each source and each thing that is asked once, where it is as large as wide."""
    for sources, asked in TABLES:
        usual = {(number % len(sources), number % len(asked)) for number in range(max(len(sources), len(asked)))}
        for row, column in product(range(len(sources)), range(len(asked))):
            (name, queries), method = sources[row], asked[column]
            marks = () if (row, column) in usual else pytest.mark.thorough
            yield pytest.param((name, queries, method), id=f"{name}-{method}", marks=marks)


@pytest.mark.parametrize("case", [*_cases()])
def test_all_others_are_graded(
    case: Case, keepers: list[Keeper], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, kind, method = case
    broken = next(keeper for keeper in keepers if keeper.name == name)
    others = {keeper.source().name for keeper in keepers} - {broken.source().name}
    break_in(kind or type(broken.source()), method, monkeypatch)
    with capture_logs() as logs, running(settings) as service, closing(read_store(settings)) as store:
        wait_until(lambda: service._scans and others <= graded(store).keys(), "the first comparison")
        first = graded(store)
        for keeper in keepers:
            keeper.write(2)
        wait_until(lambda: all(graded(store)[each] > first[each] for each in others), "what came later")

    told = [line for line in logs if line["event"] == "source.failed"]
    assert [line["source"] for line in told] in ([], [broken.source().name])


@pytest.mark.usefixtures("keepers")
def test_a_failure_is_told_once_and_counted_and_what_was_missed_is_graded_when_it_ends(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_troubles, "_PAUSES_SECONDS", (0.05,))
    with capture_logs() as logs, running(settings) as service:
        with monkeypatch.context() as broken:
            broken.setattr(OpenCodeQueries, "entries", fail)
            wait_until(lambda: service._troubles.failures.get("opencode", 0) > 2, "some failures")
            status = wait_until(lambda: saved(service), "the status")
        wait_until(lambda: [line for line in logs if line["event"] == "source.recovered"], "the end of it")
        with closing(read_store(settings)) as store:
            wait_until(lambda: "opencode" in graded(store), "what was missed")

    [told] = [line for line in logs if line["event"] == "source.failed"]
    assert (told["source"], told["error"]) == ("opencode", "ValueError: not enough values to unpack")
    assert (status.failing, list(status.failures)) == (("opencode",), ["opencode"])
    assert status.compared_at is None


def test_an_adapter_that_cannot_be_loaded_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_troubles, "_PAUSES_SECONDS", (0.05,))
    install(tmp_path / "site")
    (tmp_path / "site" / "acme_grader.py").write_text("import nothing_of_this_name")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    hermes = HermesFile(tmp_path / "hermes")
    hermes.write(1)
    settings = load_settings(
        watch_roots=[hermes.root],
        sources=["hermes", "acme"],
        db_path=tmp_path / "db" / "grades.db",
        quiet_seconds=0.05,
    )
    with capture_logs() as logs, running(settings) as service, closing(read_store(settings)) as store:
        wait_until(lambda: service._troubles.failures.get("acme", 0) > 2, "some failures")
        wait_until(lambda: graded(store).keys() == {"hermes"}, "the session of another agent")

    [told] = [line for line in logs if line["event"] in ("source.failed", "source.recovered")]
    assert told["source"] == "acme"
    assert "acme-grader 1.0: cannot be loaded: ModuleNotFoundError" in told["error"]


def saved(service: Service) -> Any:
    status = service._report._said
    return status if status is not None and status.failing else None
