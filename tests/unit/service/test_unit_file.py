from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from grader_daemon.errors import ConfigurationError
from grader_daemon.service.unit_file import (
    DAEMON,
    DASHBOARD,
    DASHBOARD_SOCKET,
    PUSHER,
    TEMPORARY,
    Fit,
    Unit,
    directives,
    edits,
    fitted_socket,
    fitted_unit,
    is_edited,
    shipped_unit,
    words_of,
)

HOME = Path("/home/somebody")
FIT = Fit(
    command=("/opt/python", "-m", "grader_daemon", "run"),
    environment={},
    needed=(HOME / ".timmy", Path("/opt/python")),
    writable=(HOME / ".timmy/uniwizard",),
    home=HOME,
    awaited=False,
    runtime=Path("/run/user/1000"),
    max_file_bytes=256 << 20,
    network=(),
    programs=(),
)


def changes(**needs: object) -> tuple[set[str], set[str]]:
    """Give the lines that a fitted unit lacks and has beside those of the shipped one."""
    shipped = shipped_unit(DAEMON).splitlines()
    fitted = fitted_unit(DAEMON, replace(FIT, **needs), version="1.2.3").splitlines()  # type: ignore[arg-type]
    return set(shipped) - set(fitted), set(fitted) - set(shipped)


def values(**needs: object) -> dict[str, str]:
    """Give the directives of a fitted unit."""
    return directives(fitted_unit(DAEMON, replace(FIT, **needs), version="1.2.3"))  # type: ignore[arg-type]


@pytest.mark.parametrize("unit", [DAEMON, DASHBOARD, DASHBOARD_SOCKET, PUSHER])
def test_units_of_the_package_are_those_of_the_repository(unit: Unit) -> None:
    root = Path(__file__).parents[3]
    assert (root / "grader_daemon/service" / unit.name).samefile(root / "systemd" / unit.name)
    assert shipped_unit(unit) == (root / "systemd" / unit.name).read_text()


def _sandbox(unit: Unit) -> set[str]:
    """Return the directives of a unit from its files on; one line each."""
    _, _, rest = shipped_unit(unit).partition("# -- Files")
    return {line for line in rest.partition("[Install]")[0].splitlines() if re.match(r"\w+=", line)}


def test_the_page_is_as_restricted_as_the_daemon_but_sees_home_and_temporary_files() -> None:
    daemon, page = _sandbox(DAEMON), _sandbox(DASHBOARD)

    assert len(daemon) > 30
    assert {line.partition("=")[0] for line in daemon - page} == {
        *("BindPaths", "NoExecPaths", "TemporaryFileSystem", "BindReadOnlyPaths", "PrivateTmp")
    }
    hidden = {line for line in page if line.startswith("InaccessiblePaths=-%h/")}
    assert page - daemon - hidden == {
        "NoExecPaths=%h/.timmy/uniwizard",
        "TemporaryFileSystem=/run:ro",
        "BindReadOnlyPaths=-/run/log/journal -/run/systemd/system",
    }


def test_the_page_sees_no_usual_place_of_keys_and_of_what_browsers_keep() -> None:
    hidden = {
        word for line in _sandbox(DASHBOARD) if line.startswith("InaccessiblePaths=") for word in line[18:].split()
    }

    for place in (
        ".aws",
        ".kube",
        ".netrc",
        ".pgpass",
        ".config/gh",
        ".docker",
        ".mozilla",
        ".config/chromium",
        "snap",
    ):
        assert f"-%h/{place}" in hidden


