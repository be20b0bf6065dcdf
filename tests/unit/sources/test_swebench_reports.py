from __future__ import annotations

import json
from pathlib import Path

import pytest

from grader_daemon.sources.swebench_reports import reports_beside, reward_of, stamps_of

TASK = "django__django-1"
RESOLVED = {TASK: {"patch_exists": True, "resolved": True, "tests_status": {}}}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / TASK).mkdir()
    return tmp_path


def reports(run: Path) -> list[str]:
    return reports_beside(str(run / TASK), TASK, run=str(run))


def reward(run: Path) -> float | None:
    return reward_of(reports(run), TASK, [str(run)])


def write(path: Path, report: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(report if isinstance(report, str) else json.dumps(report))


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        pytest.param({"resolved_ids": [TASK]}, 1, id="resolved"),
        pytest.param({"resolved_ids": [], "unresolved_ids": [TASK]}, 0, id="unresolved"),
        pytest.param({"resolved_ids": [], "empty_patch_ids": [TASK]}, 0, id="nothing-handed-in"),
        pytest.param({"resolved_ids": [], "error_ids": [TASK]}, None, id="not-judged"),
        pytest.param(
            {"resolved_ids": [], "unresolved_ids": [TASK], "infra_failure_ids": [TASK]}, None, id="machinery-failed"
        ),
        pytest.param({"resolved_ids": [], "incomplete_ids": [TASK]}, None, id="not-run"),
        pytest.param({"resolved_ids": TASK}, None, id="of-another-kind"),
        pytest.param('{"resolved_ids": ["dja', None, id="not-whole-yet"),
        pytest.param("[" * 100_000, None, id="deep"),
    ],
)
def test_the_report_on_all_runs_judges_each(run: Path, report: object, expected: float | None) -> None:
    write(run / "gpt-5.first.json", report)

    assert reward(run) == expected


@pytest.mark.parametrize("place", [f"{TASK}/report.json", f"logs/run_evaluation/first/gpt-5/{TASK}/report.json"])
@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (RESOLVED, 1),
        ({TASK: {"resolved": False}}, 0),
        ({TASK: {}}, None),
        ({"other__other-2": {"resolved": True}}, None),
        ("", None),
    ],
)
def test_the_report_on_one_run_judges_it(run: Path, place: str, report: object, expected: float | None) -> None:
    write(run / place, report)

    assert reward(run) == expected


def test_reports_that_agree_are_one_and_what_contradicts_itself_says_nothing(run: Path) -> None:
    write(run / "gpt-5.first.json", {"resolved_ids": [TASK]})
    write(run / TASK / "report.json", RESOLVED)
    assert reward(run) == 1

    write(run / "gpt-5.second.json", {"resolved_ids": [], "unresolved_ids": [TASK]})
    assert reward(run) is None


def test_predictions_and_runs_are_no_reports(run: Path) -> None:
    for name in ("preds.json", "x.traj.json", "notes.txt"):
        write(run / name, {"resolved_ids": [TASK]})

    assert reports(run) == [str(run / TASK / "report.json")]


def test_at_most_twenty_reports_beside_the_runs_are_looked_into(run: Path) -> None:
    for number in range(30):
        write(run / f"gpt-5.{number:02}.json", {"resolved_ids": []})

    assert len(reports(run)) == 21


def test_a_report_that_changes_has_another_stamp(run: Path) -> None:
    write(run / "gpt-5.first.json", {"resolved_ids": []})
    before = list(stamps_of(reports(run)))
    write(run / "gpt-5.first.json", {"resolved_ids": [TASK]})

    assert list(stamps_of(reports(run))) != before
    assert reward(run) == 1


def test_no_report_is_read_through_a_link(run: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    secret = tmp_path_factory.mktemp("elsewhere") / "secret.json"
    write(secret, {"resolved_ids": [TASK]})
    (run / "gpt-5.first.json").symlink_to(secret)

    assert reward(run) is None
