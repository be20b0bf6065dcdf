"""A trial with real processes: a session goes on until its process ends, however it ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from grader_daemon.bootstrap import utc_now
from grader_daemon.skills.trial_file import TrialFile
from grader_daemon.skills.trial_names import Subject
from grader_daemon.skills.trials import Trials
from tests.e2e.daemon_process import environment, run_command

RUN = ("changes", "trial", "run", "deploy", "--")


def test_nothing_is_switched_below_a_session_until_its_process_is_killed(home: Path) -> None:
    skill = home / ".timmy" / "skills" / "deploy" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("Deploy.")
    file = TrialFile(home / ".config" / "grader-daemon" / "trials")
    trials = Trials(file, clock=utc_now)
    trials.start(Subject("deploy", "hermes", str(skill)))
    command = [str(Path(sys.executable).parent / "grader-daemon"), *RUN, "sh", "-c", "echo begun; exec cat"]
    with subprocess.Popen(
        command, env=environment(home, {}), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as session:
        assert session.stdout is not None
        assert session.stdout.readline() == "begun\n"
        assert run_command(home, *RUN, "true").returncode == 0
        assert len(file.trials()[0].draws) == 1
        session.kill()
    ended = run_command(home, *RUN, "grep", "SigIgn", "/proc/self/status")
    assert ended.stdout.split() == ["SigIgn:", "0" * 16]  # Python's own ways are not handed on
    assert len(file.trials()[0].draws) == 2
    trials.stop("deploy")
    assert [(path.name, path.read_text()) for path in skill.parent.iterdir()] == [("SKILL.md", "Deploy.")]