def test_the_page_is_fitted_like_the_daemon() -> None:
    fit = replace(FIT, command=("/opt/python", "-m", "grader_daemon", "dashboard"), needed=(HOME, *TEMPORARY))
    fit = replace(fit, shown=(Path("/run/log/journal"),))

    fitted = directives(fitted_unit(DASHBOARD, fit, version="1.2.3"))

    assert fitted["ExecStart"] == "/opt/python -m grader_daemon dashboard"
    assert fitted["ReadWritePaths"] == "/home/somebody/.timmy/uniwizard"
    assert fitted["PrivateNetwork"] == "yes"
    assert fitted["TemporaryFileSystem"] == "/run:ro"
    assert fitted["BindReadOnlyPaths"] == "-/run/log/journal"
    assert fitted["NoExecPaths"] == "/home/somebody/.timmy/uniwizard"
    assert not {"PrivateTmp", "BindPaths"} & fitted.keys()
    assert not is_edited(DASHBOARD, fitted_unit(DASHBOARD, fit, version="1.2.3"))


def test_what_sends_to_the_fleet_is_as_restricted_as_the_daemon_but_for_the_network() -> None:
    daemon, pusher = _sandbox(DAEMON), _sandbox(PUSHER)

    assert {line.partition("=")[0] for line in daemon - pusher} == {
        *("TemporaryFileSystem", "BindReadOnlyPaths", "PrivateNetwork", "RestrictAddressFamilies")
    }
    shown = (".local/bin", ".local/share/pipx", ".config/grader-daemon", ".postgresql", ".pgpass", ".pg_service.conf")
    assert pusher - daemon == {
        "TemporaryFileSystem=%t:ro %h:ro",
        "BindReadOnlyPaths=" + " ".join(f"-%h/{path}" for path in shown),
        "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6",
    }


def test_what_sends_to_the_fleet_is_fitted_like_the_daemon() -> None:
    """It says nothing to systemd, so it needs no socket of the session; no session that it reads takes memory."""
    fit = replace(FIT, needed=(HOME / ".pgpass",), network=("fleet_url",), max_file_bytes=0)

    unit = fitted_unit(PUSHER, fit, version="1.2.3")

    fitted = directives(unit)
    assert fitted["BindReadOnlyPaths"] == "-/home/somebody/.pgpass"
    assert fitted["TemporaryFileSystem"] == "%t:ro %h:ro"
    assert (fitted["MemoryHigh"], fitted["RestrictAddressFamilies"]) == ("384M", "AF_UNIX AF_INET AF_INET6")
    assert "# For `fleet_url`.\n" in unit
    assert "ready and alive" not in unit


@pytest.mark.parametrize(("address", "place"), [("127.0.0.1", "127.0.0.1:80"), ("::1", "[::1]:80")])
def test_the_port_of_the_page_is_that_of_the_settings(address: str, place: str) -> None:
    fitted = fitted_socket(address, 80, version="1.2.3")

    assert directives(fitted)["ListenStream"] == place
    assert fitted.startswith("# Written by `grader-daemon dashboard install`, version 1.2.3.")
    assert not is_edited(DASHBOARD_SOCKET, fitted)
    assert is_edited(DASHBOARD_SOCKET, fitted.replace(":80", ":81"))


def test_only_paths_and_the_version_differ_when_nothing_is_needed() -> None:
    lacks, has = changes()
    assert {line.partition("=")[0] for line in lacks} == {
        *("ExecStart", "BindPaths", "ReadWritePaths", "NoExecPaths", "BindReadOnlyPaths")
    }
    assert {line for line in has if "Sum of what follows" not in line} == {
        "# Written by `grader-daemon service install`, version 1.2.3.",
        "ExecStart=/opt/python -m grader_daemon run",
        "BindPaths=/home/somebody/.timmy/uniwizard",
        "ReadWritePaths=/home/somebody/.timmy/uniwizard",
        "BindReadOnlyPaths=%t/systemd/notify -/home/somebody/.timmy",
        "NoExecPaths=/home/somebody/.timmy/uniwizard /tmp /var/tmp",
    }


