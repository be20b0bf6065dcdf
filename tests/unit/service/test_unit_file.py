from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from grader_daemon.dashboard.systemd_unit import PAGE
from grader_daemon.errors import ConfigurationError
from grader_daemon.fleet.systemd_unit import PUSHER, SERVER
from grader_daemon.service import UNITS, named
from grader_daemon.service.daemon_unit import DAEMON
from grader_daemon.service.unit_file import (
    TEMPORARY,
    directives,
    edits,
    fitted_files,
    is_edited,
    shipped,
    shows,
    still_fits,
)
from grader_daemon.service.unit_value import Fit, Unit

HOME = Path("/home/somebody")
FIT = Fit(
    command=("/opt/python", "-m", "grader_daemon", "run"),
    environment={},
    needed=(HOME / ".timmy", Path("/opt/python")),
    writable=(HOME / ".timmy/uniwizard",),
    home=HOME,
    runtime=Path("/run/user/1000"),
    max_file_bytes=256 << 20,
)


def fitted_unit(unit: Unit, fit: Fit, *, version: str = "1.2.3") -> str:
    """Give the file of a fitted unit that says what runs."""
    return fitted_files(unit, fit, version=version)[unit.service]


def changes(**needs: object) -> tuple[set[str], set[str]]:
    """Give the lines that a fitted unit lacks and has beside those of the shipped one."""
    bare = shipped(DAEMON.service).splitlines()
    fitted = fitted_unit(DAEMON, replace(FIT, **needs)).splitlines()  # type: ignore[arg-type]
    return set(bare) - set(fitted), set(fitted) - set(bare)


def values(**needs: object) -> dict[str, str]:
    """Give the directives of a fitted unit."""
    return directives(fitted_unit(DAEMON, replace(FIT, **needs)))  # type: ignore[arg-type]


def test_units_of_the_table_are_those_of_the_repository() -> None:
    root = Path(__file__).parents[3]
    files = [file for name in UNITS for file in named(name).files]

    assert {file.name for file in (root / "systemd").iterdir()} == set(files)
    for file in files:
        assert (root / "grader_daemon/service" / file).samefile(root / "systemd" / file)
        assert shipped(file) == (root / "systemd" / file).read_text()


def _sandbox(unit: Unit) -> set[str]:
    """Return the directives of a unit from its files on; one line each."""
    _, _, rest = shipped(unit.service).partition("# -- Files")
    return {line for line in rest.partition("[Install]")[0].splitlines() if re.match(r"\w+=", line)}


def test_the_page_is_as_restricted_as_the_daemon_but_sees_home_and_temporary_files() -> None:
    daemon, page = _sandbox(DAEMON), _sandbox(PAGE)

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
    hidden = {word for line in _sandbox(PAGE) if line.startswith("InaccessiblePaths=") for word in line[18:].split()}

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

    fitted = directives(fitted_unit(PAGE, fit))

    assert fitted["ExecStart"] == "/opt/python -m grader_daemon dashboard"
    assert fitted["ReadWritePaths"] == "/home/somebody/.timmy/uniwizard"
    assert fitted["PrivateNetwork"] == "yes"
    assert fitted["TemporaryFileSystem"] == "/run:ro"
    assert fitted["BindReadOnlyPaths"] == "-/run/log/journal"
    assert fitted["NoExecPaths"] == "/home/somebody/.timmy/uniwizard"
    assert not {"PrivateTmp", "BindPaths"} & fitted.keys()
    assert not is_edited(fitted_unit(PAGE, fit))


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


def test_what_serves_a_fleet_is_as_restricted_as_what_sends_to_one_but_for_its_copy() -> None:
    pusher, server = _sandbox(PUSHER), _sandbox(SERVER)

    assert {line.partition("=")[0] for line in pusher - server} == {"BindPaths", "ReadWritePaths", "NoExecPaths"}
    own = "%h/.timmy/uniwizard %h/.cache/grader-daemon"
    assert server - pusher == {f"BindPaths={own}", f"ReadWritePaths={own}", f"NoExecPaths={own} /tmp /var/tmp"}


def test_what_sends_to_the_fleet_is_fitted_like_the_daemon() -> None:
    """It says nothing to systemd, so it needs no socket of the session; no session that it reads takes memory."""
    fit = replace(FIT, needed=(HOME / ".pgpass",), network=("fleet_url",), max_file_bytes=0)

    unit = fitted_unit(PUSHER, fit)

    fitted = directives(unit)
    assert fitted["BindReadOnlyPaths"] == "-/home/somebody/.pgpass"
    assert fitted["TemporaryFileSystem"] == "%t:ro %h:ro"
    assert (fitted["MemoryHigh"], fitted["RestrictAddressFamilies"]) == ("384M", "AF_UNIX AF_INET AF_INET6")
    assert "# For `fleet_url`.\n" in unit
    assert "ready and alive" not in unit


