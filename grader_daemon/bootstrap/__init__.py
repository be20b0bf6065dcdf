"""The composition root: builds the working parts from settings. The only module that reads the wall clock.

What only grading needs is imported where it is made: it costs as much time as everything that reading grades does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from grader_daemon.errors import ConfigurationError
from grader_daemon.sources.default_roots import default_roots
from grader_daemon.storage.sqlite.database import IN_MEMORY
from grader_daemon.storage.sqlite.store import SqliteStore
from grader_daemon.wings import part

if TYPE_CHECKING:
    from grader_daemon.calibration.prior import ShippedPrior
    from grader_daemon.calibration.training import TrainingContext
    from grader_daemon.domain.calibration import Calibration, Trust
    from grader_daemon.domain.limits import Limits
    from grader_daemon.domain.unit import Unit
    from grader_daemon.domain.verdict import CompletionPolicy
    from grader_daemon.pipeline.crash_marks import CrashMarks
    from grader_daemon.pipeline.examine import Examiner
    from grader_daemon.pipeline.ingest import Ingest, OnUnknown
    from grader_daemon.pipeline.pace import Pace
    from grader_daemon.settings import Settings
    from grader_daemon.sources.protocol import Source, Sources
    from grader_daemon.storage.maintenance.upgrade import Upgrade


Clock = Callable[[], datetime]
"""What returns the time, aware, in UTC."""


class Installed(Protocol):
    """Skills and configuration files of agents, as the sandbox of a service knows them."""

    @property
    def looked_at(self) -> list[str]:
        """The folders and files that are looked at, whether they are there or not."""


OnUpgrade = Callable[["Upgrade"], None]
"""Is told that a database was upgraded."""


def utc_now() -> datetime:
    """The time, aware, in UTC."""
    return datetime.now(UTC)  # noqa: TID251  the one place


def make_policy(settings: Settings, store: SqliteStore | None) -> CompletionPolicy:
    """Return the policy of verdicts: by what was learned from labels in `store`, if there is one, else by the prior.

    Raises:
        ConfigurationError: the prior cannot be read.
        StoreError: the database cannot be read.
    """
    return policy_maker(settings, store)()


def policy_maker(settings: Settings, store: SqliteStore | None) -> Callable[[], CompletionPolicy]:
    """Return what gives the policy of any later moment; the prior is read once, now.

    Raises:
        ConfigurationError: the prior cannot be read.
    """
    policy = _policy_by(settings, read_prior(settings))
    return lambda: policy(store.calibrations.adopted() if store is not None else None)


def _policy_by(settings: Settings, shipped: ShippedPrior) -> Callable[[Calibration | None], CompletionPolicy]:
    """Return what gives the policy by what was learned last; loads nothing that learning needs."""
    from grader_daemon.calibration.in_force import policy_in_force
    from grader_daemon.domain.verdict import VerdictSetting

    better = shipped.validity.better
    return partial(policy_in_force, VerdictSetting(settings.verdict), prior=shipped.prior.model, prior_better=better)


def make_context(settings: Settings, shipped: ShippedPrior) -> TrainingContext:
    """Policy, prior and ways to learn."""
    from grader_daemon.calibration.training import TrainingContext
    from grader_daemon.domain.verdict import VerdictSetting
    from grader_daemon.rules import load_rules

    return TrainingContext(
        setting=VerdictSetting(settings.verdict),
        prior=shipped.prior,
        prior_better=shipped.validity.better,
        rules_version=load_rules(settings.rules_file).version,
    )


def read_prior(settings: Settings) -> ShippedPrior:
    """Read the prior that is set, or the one that ships with the program.

    Raises:
        ConfigurationError: it cannot be read, or reads other features than this version of the package.
    """
    from grader_daemon.rules.load_prior import load_prior

    named = settings.calibration_prior
    shipped = load_prior(named)
    if named is None:  # a test holds it against the features, which take long to load
        return shipped
    from grader_daemon.analysis.features import DIRECTIONS
    from grader_daemon.domain.session_features import FEATURES_VERSION

    if shipped.prior.features_version != FEATURES_VERSION or shipped.prior.names != tuple(DIRECTIONS):
        raise ConfigurationError(f"{named} reads features of another version; train it again with `calibration train`")
    return shipped


def read_trust(settings: Settings, store: SqliteStore | None) -> Trust:
    """Return how far the verdicts of the policy of `make_policy` can be trusted; loads nothing that grading needs.

    Of those in the copy of a fleet, which are of the policies of its machines, nothing is known here.

    Raises:
        ConfigurationError: the prior cannot be read.
        StoreError: the database cannot be read.
    """
    from grader_daemon.calibration.in_force import trust_in
    from grader_daemon.domain.calibration import Trust
    from grader_daemon.domain.verdict import VerdictBy
    from grader_daemon.rules.load_prior import load_prior

    if store is not None and store.fleet.state() is not None:
        return Trust(version="", by=VerdictBy.MODEL, of_fleet=True)
    adopted, look = (None, None) if store is None else (store.calibrations.adopted(), store.calibrations.last_look())
    return trust_in(_policy_by(settings, load_prior(settings.calibration_prior))(adopted), look)


def make_examiner(settings: Settings, policy: CompletionPolicy) -> Examiner:
    """Rules, analyzer and grader; no database.

    Raises:
        ConfigurationError: the rules file or the prior is wrong.
    """
    from grader_daemon.pipeline.examine import Examiner
    from grader_daemon.rules import load_rules

    return Examiner(
        load_rules(settings.rules_file),
        policy,
        make_sources(settings),
        zone=settings.zone,
        idle=timedelta(minutes=settings.idle_minutes),
        limits=settings.limits,
    )


def make_sources(settings: Settings, *, most_bytes: int | None = None) -> Sources:
    """Return where sessions lie and how they are read; sessions larger than `most_bytes` are refused.

    Sources that are not enabled read what a person names.
    """
    from grader_daemon.sources.protocol import Sources

    limits = settings.limits
    if most_bytes is not None:
        limits = msgspec.structs.replace(limits, bytes=min(limits.bytes, most_bytes))
    return Sources(
        [make_source(name, settings, limits=limits) for name in source_names(settings) if name in settings.sources],
        others=[_maker_of(name, settings, limits) for name in SOURCES if name not in settings.sources],
    )


def known_sources(settings: Settings, *, limits: Limits | None = None) -> list[Source]:
    """Return every source, whether it is enabled or not, in the order in which they are asked for a path."""
    return [make_source(name, settings, limits=limits) for name in source_names(settings)]


def source_names(settings: Settings) -> tuple[str, ...]:
    """Return the sources of this program, and behind them those of adapters that the settings name."""
    return (*SOURCES, *(name for name in settings.sources if name not in SOURCES))


def make_source(name: str, settings: Settings, *, limits: Limits | None = None) -> Source:
    """Make one source, which alone is imported."""
    if name not in SOURCES:
        return _adapted(name, settings, limits or settings.limits)
    return _maker_of(name, settings, limits or settings.limits)()


def _maker_of(name: str, settings: Settings, limits: Limits) -> Callable[[], Source]:
    """Return what makes a source of this program; it holds nothing else of the settings, and can be pickled."""
    from grader_daemon.sources import make_built_in

    zone = {"zone": settings.zone} if name in _WITHOUT_ZONES else {}
    return partial(make_built_in, SOURCES[name], roots_of(settings, name), limits=limits, **zone)


def _adapted(name: str, settings: Settings, limits: Limits) -> Source:
    from grader_daemon.adapters import installed, missing
    from grader_daemon.sources.adapted import Adapted

    adapter = installed().get(name) or missing(name)
    return Adapted(adapter, [str(root) for root in settings.roots_of(name)], limits=limits)


def roots_of(settings: Settings, source: str) -> tuple[str, ...]:
    """Return the folders in which sessions of a source are looked for: those that are set, else its own."""
    named = tuple(str(root) for root in settings.roots_of(source))
    if source not in SOURCES:
        return named or tuple(make_source(source, settings).roots)
    return named or default_roots(source)


def watched_roots(settings: Settings) -> list[str]:
    """Return the folders of all sources whose sessions are graded, each once."""
    enabled = [name for name in source_names(settings) if name in settings.sources]
    return list(dict.fromkeys(root for name in enabled for root in roots_of(settings, name)))


def make_installed(settings: Settings) -> Installed:
    """Return what the agents whose sessions are graded have installed, and are set up with."""
    installed: Installed = part("installed").of(settings)
    return installed


_WITHOUT_ZONES: Final = frozenset({"hermes", "openhands"})
"""Sources that write times without a zone: meant is that of the settings."""

SOURCES: Final[Mapping[str, str]] = {
    "hermes": "hermes.hermes_source:Hermes",
    "claude-code": "claude_code.project_files:ClaudeCode",
    "codex": "codex.rollout_files:CodexRollouts",
    "opencode": "opencode.opencode_source:OpenCode",
    "gemini-cli": "gemini_cli.chat_files:GeminiChats",
    "copilot": "copilot.session_events:CopilotSessions",
    "qwen-code": "qwen_code.chat_transcripts:QwenChats",
    "cline": "cline.cline_sessions:ClineSessions",
    "openclaw": "openclaw.openclaw_source:OpenClaw",
    "pi": "pi.pi_files:PiSessions",
    "atif": "atif.trial_files:AtifTrials",
    "mini-swe-agent": "mini_swe_agent.run_files:MiniSweAgentRuns",
    "openhands": "openhands.evaluation_files:OpenHandsRuns",
}
"""The class of each source below `grader_daemon.sources`, by its name. A path belongs to the first that claims it."""


def open_store(settings: Settings, *, on_upgrade: OnUpgrade = lambda _: None) -> SqliteStore:
    """Open the store that the settings name, to write to it.

    `on_upgrade` is told where it was upgraded: a copy of before stays.

    Raises:
        StoreError: it cannot be used.
    """
    from grader_daemon.storage.maintenance.upgrade import upgrading

    with upgrading(settings.db_path, now=utc_now()) as upgrade:
        store = SqliteStore(settings.db_path, host=os.uname().nodename)
    if upgrade is not None:
        on_upgrade(upgrade)
    return store


def read_store(settings: Settings) -> SqliteStore:
    """Open the store that the settings name, to read it.

    Raises:
        StoreError: it cannot be used, or is of an earlier version.
    """
    return SqliteStore(settings.db_path, host=os.uname().nodename, read_only=True)


@contextmanager
def read_upgraded(settings: Settings) -> Iterator[SqliteStore]:
    """Hand out a store as this version would upgrade it: a copy, which goes at the end.

    Raises:
        StoreError: it cannot be made.
    """
    from grader_daemon.storage.maintenance.upgrade import upgraded_copy

    with upgraded_copy(settings.db_path) as copy, closing(SqliteStore(copy, read_only=True)) as store:
        yield store


def passing_store() -> SqliteStore:
    """Return an empty store that is gone with the program."""
    return SqliteStore(IN_MEMORY)


def make_ingest(
    settings: Settings,
    store: SqliteStore,
    *,
    policy: CompletionPolicy,
    clock: Clock = utc_now,
    on_bug: Callable[[Unit, Exception], None] = lambda _, __: None,
    on_unknown: OnUnknown = lambda _, __: None,
    processes: int = 0,
    marks: CrashMarks | None = None,
    again: bool = False,
    pace: Pace | None = None,
) -> Ingest:
    """Everything between a path and its row; for the other arguments see `Ingest`.

    Raises:
        ConfigurationError: the rules file is wrong.
    """
    from grader_daemon.pipeline.commit import Commit
    from grader_daemon.pipeline.ingest import Ingest

    examiner = make_examiner(settings, policy)
    return Ingest(
        examiner=examiner,
        recorder=Commit(
            store,
            retry_pauses=tuple(timedelta(seconds=seconds) for seconds in settings.retry_seconds),
            asked_again_within=timedelta(hours=examiner.rules.people.asked_again_hours),
        ),
        store=store,
        clock=clock,
        on_bug=on_bug,
        on_unknown=on_unknown,
        processes=processes,
        marks=marks,
        again=again,
        pace=pace,
    )
