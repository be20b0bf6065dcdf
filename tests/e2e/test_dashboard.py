"""The door of the page as other programs meet it: a real process, asked by bytes and by https."""

from __future__ import annotations

import re
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from tests.e2e.daemon_process import environment, run_command
from tests.needs import require_programs
from tests.waiting import wait_until

_TOKEN = "a-token-of-ones-own-that-nobody-can-guess"


@contextmanager
def _served(home: Path, **settings: object) -> Iterator[tuple[str, int]]:
    """Serve a page; yield the address that it prints, and its port."""
    command = [sys.executable, "-m", "grader_daemon", "dashboard", "--port", "0"]
    with subprocess.Popen(command, env=environment(home, settings), stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().removeprefix("Open ").strip()
            port = re.search(r":(\d+)/\?token=", address)
            assert port is not None, address
            yield address, int(port[1])
        finally:
            process.terminate()
            process.wait(30)


def _ask(port: int, request: str, context: ssl.SSLContext | None = None) -> str:
    """Return the head of what a request is answered with."""
    with ExitStack() as stack:
        connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), 30))
        if context is not None:
            connection = stack.enter_context(context.wrap_socket(connection, server_hostname="127.0.0.1"))
        connection.sendall(request.replace("\n", "\r\n").encode())
        answer = b""
        while b"\r\n\r\n" not in answer and (more := connection.recv(65_536)):
            answer += more
    return answer.decode()


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a page that answers on this machine."""
    with _served(tmp_path_factory.mktemp("home"), dashboard_token=_TOKEN) as (_, found):
        yield found


@pytest.mark.parametrize(
    ("request_of", "status"),
    [
        pytest.param("GET / HTTP/1.1\nHost: {here}\nAuthorization: Bearer {token}\n\n", 200, id="a-program"),
        pytest.param("GET / HTTP/1.1\nHost: {here}\n\n", 401, id="a-stranger"),
        pytest.param("GET / HTTP/1.1\nHost: elsewhere.example\nAuthorization: Bearer {token}\n\n", 421, id="a-name"),
        pytest.param("GET / HTTP/1.1\nAuthorization: Bearer {token}\n\n", 400, id="no-name"),
        pytest.param("GET / HTTP/1.1\nHost: {here}\nHost: a\nAuthorization: Bearer {token}\n\n", 400, id="two-names"),
        pytest.param("GET / HTTP/1.1\nHost: {here}\nA: {long}\n\n", 431, id="a-long-header"),
        pytest.param("GET /{long} HTTP/1.1\nHost: {here}\n\n", 431, id="a-long-address"),
        pytest.param("\x16\x03\x01 no request\n\n", 400, id="no-request"),
        pytest.param("PUT / HTTP/1.1\nHost: {here}\nAuthorization: Bearer {token}\n\n", 405, id="another-method"),
        pytest.param("GET /../../etc/passwd HTTP/1.1\nHost: {here}\nAuthorization: Bearer {token}\n\n", 404, id="up"),
        pytest.param("GET /static/..%2faccess.py HTTP/1.1\nHost: {here}\n\n", 404, id="out-of-a-folder"),
        pytest.param(
            "POST /theme HTTP/1.1\nHost: {here}\nAuthorization: Bearer {token}\nContent-Length: 0\n\n",
            403,
            id="no-form",
        ),
        pytest.param(
            "POST /theme HTTP/1.1\nHost: {here}\nAuthorization: Bearer {token}\nContent-Length: 70000\n\n{body}",
            413,
            id="a-large-form",
        ),
    ],
)
def test_door_answers(port: int, request_of: str, status: int) -> None:
    values = {"here": f"127.0.0.1:{port}", "token": _TOKEN, "long": "a" * 20_000, "body": "a" * 70_000}
    answer = _ask(port, request_of.format(**values))
    assert answer.startswith(f"HTTP/1.1 {status} ")
    assert "Traceback" not in answer


def test_more_connections_than_a_person_needs_are_refused_and_hinder_nobody_later(port: int) -> None:
    request = f"GET / HTTP/1.1\nHost: 127.0.0.1:{port}\nAuthorization: Bearer {_TOKEN}\nConnection: close\n\n"
    with ExitStack() as many:
        for _ in range(64):
            many.enter_context(socket.create_connection(("127.0.0.1", port), 30))
        assert _ask(port, request).startswith("HTTP/1.1 503 ")
    for _ in range(1000):
        if _ask(port, request).startswith("HTTP/1.1 200 "):
            return
    pytest.fail("still too many")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate of this machine that nobody has signed, and its key."""
    require_programs("openssl")
    folder = tmp_path_factory.mktemp("certificate")
    made, key = folder / "page.pem", folder / "page.key"
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc"]
    named = ["-subj", "/CN=page", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "3650"]
    command = ["openssl", "req", "-x509", *curve, *named, "-keyout", str(key), "-out", str(made)]
    subprocess.run(command, check=True, capture_output=True)
    return made, key


def test_page_with_a_certificate_answers_by_https_only(tmp_path: Path, certificate: tuple[Path, Path]) -> None:
    made, key = certificate
    tls = {"dashboard_certificate_file": str(made), "dashboard_key_file": str(key), "dashboard_token": _TOKEN}
    with _served(tmp_path, **tls) as (address, port):
        assert address == f"https://127.0.0.1:{port}/?token={_TOKEN}"
        request = f"GET /?token={_TOKEN} HTTP/1.1\nHost: 127.0.0.1:{port}\n\n"
        answer = _ask(port, request, ssl.create_default_context(cafile=str(made)))
        assert answer.startswith("HTTP/1.1 303 ")
        assert "; Secure" in answer
        with suppress(ConnectionResetError):
            assert _ask(port, request) == ""


def test_certificate_that_cannot_be_used_is_said_in_one_line(tmp_path: Path) -> None:
    for name in ("page.pem", "page.key"):
        (tmp_path / name).write_text("no certificate")
    certificate, key = (str(tmp_path / name) for name in ("page.pem", "page.key"))
    done = run_command(
        tmp_path, "dashboard", "--port", "0", dashboard_certificate_file=certificate, dashboard_key_file=key
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "dashboard_certificate_file" in done.stderr


def test_no_argument_of_a_browser_holds_the_token(tmp_path: Path) -> None:
    noted, browser = tmp_path / "noted", tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$@" > {noted}.part && mv {noted}.part {noted}\n')
    browser.chmod(0o700)
    command = [sys.executable, "-m", "grader_daemon", "dashboard", "--port", "0", "--open"]
    given = environment(tmp_path, {}) | {"BROWSER": f"{browser} %s &", "XDG_RUNTIME_DIR": str(tmp_path)}
    with subprocess.Popen(command, env=given, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().removeprefix("Open ").strip()
        wait_until(noted.exists, "the browser to be called")
        process.terminate()

    opened = Path(noted.read_text().strip().removeprefix("file://"))
    assert "token" not in noted.read_text()
    assert address in opened.read_text()
    assert opened.stat().st_mode & 0o777 == 0o600


def test_page_on_a_port_that_was_handed_over_tells_no_token(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        command = f"LISTEN_PID=$$ LISTEN_FDS=1 exec {sys.executable} -m grader_daemon dashboard 3<&0"
        with subprocess.Popen(
            ["sh", "-c", command],
            env=environment(tmp_path, {}),
            stdin=listening.fileno(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            assert process.stdout is not None
            first = process.stdout.readline()
            process.terminate()
            said = first + process.stdout.read()

    assert "dashboard status" in said
    assert "token=" not in said
