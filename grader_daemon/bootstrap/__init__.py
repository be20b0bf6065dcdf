"""The composition root: settings in, working parts out. The only module that reads the wall clock.

What only grading needs is imported where it is made: it costs as much time as everything that reading grades does.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from grader_daemon.errors import ConfigurationError
from grader_daemon.grading_settings import ROOTS
from grader_daemon.settings import Settings
from grader_daemon.sources.default_roots import default_roots
from grader_daemon.storage.sqlite.database import IN_MEMORY
from grader_daemon.storage.sqlite.store import SqliteStore
from grader_daemon.wings import part

if TYPE_CHECKING:
    from grader_daemon.calibration.prior import ShippedPrior
    from grader_daemon.calibration.training import TrainingContext
    from grader_daemon.domain.calibration import Trust
    from grader_daemon.domain.limits import Limits
    from grader_daemon.domain.unit import Unit
    from grader_daemon.domain.verdict import CompletionPolicy
    from grader_daemon.pipeline.crash_marks import CrashMarks
    from grader_daemon.pipeline.examine import Examiner
    from grader_daemon.pipeline.ingest import Ingest, OnUnknown
    from grader_daemon.pipeline.pace import Pace
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
    context = make_context(settings, read_prior(settings))
    return lambda: context.policy(store.calibrations.adopted() if store is not None else None)


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
    from grader_daemon.analysis.features import DIRECTIONS, FEATURES_VERSION
    from grader_daemon.rules.prior import load_prior

    shipped = load_prior(settings.calibration_prior)
    if shipped.prior.features_version != FEATURES_VERSION or shipped.prior.names != tuple(DIRECTIONS):
        named = settings.calibration_prior or "the shipped prior"
        raise ConfigurationError(f"{named} reads features of another version; train it again with `calibration train`")
    return shipped


def read_trust(settings: Settings, store: SqliteStore | None) -> Trust:
    """Return how far the verdicts of the policy of `make_policy` can be trusted; loads nothing that grading needs.

    Of those in the copy of a fleet, which are of the policies of its machines, nothing is known here.

    Raises:
        ConfigurationError: the prior cannot be read.
        StoreError: the database cannot be read.
    """
    from grader_daemon.calibration.in_force import policy_in_force, trust_in
    from grader_daemon.domain.calibration import Trust
    from grader_daemon.domain.verdict import VerdictBy, VerdictSetting
    from grader_daemon.rules.prior import load_prior

    if store is not None and store.fleet.state() is not None:
        return Trust(version="", by=VerdictBy.MODEL, of_fleet=True)
    shipped = load_prior(settings.calibration_prior)
    adopted, look = (None, None) if store is None else (store.calibrations.adopted(), store.calibrations.last_look())
    setting, better = VerdictSetting(settings.verdict), shipped.validity.better
    policy = policy_in_force(setting, adopted, prior=shipped.prior.model, prior_better=better)
    return trust_in(policy, look)


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
    made = known_sources(settings, limits=limits)
    return Sources(
        [source for source in made if source.name in settings.sources],
        others=[source for source in made if source.name not in settings.sources],
    )


def known_sources(settings: Settings, *, limits: Limits | None = None) -> list[Source]:
    """Return every source, whether it is enabled or not, in the order in which they are asked for a path."""
    return [make(settings, limits or settings.limits) for make in SOURCES.values()]


def roots_of(settings: Settings, source: str) -> tuple[str, ...]:
    """Return the folders in which sessions of a source are looked for: those that are set, else its own."""
    return tuple(str(root) for root in getattr(settings, ROOTS[source])) or default_roots(source)


def watched_roots(settings: Settings) -> list[str]:
    """Return the folders of all sources whose sessions are graded, each once."""
    enabled = [name for name in SOURCES if name in settings.sources]
    return list(dict.fromkeys(root for name in enabled for root in roots_of(settings, name)))


def make_installed(settings: Settings) -> Installed:
    """Return what the agents whose sessions are graded have installed, and are set up with."""
    installed: Installed = part("installed").of(settings)
    return installed


def _make_hermes(settings: Settings, limits: Limits) -> Source:
    from grader_daemon.sources.hermes.hermes_source import Hermes

    return Hermes(roots_of(settings, "hermes"), zone=settings.zone, limits=limits)


def _make_claude_code(settings: Settings, limits: Limits) -> Source:
    from grader_daemon.sources.claude_code.project_files import ClaudeCode

    return ClaudeCode(roots_of(settings, "claude-code"), limits=limits)


def _make_codex(settings: Settings, limits: Limits) -> Source:
    from grader_daemon.sources.codex.rollout_files import CodexRollouts

    return CodexRollouts(roots_of(settings, "codex"), limits=limits)


def _make_atif(settings: Settings, limits: Limits) -> Source:
    from grader_daemon.sources.atif.trial_files import AtifTrials

    return AtifTrials(roots_of(settings, "atif"), limits=limits)


def _make_mini_swe_agent(settings: Settings, limits: Limits) -> Source:
    from grader_daemon.sources.mini_swe_agent.run_files import MiniSweAgentRuns

    return MiniSweAgentRuns(roots_of(settings, "mini-swe-agent"), limits=limits)


def _make_openhands(settings: Settings, limits: Limits) -> Source:
    from grader_daemon.sources.openhands.evaluation_files import OpenHandsRuns

    return OpenHandsRuns(roots_of(settings, "openhands"), zone=settings.zone, limits=limits)


def _make_opencode(settings: Settings, limits: Limits) -> Source:
    from grader_daemon.sources.opencode.opencode_source import OpenCode

    return OpenCode(roots_of(settings, "opencode"), limits=limits)


def _make_gemini_cli(settings: Settings, limits: Limits) -> Source:
    from grader_daemon.sources.gemini_cli.chat_files import GeminiChats

    return GeminiChats(roots_of(settings, "gemini-cli"), limits=limits)


def _make_copilot(settings: Settings, limits: Limits) -> Source:
    from grader_daemon.sources.copilot.session_events import CopilotSessions

    return CopilotSessions(roots_of(settings, "copilot"), limits=limits)


def _make_qwen_code(settings: Settings, limits: Limits) -> Source:
    from grader_daemon.sources.qwen_code.chat_transcripts import QwenChats

    return QwenChats(roots_of(settings, "qwen-code"), limits=limits)


def _make_cline(settings: Settings, limits: Limits) -> Source:
    from grader_daemon.sources.cline.cline_sessions import ClineSessions

    return ClineSessions(roots_of(settings, "cline"), limits=limits)


def _make_pi(settings: Settings, limits: Limits) -> Source:
    from grader_daemon.sources.pi.pi_files import PiSessions

    return PiSessions(roots_of(settings, "pi"), limits=limits)


def _make_openclaw(settings: Settings, limits: Limits) -> Source:
    from grader_daemon.sources.openclaw.openclaw_source import OpenClaw

    return OpenClaw(roots_of(settings, "openclaw"), limits=limits)


SOURCES: Final[Mapping[str, Callable[[Settings, Limits], Source]]] = {
    "hermes": _make_hermes,
    "claude-code": _make_claude_code,
    "codex": _make_codex,
    "opencode": _make_opencode,
    "gemini-cli": _make_gemini_cli,
    "copilot": _make_copilot,
    "qwen-code": _make_qwen_code,
    "cline": _make_cline,
    "openclaw": _make_openclaw,
    "pi": _make_pi,
    "atif": _make_atif,
    "mini-swe-agent": _make_mini_swe_agent,
    "openhands": _make_openhands,
}
"""What makes a source, by its name. A path belongs to the first that claims it."""


def open_store(settings: Settings, *, on_upgrade: OnUpgrade = lambda _: None) -> SqliteStore:
    """Open the store that the settings name, to write to it.

    `on_upgrade` is told where it was upgraded: a copy of before stays.

    Raises:
        StoreError: it cannot be used.
    """
    from grader_daemon.storage.maintenance.upgrade import upgrading

    with upgrading(settings.db_path, now=utc_now()) as upgrade:
        store = SqliteStore(settings.db_path, host=socket.gethostname())
    if upgrade is not None:
        on_upgrade(upgrade)
    return store


def read_store(settings: Settings) -> SqliteStore:
    """Open the store that the settings name, to read it.

    Raises:
        StoreError: it cannot be used, or is of an earlier version.
    """
    return SqliteStore(settings.db_path, host=socket.gethostname(), read_only=True)


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
