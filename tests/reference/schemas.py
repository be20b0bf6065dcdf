"""The JSON documents of the program: what each holds, as JSON Schema and as a page.

Types are those of the package; what a command puts around them is said here, and a test holds what the commands print
against it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import msgspec

from grader_daemon._version import SCHEMA_VERSION
from grader_daemon.api.calibration import CalibrationState
from grader_daemon.api.configuration import SettingValue, Written
from grader_daemon.api.doctor.repairs import Repair
from grader_daemon.api.documents import GRADE_NAMES
from grader_daemon.api.explanation import FeatureEffect
from grader_daemon.api.forget import Forgotten
from grader_daemon.api.grades import Child
from grader_daemon.api.labels import LabelledFile
from grader_daemon.api.overview import Overview
from grader_daemon.api.source_switches import Switched
from grader_daemon.api.sources import FoundSource
from grader_daemon.api.status import Status
from grader_daemon.api.transcript import TranscriptMessage
from grader_daemon.calibration.prior import Validity
from grader_daemon.dashboard.systemd_unit import DashboardStatus
from grader_daemon.domain.alert import Alert, Stream
from grader_daemon.domain.analysis import Category, Failure, FailureKind, Subcategory
from grader_daemon.domain.calibration import Calibration, LevelGuess
from grader_daemon.domain.check import Check
from grader_daemon.domain.claims import Claim
from grader_daemon.domain.difference import RegradeDiff
from grader_daemon.domain.early import EarlyErrors
from grader_daemon.domain.error_groups import ErrorIssue, StepCount
from grader_daemon.domain.feedback import Feedback, Label
from grader_daemon.domain.fleet_hosts import FleetWatch
from grader_daemon.domain.grade import Grade, Reason
from grader_daemon.domain.insight import Patterns, WeeklyReport
from grader_daemon.domain.message_search import FoundMessages
from grader_daemon.domain.people import PersonSignal
from grader_daemon.domain.quality import QualityCheck
from grader_daemon.domain.routing import Route
from grader_daemon.domain.setup_changes import SetupChanges
from grader_daemon.domain.similar import Similar
from grader_daemon.domain.skills import SkillAdvice, SkillDetail, Skills
from grader_daemon.domain.summary import Summary
from grader_daemon.domain.usage_by_day import UsageByDay
from grader_daemon.domain.verdict import Outcome
from grader_daemon.domain.work_fate import FateWorth
from grader_daemon.fleet.server_admin import FleetHost, FleetMade
from grader_daemon.fleet.systemd_unit import PusherStatus
from grader_daemon.hook.hook_state import HookState
from grader_daemon.hook.hooked_agents import Mode
from grader_daemon.outcomes.commands import SessionOutcome
from grader_daemon.reports.document import report_schema
from grader_daemon.service.install import Installation, ServiceStatus
from grader_daemon.skills.trial_commands import StartedTrial, StoppedTrial
from grader_daemon.skills.trial_state import TrialStates
from grader_daemon.sources.other_agents import FoundElsewhere
from grader_daemon.storage.maintenance.backup import Backup, Restored
from grader_daemon.storage.records import Change
from tests.reference.blocks import table

_DRAFT = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True, slots=True)
class Document:
    """A document, the commands that print it, and its type; the type of the weekly report is that of the package."""

    name: str
    commands: str
    type: type[msgspec.Struct]


def _shape(
    name: str,
    *wholes: type[msgspec.Struct],
    like: type[msgspec.Struct] | None = None,
    about: str = "",
    but: tuple[str, ...] = (),
    **fields: Any,
) -> type[msgspec.Struct]:
    """Return a type with the fields of others and some more; the last of them, or `like`, and `about` describe it.

    The type of a field that may be missing stands in a list.
    """
    kept = {each.name: each.type for whole in wholes for each in msgspec.structs.fields(whole) if each.name not in but}
    described = [each.__doc__ or "" for each in (*wholes, like) if each is not None]
    return msgspec.defstruct(
        name,
        [(key, *kind, None) if isinstance(kind, list) else (key, kind) for key, kind in {**kept, **fields}.items()],
        kw_only=True,
        namespace={"__doc__": f"{described[-1]}{about}" if described else None},
    )


def _document(name: str, commands: str, *wholes: type[msgspec.Struct], **fields: Any) -> Document:
    title = "".join(part.capitalize() for part in name.split("-"))
    version = _shape("Versioned", schema_version=Literal[SCHEMA_VERSION])
    return Document(name, commands, _shape(f"{title}Document", version, *wholes, **fields))


_Failure = _shape(
    "FailureOfGrade",
    like=Failure,
    index=int,
    tool=str | None,
    category=Category,
    subcategory=Subcategory | None,
    kind=FailureKind,
)
_GRADE_FIELDS = {
    **{each.name: each.type for each in msgspec.structs.fields(Grade)},
    "failures": tuple[_Failure, ...],  # type: ignore[valid-type]
    "edited_paths": tuple[str, ...] | None,
    "task_completed": bool | None,
    "tool_calls_efficient": int | None,
    "response_quality": int | None,
    "errors_recovered": bool | None,
    "outcome": Outcome,
    "verdict": str,
    "score": float | None,
}
_MORE_OF_GRADE = """
        id: number of its database row, if it is stored.
        outcome: the verdict in one word.
        verdict: the verdict as a sentence: the grader, the probability, and how far both can be trusted.
        score: 1 to 5, from completion, efficiency and quality; None if there is nothing to judge.