@pytest.mark.parametrize("place", ["127.0.0.1:80", "[::1]:80"])
def test_the_socket_of_the_page_listens_at_its_address(place: str) -> None:
    unit, socket = fitted_files(PAGE, replace(FIT, address=place), version="1.2.3").values()

    assert directives(socket)["ListenStream"] == place
    assert "ListenStream" not in directives(unit)
    assert socket.startswith("# Written by `grader-daemon dashboard install`, version 1.2.3.")
    assert not is_edited(socket)
    assert is_edited(socket.replace(":80", ":81"))


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
    assert "# Programs of `quality_command` run in this sandbox too, so rarely needed system calls are allowed." in has


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


FITTED = fitted_unit(DAEMON, FIT)


@pytest.mark.parametrize(
    ("unit", "edited"),
    [
        pytest.param(FITTED, False, id="as-written"),
        pytest.param(fitted_unit(DAEMON, FIT, version="0.9"), False, id="by-another-version"),
        pytest.param(f"{FITTED}Environment=A=1\n", True, id="a-line-more"),
        pytest.param(FITTED.replace("PrivateTmp=yes", "PrivateTmp=no"), True, id="another-value"),
        pytest.param(FITTED.replace("PrivateTmp=yes\n", ""), True, id="a-line-less"),
        pytest.param(shipped(DAEMON.service), True, id="a-unit-that-was-put-there-by-hand"),
        pytest.param(re.sub("\n.*Sum of.*", "", FITTED), False, id="of-a-version-that-left-no-sum"),
        pytest.param("", True, id="empty"),
    ],
)
def test_a_unit_that_somebody_edited_is_known(unit: str, edited: bool) -> None:
    assert is_edited(unit) is edited


def test_it_is_said_what_somebody_edited() -> None:
    edited = FITTED.replace("PrivateTmp=yes", "PrivateTmp=no") + "# mine\nEnvironment=A=1\n"

    assert edits(edited, FITTED) == ["-PrivateTmp=yes", "+PrivateTmp=no", "+Environment=A=1"]


@pytest.mark.parametrize(
    ("needs", "fits"),
    [
        pytest.param({}, True, id="as-written"),
        pytest.param({"needed": (HOME / ".timmy/hermes", Path("/srv/x"))}, True, id="less-in-the-home"),
        pytest.param({"needed": (HOME / ".claude",)}, False, id="a-folder-that-is-hidden"),
        pytest.param({"writable": (HOME / "elsewhere",)}, False, id="a-folder-that-cannot-be-written"),
        pytest.param({"network": ("alert_webhook_url",)}, False, id="a-network"),
        pytest.param({"programs": ("alert_command",)}, False, id="a-program"),
        pytest.param({"max_file_bytes": 1 << 30}, False, id="more-memory"),
        pytest.param({"max_file_bytes": 1}, True, id="less-memory"),
    ],
)
def test_a_unit_fits_as_long_as_it_leaves_open_what_is_needed(needs: dict[str, object], fits: bool) -> None:
    now = replace(FIT, **needs)  # type: ignore[arg-type]

    assert still_fits(FITTED, now, version="1.2.3") is fits
    assert still_fits(fitted_unit(DAEMON, now), now, version="1.2.3")


def test_a_unit_of_another_version_does_not_fit_and_one_that_was_put_there_by_hand_has_none() -> None:
    by_hand = FITTED.partition("\n#\n")[2]

    assert not still_fits(FITTED, FIT, version="1.2.4")
    assert still_fits(by_hand, FIT, version="1.2.4")


def test_limits_of_memory_that_a_person_set_are_theirs() -> None:
    for limit in ("infinity", "2G", "50%"):
        mine = FITTED.replace("MemoryHigh=1024M", f"MemoryHigh={limit}")
        assert still_fits(mine, replace(FIT, max_file_bytes=1 << 30), version="1.2.3"), limit


def test_a_socket_fits_at_its_address() -> None:
    _, socket = fitted_files(PAGE, replace(FIT, address="127.0.0.1:80"), version="1.2.3").values()

    for address, fits in (("127.0.0.1:80", True), ("127.0.0.1:81", False)):
        assert still_fits(socket, replace(FIT, address=address), version="1.2.3") is fits


def test_what_a_unit_shows_is_read_as_it_was_written() -> None:
    odd = (HOME / "a b", HOME / "100%", HOME / "100%%h", HOME / 'it\'s "$x"')
    unit = fitted_unit(DAEMON, replace(FIT, needed=odd))

    assert shows(unit, [path / "inner" for path in odd], home=HOME)
    assert not shows(unit, [HOME / "a"], home=HOME)
