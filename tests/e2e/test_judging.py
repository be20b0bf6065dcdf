"""Labels, what is learned from them, and grades that follow: with real processes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import StartDaemon
from tests.e2e.daemon_process import DATABASE, environment, query, run_command
from tests.e2e.session_files import path_of, turns, write_many
from tests.priors import write_prior
from tests.waiting import PATIENCE_SECONDS, wait_until

SESSIONS = 80
LABELS = 60


@pytest.fixture
def prior(tmp_path: Path) -> Path:
    """A prior that knows no feature: it finds each session as likely as the other."""
    return write_prior(tmp_path / "prior.json")


@pytest.fixture
def labelled_home(home: Path, sessions: Path, prior: Path, tmp_path: Path) -> Path:
    """Graded sessions, most of them judged by a person: few were completed."""
    ids = write_many(sessions, SESSIONS, messages=turns(task="Fix the date parser of module NUMBER"))
    assert run_command(home, "grade", calibration_prior=str(prior)).returncode == 0
    lines = ["session_id,completed", *(f"{name},{int(n % 8 == 0)}" for n, name in enumerate(ids[:LABELS]))]
    file = tmp_path / "labels.csv"
    file.write_text("\n".join(lines))
    assert run_command(home, "label", "--csv", file, calibration_prior=str(prior)).returncode == 0
    return home


def ask(home: Path, prior: Path, *arguments: str | Path, verdict: str = "auto") -> subprocess.CompletedProcess[str]:
    """Run a command under a prior and a policy."""
    return run_command(home, *arguments, calibration_prior=str(prior), verdict=verdict)


def versions(home: Path) -> set[str]:
    """What made the grades, without the version of the rules."""
    rows = query(home / DATABASE, "SELECT rules_version, verdict_by FROM session_details")
    return {row["rules_version"].partition("+")[2] for row in rows}


def document(ended: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert ended.returncode == 0, ended.stderr
    read = json.loads(ended.stdout)
    assert isinstance(read, dict)
    return read


def test_a_running_daemon_grades_again_by_what_was_learned(
    labelled_home: Path, sessions: Path, prior: Path, start_daemon: StartDaemon
) -> None:
    daemon = start_daemon(calibration_prior=str(prior), verdict="model")
    daemon.wait_for_rows("SELECT 1 FROM calibrations")
    wait_until(lambda: versions(labelled_home) == {"p1.model"}, "the policy to be taken up")
    gone = path_of(sessions, "many_00079")
    gone.unlink()

    ask(labelled_home, prior, "calibration", "update", "--json", verdict="model")  # unless the daemon was faster
    updated = daemon.wait_for_event("calibration.updated", labels=LABELS)
    version = updated["now"].removesuffix(".model")
    wait_until(lambda: versions(labelled_home) == {f"{version}.model"}, "all grades to be made again")

    assert (updated["level"], updated["before"]) == ("notice", "p1.model")
    shown = ask(labelled_home, prior, "show", "many_00079", verdict="model").stdout
    assert f"model {version}, verdict by the model" in shown
    [lost] = query(
        labelled_home / DATABASE,
        "SELECT p_completed, verdict_by FROM session_details WHERE session_id = 'many_00079'",
    )
    assert lost["verdict_by"] == "model"
    assert 0.1 < lost["p_completed"] < 0.2
    [sums] = query(
        labelled_home / DATABASE,
        "SELECT sum(completed) AS completed, sum(sessions) AS sessions FROM daily_rollups WHERE dimension = 'overall'",
    )
    counted = query(labelled_home / DATABASE, "SELECT count(*) AS completed FROM session_grades WHERE task_completed")
    assert (sums["completed"], sums["sessions"]) == (counted[0]["completed"], SESSIONS)


def test_a_daemon_that_dies_while_it_grades_again_goes_on(
    labelled_home: Path, prior: Path, start_daemon: StartDaemon
) -> None:
    version = document(ask(labelled_home, prior, "calibration", "update", "--json", verdict="model"))["model"]
    daemon = start_daemon(calibration_prior=str(prior), verdict="model", batch_sessions=1)
    wait_until(lambda: f"{version}.model" in versions(labelled_home), "the first new grade")
    daemon.kill()

    start_daemon(calibration_prior=str(prior), verdict="model", batch_sessions=1)

    wait_until(lambda: versions(labelled_home) == {f"{version}.model"}, "all grades to be made again")
    assert len(query(labelled_home / DATABASE, "SELECT 1 FROM session_grades")) == SESSIONS


@pytest.mark.parametrize("policy", ["rules", "model", "auto"])
def test_who_decides_is_a_setting(labelled_home: Path, prior: Path, policy: str) -> None:
    made = document(ask(labelled_home, prior, "calibration", "update", "--json", verdict=policy))

    assert ask(labelled_home, prior, "grade", "--again", verdict=policy).returncode == 0

    by = "model" if policy == "model" else "rules"  # by one probability for all, nobody is told apart
    assert (made["policy"], made["verdict_by"]) == (policy, by)
    assert versions(labelled_home) == {f"{made['model']}.{by}"}
    shown = ask(labelled_home, prior, "calibration", "show", verdict=policy).stdout
    assert re.search(rf"^verdicts by +the {'trained model' if by == 'model' else by}$", shown, re.MULTILINE)
    assert made["model"] in shown


def test_a_dry_run_writes_nothing(labelled_home: Path, prior: Path) -> None:
    ended = run_command(labelled_home, "calibration", "update", "--dry-run", calibration_prior=str(prior))

    assert "Adopted: p1.rules becomes p1-" in ended.stdout
    assert "Nothing was written." in ended.stdout
    assert query(labelled_home / DATABASE, "SELECT 1 FROM calibrations") == []


@pytest.mark.thorough
def test_two_calibrations_at_the_same_time_adopt_the_same_once(labelled_home: Path, prior: Path) -> None:
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "grader_daemon", "calibration", "update", "--json"],
            env=environment(labelled_home, {"calibration_prior": str(prior)}),
            cwd=labelled_home,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    made = [json.loads(process.communicate(timeout=PATIENCE_SECONDS)[0]) for process in running]

    assert sorted(each["adopted"] for each in made) == [False, False, True]
    assert len(query(labelled_home / DATABASE, "SELECT 1 FROM calibrations WHERE adopted")) == 1


def test_few_labels_are_told_to_be_few(home: Path, sessions: Path, prior: Path) -> None:
    write_many(sessions, 1)
    ask(home, prior, "grade")
    ask(home, prior, "label", "many_00000", "--completed", "no")

    ended = ask(home, prior, "calibration", "update")

    assert "1 of your 1 labels is used (1 chosen by you); calibration needs 50." in ended.stdout
    assert "Nothing changes." in ended.stdout


def test_a_prior_that_is_none_is_told(graded_home: Path, tmp_path: Path) -> None:
    (tmp_path / "prior.json").write_text("{}")

    ended = run_command(graded_home, "calibration", "update", calibration_prior=str(tmp_path / "prior.json"))

    assert ended.returncode == 2
    assert "prior.json" in ended.stderr


# -- grade --again -----------------------------------------------------------------------------------------------------


def test_what_an_edited_rule_would_change_is_shown_before(labelled_home: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text("[quality]\nbase = 1\n")
    before = query(labelled_home / DATABASE, "SELECT * FROM session_grades ORDER BY id")

    found = document(run_command(labelled_home, "grade", "--again", "--diff", "--rules", rules, "--json"))
    told = run_command(labelled_home, "grade", "--again", "--diff", "--rules", rules)

    assert (found["sessions"], found["changed"]) == (SESSIONS, SESSIONS)
    changes = {each["column"]: (each["rises"], each["falls"]) for each in found["columns"]}
    assert changes["response_quality"] == (0, SESSIONS)
    assert changes["task_completed"] == (0, 0)
    assert len(found["largest"]) == 20
    assert f"{SESSIONS} of {SESSIONS} sessions would change; nothing was written." in told.stdout
    assert "response quality: 3 -> 1" in told.stdout
    assert "- quality.base (+3)" in told.stdout
    assert query(labelled_home / DATABASE, "SELECT * FROM session_grades ORDER BY id") == before


def test_nothing_differs_by_the_same_rules(labelled_home: Path, prior: Path) -> None:
    found = document(run_command(labelled_home, "grade", "--again", "--diff", "--json", calibration_prior=str(prior)))
    assert (found["sessions"], found["changed"]) == (SESSIONS, 0)


def test_only_what_another_version_graded_is_graded_again(labelled_home: Path, prior: Path) -> None:
    def regraded(*arguments: str, verdict: str = "auto") -> dict[str, int]:
        files = document(ask(labelled_home, prior, "grade", "--again", "--json", *arguments, verdict=verdict))["files"]
        assert isinstance(files, dict)
        return files

    assert regraded() == {}
    assert regraded("--all", "--since", "1m") == {}
    assert regraded("--all") == {"graded": SESSIONS}
    assert regraded(verdict="model") == {"graded": SESSIONS}
    assert versions(labelled_home) == {"p1.model"}


def test_rules_are_tried_only(labelled_home: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text("")
    ended = run_command(labelled_home, "grade", "--again", "--rules", rules)
    assert ended.returncode == 2
    assert "--diff" in ended.stderr