"""
_GradeOfFile = _shape(
    "GradeOfSession", like=Grade, about=_MORE_OF_GRADE, id=[int], **{name: _GRADE_FIELDS[name] for name in GRADE_NAMES}
)
_ReasonOfGrade = _shape("ReasonOfGrade", Reason, meaning=str)
_AlertListed = _shape("AlertListed", Alert, silent_until=datetime | None)
_Calibration = _shape("CalibrationMade", Calibration, model=str)
_InstalledUnit = _shape("InstalledUnit", _shape("OneUnit", unit=Path), Installation, but=("units",), kept=Path | None)
_MemberToken = _shape("MemberToken", member=str, made_at=datetime)
_LabelListed = _shape("LabelListed", Label, but=("features", "request"))

DOCUMENTS = (
    _document(
        "grade",
        "`grade` with a path",
        grades=list[_GradeOfFile],  # type: ignore[valid-type]
        skipped=list[_shape("SkippedFile", file=str, reason=str)],  # type: ignore[misc]
        errors=list[_shape("FileInError", file=str, error=str)],  # type: ignore[misc]
    ),
    _document(
        "files",
        "`grade --again`, `grade --archive`, and `grade` without a path: number of files by result",
        files=dict[str, int],
    ),
    _document("files-to-grade", "`grade --dry-run` without a path", files=list[str]),
    _document("regrade-diff", "`grade --again --diff`", RegradeDiff),
    _document("sources-forget", "`sources forget`", files=list[Forgotten]),
    _document("status", "`status`", Status),
    _document("doctor", "`doctor`; `repairs` with `--repair`", repairs=[list[Repair]], checks=list[Check]),
    _document("backup-create", "`backup create`", Backup),
    _document("backup-restore", "`backup restore`", Restored),
    _document("list", "`list`, `list -o json`", grades=list[_GradeOfFile]),  # type: ignore[valid-type]
    _document("sessions", "only from the page, below `/api`", grades=list[_GradeOfFile], next=str | None),  # type: ignore[valid-type]
    _document("changes", "only from the page, below `/api`", database=str, changes=list[Change]),
    Document("grade-line", "a line of `export table -f ndjson` and `list -o ndjson`", _GradeOfFile),
    _document(
        "show",
        "`show`",
        grade=_GradeOfFile,
        quality_check=QualityCheck | None,
        is_gone=bool,
        children=list[Child],
        early=EarlyErrors | None,
    ),
    _document(
        "transcript",
        "`show --transcript`, `show --around`",
        session_id=str,
        total=int,
        note=str | None,
        messages=tuple[TranscriptMessage, ...],
    ),
    _document(
        "why",
        "`why`",
        session_id=str,
        rules_version=str,
        outcome=Outcome,
        verdict=str,
        reasons=list[_ReasonOfGrade],  # type: ignore[valid-type]
        p_completed=float | None,
        effects=tuple[FeatureEffect, ...],
        failures=list[_Failure],  # type: ignore[valid-type]
        claims=tuple[Claim, ...],
        signals_from_people=tuple[PersonSignal, ...],
        asked_again=str | None,
        refused=list[int],
        messages=dict[str, str],
        note=str | None,
    ),
    _document("label", "`label ID --completed`, `label ID --quality`", feedback=Feedback),
    _document("label-undo", "`label ID --undo`", taken_back=Feedback),
    _document("label-list", "`label --list`", labels=list[_LabelListed]),  # type: ignore[valid-type]
    _document("label-file", "`label --csv`", LabelledFile),
    _document("summary", "`grader-daemon --json`", Overview, summary=Summary | None),
    _document("patterns", "`report patterns`", Patterns),
    _document("search", "`search`", FoundMessages),
    _document("usage", "`report usage`", UsageByDay, most_expensive=list[_GradeOfFile]),  # type: ignore[valid-type]
    _document("similar", "`search --similar`", Similar),
    _document("route", "`route`; the file of the setting `route_file`", Route),
    _document("outcomes", "`report outcomes`", sessions=list[SessionOutcome], worth=list[FateWorth]),
    _document("hook-status", "`hook status`", HookState),
    _document("hook-install", "`hook install`", agent=str, mode=Mode, file=str),
    _document("hook-uninstall", "`hook uninstall`", agent=str, file=str),
    _document("hook-trial", "`hook trial`", running=bool),
    _document("setup-changes", "`changes`, `changes list`", SetupChanges),
    _document("skills-list", "`skills list`", Skills),
    _document("skills-show", "`skills show`", SkillDetail),
    _document("skills-suggest", "`skills suggest`", SkillAdvice),
    _document("trial-start", "`changes trial start`", StartedTrial),
    _document("trial-status", "`changes trial status`", TrialStates),
    _document("trial-stop", "`changes trial stop`", stopped=list[StoppedTrial]),
    _document("errors-list", "`report errors list`", issues=list[ErrorIssue]),
    _document("errors-alternatives", "`report errors alternatives`", alternatives=list[StepCount]),
    _document("errors-show", "`report errors show`, `resolve`, `ignore`, `reopen`", issue=ErrorIssue),
    _document(
        "push",
        "`export scores langfuse`, `export scores otlp`, `export scores phoenix`. `sessions` counts the sessions whose"
        " scores were sent, `passed_over` those whose scores the server did not take completely, `asked` those looked"
        " up there, and `known` those that it has under their ids",
        sessions=int,
        passed_over=int,
        asked=int,
        known=int,
    ),
    Document("report", "`report --json`, `report week`; `report_json` of the database", WeeklyReport),
    _document("alerts-list", "`alerts`, `alerts list`", alerts=list[_AlertListed]),  # type: ignore[valid-type]
    _document("alerts-show", "`alerts show`", alert=_AlertListed),
    _document("alerts-ack", "`alerts ack`, `unack`, `unsilence`", alert=Alert),
    _document("alerts-silence", "`alerts silence`", number=int, silent_until=datetime),
    _document(
        "alerts-silences",
        "`alerts silences`",
        silences=list[_shape("Silence", stream=Stream, until=datetime)],  # type: ignore[misc]
    ),
    _document(
        "alerts-test",
        "`alerts test`",
        receivers=list[_shape("Receiver", channel=str, arrived=bool, error=str | None)],  # type: ignore[misc]
    ),
    _document(
        "alert-told",
        "input of `alert_command` and `alert_webhook_url`",
        event=Literal["opened", "resolved", "test"],
        title=str,
        cause=str | None,
        command=str,
        alert=Alert | None,
    ),
    _document("calibration-update", "`calibration update`", Calibration, dry_run=bool, model=str),
    _document(
        "calibration-show",
        "`calibration show`",
        CalibrationState,
        look=_Calibration | None,
        history=list[_Calibration],  # type: ignore[valid-type]
    ),
    _document("calibration-level", "`calibration level`", level=LevelGuess | None),
    _document(
        "calibration-train",
        "`calibration train`",
        version=str,
        sessions=int,
        labels_without_a_session=int,
        validity=Validity,
        file=str | None,
    ),
    _document("sources-list", "`sources`, `sources list`", sources=list[FoundSource], not_read=list[FoundElsewhere]),
    _document("push-fleet", "`fleet push`", sessions=int),
    _document("fleet-init", "`fleet init`", FleetMade),
    _document("fleet-add-host", "`fleet add-host`", host=str, user=str | None, role=str, line=str),
    _document("fleet-add-member", "`fleet add-member`", member=str, role=str, line=str),
    _document("fleet-remove-member", "`fleet remove-member`", member=str),
    _document("fleet-pull", "`fleet pull`", sessions=int),
    _document("fleet-serve-install", "`fleet serve install`", _InstalledUnit),
    _document("fleet-serve-uninstall", "`fleet serve uninstall`", removed=bool),
    _document("fleet-serve-status", "`fleet serve status`", ServiceStatus),
    _document("fleet-add-token", "`fleet add-token`", member=str, address=str, token=str),
    _document("fleet-remove-token", "`fleet remove-token`", member=str),
    _document("fleet-tokens", "`fleet tokens`", members=list[_MemberToken]),  # type: ignore[valid-type]
    _document("fleet-remove-host", "`fleet remove-host`", host=str, grades=int),
    _document("fleet-status", "`fleet status`", hosts=list[FleetHost], watch=FleetWatch | None),
    _document("fleet-install", "`fleet install`", _InstalledUnit),
    _document("fleet-uninstall", "`fleet uninstall`", removed=bool),
    _document("fleet-service-status", "`fleet service-status`", PusherStatus),
    _document("sources-switch", "`sources enable`, `sources disable`", Switched),
    _document("service-install", "`service install`", _InstalledUnit),
    _document("service-uninstall", "`service uninstall`", removed=bool, writable=str | None),
    _document("service-status", "`service status`", ServiceStatus),
    _document(
        "dashboard-install",
        "`dashboard install`",
        Installation,
        but=("started", "pid", "writable", "network", "programs", "user", "lingers"),
        about="\n        listening: whether its port is open.\n",
        listening=bool,
    ),
    _document("dashboard-uninstall", "`dashboard uninstall`", removed=bool),
    _document("dashboard-status", "`dashboard status`", DashboardStatus),
    _document("config-show", "`config show`", settings=list[SettingValue]),
    _document("config-get", "`config get`", SettingValue),
    _document("config-path", "`config path`", path=str, exists=bool),
    _document("config-check", "`config check`", warnings=list[str]),
    _document("config-set", "`config set`, `config unset`", Written),
)


def schema_of(document: Document) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a document."""
    if document.type is WeeklyReport:
        report = report_schema()
        for component in report["$defs"].values():
            _describe(component)
        return report
    (top,), components = msgspec.json.schema_components(
        (document.type,), ref_template="#/$defs/{name}", schema_hook=_of_other_types
    )
    for component in components.values():
        _describe(component)
        if "properties" in component:
            component["required"] = [
                key for key, kind in component["properties"].items() if not _may_miss(document, key)
            ]
            for kind in component["properties"].values():
                kind.pop("default", None)
    return {"$schema": _DRAFT, **top, "$defs": dict(sorted(components.items()))}