@pytest.mark.parametrize(
    ("word", "written"),
    [
        pytest.param("/plain/path-1_2.db", "/plain/path-1_2.db", id="plain"),
        pytest.param("/größe", "/größe", id="letters-of-other-languages"),
        pytest.param("/a b", '"/a b"', id="space"),
        pytest.param("/100%", "/100%%", id="specifier"),
        pytest.param("/$HOME", '"/$$HOME"', id="variable"),
        pytest.param('/"', '"/\\""', id="quotation-mark"),
        pytest.param("/a\\nb", '"/a\\\\nb"', id="backslash"),
        pytest.param("/it's;#", '"/it\'s;#"', id="other-signs"),
        pytest.param("", '""', id="nothing"),
    ],
)
def test_words_stand_for_themselves(word: str, written: str) -> None:
    assert values(command=("/opt/python", word))["ExecStart"] == f"/opt/python {written}"


def test_only_a_command_knows_variables() -> None:
    unit = values(writable=(HOME / "$x",), environment={"GRADER_CONFIG": "/$x"})
    assert unit["ReadWritePaths"] == '"/home/somebody/$x"'
    assert unit["Environment"] == '"GRADER_CONFIG=/$x"'


@pytest.mark.parametrize("name", ["a\nExecStartPre=/bin/evil", "a\x1b[2J", "a\udcff"])
def test_a_path_cannot_add_lines(name: str) -> None:
    with pytest.raises(ConfigurationError, match="unprintable") as caught:
        values(writable=(HOME / name,))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("path", ["/dev/shm/sessions", "/proc/1/root", "/sys"])
def test_folders_that_no_service_has_are_refused(path: str) -> None:
    with pytest.raises(ConfigurationError, match="/proc"):
        values(needed=(Path(path),))


def test_a_webhook_opens_the_network_and_says_why() -> None:
    lacks, has = changes(network=("alert_webhook_url",))
    assert {"PrivateNetwork=yes", "RestrictAddressFamilies=AF_UNIX", "TemporaryFileSystem=/run:ro %h:ro"} <= lacks
    assert not any("None." in line for line in has)
    assert {
        "# For `alert_webhook_url`.",
        "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6",
        "TemporaryFileSystem=%t:ro %h:ro",
    } <= has


def test_each_setting_that_needs_it_is_named() -> None:
    _, has = changes(network=("alert_webhook_url", "quality_judge_url"))
    assert "# For `alert_webhook_url` and `quality_judge_url`." in has
    _, has = changes(programs=("quality_command",))
    assert "# Programs of `quality_command` run in this sandbox too: what only few can do without is left open." in has


def test_a_command_opens_more_and_writes_nothing() -> None:
    unit = values(programs=("alert_command",), network=("alert_webhook_url",))
    assert {"PrivateNetwork", "TemporaryFileSystem", "BindReadOnlyPaths", "MemoryDenyWriteExecute"}.isdisjoint(unit)
    assert unit["SystemCallFilter"] == "@system-service"
    assert {name: unit[name] for name in ("ProtectSystem", "ProtectHome", "NoNewPrivileges", "PrivateUsers")} == {
        "ProtectSystem": "strict",
        "ProtectHome": "read-only",
        "NoNewPrivileges": "yes",
        "PrivateUsers": "yes",
    }


@pytest.mark.parametrize("path", ["/tmp/sessions", "/tmp", "/var/tmp/venv/bin/python"])
def test_temporary_files_are_seen_when_one_is_needed(path: str) -> None:
    unit = values(needed=(Path(path),))
    assert "PrivateTmp" not in unit
    assert unit["NoExecPaths"] == "/home/somebody/.timmy/uniwizard"
    assert unit["Environment"] == "TMPDIR=/home/somebody/.timmy/uniwizard"


def test_a_name_that_only_begins_alike_needs_nothing() -> None:
    assert values(needed=(Path("/tmpfiles/sessions"), Path("/running")))["PrivateTmp"] == "yes"


