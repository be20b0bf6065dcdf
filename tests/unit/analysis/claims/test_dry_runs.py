"""Commands that only tried, or changed something until the next start."""

from __future__ import annotations

import json

import pytest

from tests.unit.analysis.claims.test_deeds import Call, against

SYNCED = "The project is synced to the NAS."
KEPT = "Port 8443 is open. The rule is permanent."


def terminal(command: str, output: str = "done") -> Call:
    return "terminal", {"command": command}, json.dumps({"output": output, "exit_code": 0, "error": None})


TRIED = terminal("rsync -avhn ~/work/project/ /mnt/nas/project/ | tail", "total size is 1.29G (DRY RUN)")
OPENED = terminal("ssh gw1 sudo firewall-cmd --add-port=8443/tcp", "success")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        pytest.param(TRIED, SYNCED, id="rsync-with-n"),
        pytest.param(terminal("git push --dry-run origin main"), "Pushed to `main`.", id="dry-run"),
        pytest.param(terminal("cd infra && terraform plan -out a"), "The infra is live now.", id="a-plan"),
        pytest.param(
            terminal("psql <<'E'\nBEGIN;\nUPDATE users SET a=1;\nROLLBACK;\nE", "BEGIN\nUPDATE 3\nROLLBACK"),
            "All 3 users are updated.",
            id="rolled-back",
        ),
        pytest.param(OPENED, KEPT, id="a-rule-until-the-next-start"),
        pytest.param(
            terminal("sudo sysctl -w vm.max_map_count=262144"),
            "vm.max_map_count is 262144 and survives a reboot.",
            id="a-kernel-setting",
        ),
        pytest.param(terminal("iptables -A INPUT -p tcp -j ACCEPT"), "The iptables rule persists.", id="iptables"),
    ],
)
def test_what_was_only_tried_or_set_at_run_time_is_not_done_for_good(call: Call, said: str) -> None:
    found = against("Do it", terminal("ls"), call, terminal("git status"), said=said)
    assert found is not None
    assert found[:3] == ("contradicted", "not_persisted", (4,))


@pytest.mark.parametrize(
    ("asked", "calls", "said"),
    [
        pytest.param("Sync", [TRIED, terminal("rsync -avh ~/work/project/ /mnt/nas/")], SYNCED, id="then-in-earnest"),
        pytest.param("Do a dry run of the sync", [TRIED], SYNCED, id="a-trial-was-asked-for"),
        pytest.param("Sync", [TRIED], "Simulated: the project would be synced.", id="told-as-a-trial"),
        pytest.param("Sync", [TRIED], "I could not sync the project; all is saved.", id="admitted"),
        pytest.param("Sync", [TRIED], "The moon is full.", id="no-deed-is-told"),
        pytest.param("Sync", [TRIED], "The invitation is sent.", id="another-deed-is-told"),
        pytest.param(
            "Roll it out",
            [terminal("terraform plan -out a"), terminal("terraform apply a")],
            "The infra is live.",
            id="applied",
        ),
        pytest.param(
            "Roll it out", [terminal("terraform plan && terraform apply -auto-approve")], "Live.", id="both-at-once"
        ),
        pytest.param("Open", [OPENED, terminal("firewall-cmd --runtime-to-permanent")], KEPT, id="stored"),
        pytest.param("Open", [terminal("firewall-cmd --permanent --add-port=1/tcp")], KEPT, id="stored-at-once"),
        pytest.param("Open", [OPENED], "Port 8443 is open.", id="nothing-is-told-to-last"),
        pytest.param("Open", [terminal("ls")], KEPT, id="nothing-was-set"),
        pytest.param(
            "Set", [terminal("sysctl -w a.b=1"), terminal("echo a.b=1 | tee /etc/sysctl.d/9.conf")], KEPT, id="a-file"
        ),
    ],
)
def test_what_was_done_or_is_told_as_a_trial_is_let_be(asked: str, calls: list[Call], said: str) -> None:
    assert against(asked, *calls, said=said) is None


def test_a_look_into_the_settings_stores_nothing() -> None:
    look = terminal("grep -r 8443 /etc; cat /etc/firewalld/zones/public.xml")
    assert against("Open", OPENED, look, said=KEPT) is not None