def _describe(component: dict[str, Any]) -> None:
    """Put what a docstring says of each attribute to that attribute; the rest of it, in lines as long as they come."""
    about, _, attributes = component.get("description", "").partition("Attributes:")
    if about:
        component["description"] = _line(about)
    for name, meaning in re.findall(r"^\s+(\w+): (.*(?:\n(?!\s+\w+: ).*)*)", attributes, re.MULTILINE):
        if name in component["properties"]:
            kind = component["properties"][name]
            component["properties"][name] = {"description": _line(meaning), **kind}


def _line(text: str) -> str:
    """Return words of a docstring in one line, for readers of JSON."""
    return re.sub(r"\bNone\b", "null", " ".join(text.split()))


def _may_miss(document: Document, key: str) -> bool:
    return (document.name, key) in {("doctor", "repairs"), ("grade", "id")}


def documents_list() -> str:
    """Return each document: what prints it, what it is, its keys."""
    return "\n\n".join(
        f"### JSON of {each.name}\n\n{each.commands}. Schema: [{each.name}.json](schemas/{each.name}.json)\n\n"
        f"{_shown(schema_of(each))}"
        for each in DOCUMENTS
    )


def types_list() -> str:
    """Return each type that documents are made of: what it is, and its keys or values."""
    found: dict[str, dict[str, Any]] = {}
    for document in DOCUMENTS:
        for name, kind in schema_of(document)["$defs"].items():
            if _parts(found.setdefault(name, kind)) != _parts(kind):
                raise ValueError(f"two types of the documents are called {name}")
    inner = {name: kind for name, kind in found.items() if not name.endswith("Document")}
    return "\n\n".join(f"### {name}\n\n{_described(kind)}" for name, kind in sorted(inner.items()))