@pytest.mark.parametrize(
    ("path", "hidden"),
    [
        pytest.param("/run/media/disk/sessions", "%t:ro %h:ro", id="a-disk-of-the-user"),
        pytest.param("/run/user/1000/sessions", "%h:ro", id="the-user's-own-folder"),
    ],
)
def test_what_is_needed_below_run_is_seen(path: str, hidden: str | None) -> None:
    assert values(needed=(Path(path),)).get("TemporaryFileSystem") == hidden


def test_of_the_home_only_what_is_needed_is_seen() -> None:
    unit = values(needed=(HOME / "b b", HOME / "a/100%", HOME / "a", HOME / "a/inner", Path("/srv/sessions")))
    assert unit["TemporaryFileSystem"] == "/run:ro %h:ro"
    assert unit["BindReadOnlyPaths"] == '%t/systemd/notify -/home/somebody/a "-/home/somebody/b b"'
    assert words_of(unit["BindReadOnlyPaths"])[1:] == ["-/home/somebody/a", "-/home/somebody/b b"]
    assert unit["BindPaths"] == "/home/somebody/.timmy/uniwizard"


@pytest.mark.parametrize(
    "needs",
    [
        pytest.param({"awaited": True}, id="a-folder-that-is-not-there-yet"),
        pytest.param({"programs": ("alert_command",)}, id="a-program-of-which-nothing-is-known"),
        pytest.param({"needed": (HOME,)}, id="all-of-it-is-needed"),
        pytest.param({"writable": (HOME,)}, id="the-database-lies-in-it"),
    ],
)
def test_the_home_stays_readable_where_not_all_is_known_that_is_needed(needs: dict[str, object]) -> None:
    unit = values(**needs)
    assert "%h:ro" not in unit.get("TemporaryFileSystem", "").split()
    assert unit.get("BindReadOnlyPaths", "%t/systemd/notify") == "%t/systemd/notify"
    assert "BindPaths" not in unit
    assert unit["ProtectHome"] == "read-only"


def test_programs_can_be_executed_beside_a_database() -> None:
    unit = values(writable=(HOME,), needed=(HOME / "venv/bin/python",))
    assert unit["NoExecPaths"] == "/tmp /var/tmp"


@pytest.mark.parametrize(
    ("max_file_bytes", "high", "most"),
    [(1024, "1024M", "1280M"), (256 << 20, "1024M", "1280M"), (1 << 30, "3712M", "4640M")],
)
def test_memory_grows_with_the_largest_file(max_file_bytes: int, high: str, most: str) -> None:
    unit = values(max_file_bytes=max_file_bytes)
    assert (unit["MemoryHigh"], unit["MemoryMax"]) == (high, most)


FITTED = fitted_unit(DAEMON, FIT, version="1.2.3")


@pytest.mark.parametrize(
    ("unit", "edited"),
    [
        pytest.param(FITTED, False, id="as-written"),
        pytest.param(fitted_unit(DAEMON, FIT, version="0.9"), False, id="by-another-version"),
        pytest.param(f"{FITTED}Environment=A=1\n", True, id="a-line-more"),
        pytest.param(FITTED.replace("PrivateTmp=yes", "PrivateTmp=no"), True, id="another-value"),
        pytest.param(FITTED.replace("PrivateTmp=yes\n", ""), True, id="a-line-less"),
        pytest.param(shipped_unit(DAEMON), True, id="a-unit-that-was-put-there-by-hand"),
        pytest.param(re.sub("\n.*Sum of.*", "", FITTED), False, id="of-a-version-that-left-no-sum"),
        pytest.param("", True, id="empty"),
    ],
)
def test_a_unit_that_somebody_edited_is_known(unit: str, edited: bool) -> None:
    assert is_edited(DAEMON, unit) is edited


def test_it_is_said_what_somebody_edited() -> None:
    edited = FITTED.replace("PrivateTmp=yes", "PrivateTmp=no") + "# mine\nEnvironment=A=1\n"

    assert edits(edited, FITTED) == ["-PrivateTmp=yes", "+PrivateTmp=no", "+Environment=A=1"]