def _parts(kind: Mapping[str, Any]) -> list[Any]:
    return [*kind.get("properties", ()), *kind.get("enum", ())]


def _shown(schema: Mapping[str, Any]) -> str:
    """Show what is of a document alone; a type that others have too stands among the types."""
    name = schema["$ref"].rpartition("/")[2]
    return _described(schema["$defs"][name]) if name.endswith("Document") else f"A {_words(schema)}."


def _described(kind: Mapping[str, Any]) -> str:
    return "\n\n".join(filter(None, [kind.get("description"), _keys(kind) if "properties" in kind else _words(kind)]))


def _keys(kind: Mapping[str, Any]) -> str:
    keys: dict[str, dict[str, Any]] = kind["properties"]
    if any("description" in value for value in keys.values()):
        return table(
            ("key", "is", "means"),
            [(f"`{key}`", _words(value), value.get("description", "")) for key, value in keys.items()],
        )
    return ", ".join(f"`{key}`: {_words(value)}" for key, value in keys.items() if key != "schema_version")


def _words(kind: Mapping[str, Any]) -> str:
    """Say in a few words what a value may be."""
    match kind:
        case {"$ref": reference}:
            name = reference.rpartition("/")[2]
            return f"[{name}](#{name.lower()})"
        case {"anyOf": choices}:
            return " or ".join(_words(choice) for choice in choices)
        case {"enum": values}:
            return ", ".join(f"`{value}`" for value in values)
        case {"type": "array", "prefixItems": items}:
            return f"list of {', '.join(_words(item) for item in items)}"
        case {"type": "array", "items": values}:
            return f"list of {_words(values)}"
        case {"type": "object", "additionalProperties": values}:
            return f"object of {_words(values)}"
    return _KINDS.get(str(kind.get("type")), "anything")


_KINDS = {
    "string": "text",
    "integer": "integer",
    "number": "number",
    "boolean": "true or false",
    "null": "null",
    "array": "list",
    "object": "object",
}


def _of_other_types(kind: type) -> dict[str, Any]:
    if issubclass(kind, Path):
        return {"type": "string"}
    raise NotImplementedError
