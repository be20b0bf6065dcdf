from __future__ import annotations

import hashlib
import hmac
import json
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic

import pytest

from grader_daemon.errors import DeliveryError
from grader_daemon.integrations import run_program
from grader_daemon.integrations.receivers import Command, Webhook, sign
from tests.programs import WITH_A_CHILD, begin_time_when, is_running
from tests.strategies import NOW
from tests.waiting import PATIENCE_SECONDS, wait_until

SECRET = "correct horse battery staple"
PAYLOAD = json.dumps({"schema_version": 1, "text": "Größe; $(touch /tmp/x) `x` \" '"}, ensure_ascii=False)
FINE = b"HTTP/1.1 204 No Content\r\n\r\n"
Behaviour = Callable[[socket.socket], None]


class Call:
    """One request as it came over the wire."""

    def __init__(self, raw: bytes) -> None:
        head, _, self.body = raw.partition(b"\r\n\r\n")
        self.line, *fields = head.decode("latin-1").split("\r\n")
        self.headers = {name.lower(): value for name, _, value in (field.partition(": ") for field in fields)}


class Peer:
    """A server on a free port that takes one request after the other and then behaves as it is told."""

    def __init__(self, behave: Behaviour) -> None:
        self.calls: list[Call] = []
        self.leaving = threading.Event()
        self._behave = behave
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listening.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def close(self) -> None:
        self.leaving.set()
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join(PATIENCE_SECONDS)
        assert not self._thread.is_alive()

    def _serve(self) -> None:
        while not self.leaving.is_set():
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            with connection, suppress(OSError):
                connection.settimeout(PATIENCE_SECONDS)
                self.calls.append(Call(_request(connection)))
                self._behave(connection)


def _request(connection: socket.socket) -> bytes:
    raw = b""
    while b"\r\n\r\n" not in raw:
        part = connection.recv(65536)
        if not part:
            return raw
        raw += part
    head, _, body = raw.partition(b"\r\n\r\n")
    length = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
    while len(body) < length:
        part = connection.recv(65536)
        if not part:
            break
        body += part
    return head + b"\r\n\r\n" + body


Listen = Callable[..., Peer]


@pytest.fixture
def listen() -> Iterator[Listen]:
    peers: list[Peer] = []

    def start(answer: bytes | Behaviour = FINE) -> Peer:
        behave = answer if callable(answer) else lambda connection: connection.sendall(answer)
        peers.append(Peer(behave))
        return peers[-1]

    yield start
    for peer in peers:
        peer.close()


def webhook(
    peer: Peer, path: str = "/hook", *, secret: str | None = SECRET, timeout: float = PATIENCE_SECONDS
) -> Webhook:
    return Webhook(f"http://{peer.address}{path}", secret=secret, timeout_seconds=timeout)


def send(receiver: Webhook | Command, *, delivery: int = 7, payload: str = PAYLOAD) -> None:
    receiver.send(payload, delivery=delivery, now=NOW)


# -- webhook: what arrives -----------------------------------------------------------------------------------------


def test_the_document_is_posted_as_it_is(listen: Listen) -> None:
    peer = listen()
    send(webhook(peer, "/a/b?c=d&e=%20"))
    (call,) = peer.calls
    assert call.line == "POST /a/b?c=d&e=%20 HTTP/1.1"
    assert call.body == PAYLOAD.encode()
    assert {
        name: call.headers[name]
        for name in ("host", "content-type", "user-agent", "x-grader-delivery", "x-grader-timestamp")
    } == {
        "host": peer.address,
        "content-type": "application/json",
        "user-agent": "grader-daemon",
        "x-grader-delivery": "7",
        "x-grader-timestamp": str(int(NOW.timestamp())),
    }


@pytest.mark.parametrize(("path", "target"), [("", "/"), ("?a=b", "/?a=b"), ("/x#part", "/x")])
def test_a_url_may_lack_a_path(listen: Listen, path: str, target: str) -> None:
    peer = listen()
    send(webhook(peer, path))
    assert peer.calls[0].line == f"POST {target} HTTP/1.1"


@pytest.mark.parametrize("secret", [SECRET, "schlüssel mit Größe"])
def test_a_receiver_can_verify_the_signature(listen: Listen, secret: str) -> None:
    peer = listen()
    send(webhook(peer, secret=secret))
    call = peer.calls[0]
    signed = call.headers["x-grader-timestamp"].encode() + b"." + call.body
    expected = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    assert call.headers["x-grader-signature"] == f"sha256={expected}"


def test_a_signature_is_that_of_rfc_4231() -> None:
    """Test case 2: the key "Jefe" and "what do ya want for nothing?", which has no full stop in front."""
    expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    assert hmac.new(b"Jefe", b"what do ya want for nothing?", hashlib.sha256).hexdigest() == expected
    assert sign(b" do ya want for nothing?", "what", "Jefe") == "sha256=" + (
        hmac.new(b"Jefe", b"what. do ya want for nothing?", hashlib.sha256).hexdigest()
    )


def test_without_a_secret_there_is_no_signature(listen: Listen) -> None:
    peer = listen()
    send(webhook(peer, secret=None))
    assert "x-grader-signature" not in peer.calls[0].headers


def test_the_same_delivery_is_sent_with_the_same_number(listen: Listen) -> None:
    peer = listen()
    receiver = webhook(peer)
    send(receiver, delivery=12)
    send(receiver, delivery=12)
    assert [call.headers["x-grader-delivery"] for call in peer.calls] == ["12", "12"]


def test_a_proxy_of_the_environment_sees_nothing(listen: Listen, monkeypatch: pytest.MonkeyPatch) -> None:
    peer, proxy = listen(), listen()
    monkeypatch.setenv("http_proxy", f"http://{proxy.address}")
    send(webhook(peer))
    assert (len(peer.calls), proxy.calls) == (1, [])


# -- webhook: what is taken as an answer ---------------------------------------------------------------------------


def answer(status: int, *fields: str) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status} Whatever", *fields, "Content-Length: 0", "", ""]).encode()


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_any_success_is_one(listen: Listen, status: int) -> None:
    send(webhook(listen(answer(status))))


@pytest.mark.parametrize("status", [300, 304, 400, 401, 404, 410, 429, 500, 503, 599])
def test_anything_else_is_none(listen: Listen, status: int) -> None:
    with pytest.raises(DeliveryError, match=rf"webhook: .*{status}"):
        send(webhook(listen(answer(status))))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(listen: Listen, status: int) -> None:
    elsewhere = listen()
    peer = listen(answer(status, f"Location: http://{elsewhere.address}/"))
    with pytest.raises(DeliveryError, match=str(status)):
        send(webhook(peer))
    assert elsewhere.calls == []


@pytest.mark.parametrize(
    "garbage",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\r\n\r\n", id="empty-lines"),
        pytest.param(b"SSH-2.0-OpenSSH_9.2\r\n", id="another-protocol"),
        pytest.param(b"HTTP/1.1 OK\r\n\r\n", id="no-status"),
        pytest.param(b"HTTP/1.1 20\r\n\r\n", id="short-status"),
        pytest.param(b"HTTP/1.1 2000 OK\r\n\r\n", id="long-status"),
        pytest.param(b"HTTP/1.1 -200 OK\r\n\r\n", id="negative-status"),
        pytest.param(b"HTTP/9.9 200 OK\r\n\r\n", id="another-version"),
        pytest.param(b"\xff\xfe\x00" * 100, id="bytes"),
        pytest.param(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 500 + b"\r\n", id="too-many-headers"),
        pytest.param(b"HTTP/1.1 200 " + b"x" * 100_000, id="endless-line"),
        pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n" * 50, id="nothing-but-promises"),
    ],
)
def test_garbage_is_no_success(listen: Listen, garbage: bytes) -> None:
    with pytest.raises(DeliveryError, match=r"^webhook: ") as caught:
        send(webhook(listen(garbage)))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_body_of_any_length_is_left_unread(listen: Listen) -> None:
    send(webhook(listen(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\nabc")))


def test_a_connection_that_is_reset_is_no_success(listen: Listen) -> None:
    def reset(connection: socket.socket) -> None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    with pytest.raises(DeliveryError, match=r"^webhook: "):
        send(webhook(listen(reset)))


def test_nobody_listening_is_no_success() -> None:
    with socket.socket() as bound:  # so that nobody else listens there meanwhile
        bound.bind(("127.0.0.1", 0))
        with pytest.raises(DeliveryError, match="refused"):
            send(Webhook(f"http://127.0.0.1:{bound.getsockname()[1]}/", secret=None, timeout_seconds=PATIENCE_SECONDS))


def test_a_server_without_tls_is_not_told_over_https(listen: Listen) -> None:
    peer = listen()
    with pytest.raises(DeliveryError, match=r"^webhook: "):
        send(Webhook(f"https://{peer.address}/", secret=SECRET, timeout_seconds=0.3))
    assert not any(call.body for call in peer.calls)


@pytest.mark.parametrize(
    ("url", "address"),
    [
        pytest.param("http://example.invalid/x", ("example.invalid", 80), id="http"),
        pytest.param("https://example.invalid/x", ("example.invalid", 443), id="https"),
        pytest.param("http://example.invalid:8080", ("example.invalid", 8080), id="port"),
        pytest.param("http://[::1]:8080/x", ("::1", 8080), id="ipv6-with-a-port"),
        pytest.param("http://[::1]/x", ("::1", 80), id="ipv6"),
        pytest.param("https://[2001:db8::7]/x", ("2001:db8::7", 443), id="ipv6-over-https"),
    ],
)
def test_the_url_says_where_it_goes(url: str, address: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, int]] = []

    def connect(where: tuple[str, int], *_: object) -> socket.socket:
        asked.append(where)
        raise OSError("no way")

    monkeypatch.setattr(socket, "create_connection", connect)
    with pytest.raises(DeliveryError, match="no way"):
        send(Webhook(url, secret=None, timeout_seconds=1))
    assert asked == [address]


def test_an_error_tells_nothing_of_the_secret_or_the_document(listen: Listen) -> None:
    with pytest.raises(DeliveryError) as caught:
        send(webhook(listen(answer(500))))
    assert SECRET not in str(caught.value)
    assert "Größe" not in str(caught.value)


# -- webhook: time -------------------------------------------------------------------------------------------------


def dribbling(line: bytes, part: bytes) -> Behaviour:
    """Send `line`, then `part` until the other side hangs up, so often that no single read times out."""

    def behave(connection: socket.socket) -> None:
        connection.sendall(line)
        pause = threading.Event()
        while True:
            connection.sendall(part)
            pause.wait(0.05)

    return behave


def silent(connection: socket.socket) -> None:
    """Wait until the other side hangs up."""
    connection.recv(1)


@pytest.mark.parametrize(
    "behave",
    [
        pytest.param(silent, id="silent"),
        pytest.param(dribbling(b"HTTP/1.1 2", b"0"), id="dribbles-the-status"),
        pytest.param(dribbling(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), id="promises-for-ever"),
    ],
)
def test_a_slow_receiver_is_given_up_when_the_time_is_up(listen: Listen, behave: Behaviour) -> None:
    began = monotonic()
    with pytest.raises(DeliveryError, match=r"within 0\.3 s"):
        send(webhook(listen(behave), timeout=0.3))
    assert monotonic() - began > 0.2


def test_headers_that_never_end_are_given_up_too(listen: Listen) -> None:
    with suppress(DeliveryError):  # it did say 200
        send(webhook(listen(dribbling(b"HTTP/1.1 200 OK\r\nX: ", b"x")), timeout=0.3))


def test_a_receiver_may_take_its_time(listen: Listen) -> None:
    def behave(connection: socket.socket) -> None:
        threading.Event().wait(0.2)
        connection.sendall(FINE)

    send(webhook(listen(behave)))


def test_a_call_leaves_no_thread_behind(listen: Listen) -> None:
    peer = listen()
    before = set(threading.enumerate())
    send(webhook(peer, timeout=10 * PATIENCE_SECONDS))
    for thread in set(threading.enumerate()) - before:
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive()


# -- command -------------------------------------------------------------------------------------------------------


def program(source: str, *arguments: str, timeout: float = PATIENCE_SECONDS) -> Command:
    """A small program of Python, with its arguments."""
    return Command([sys.executable, "-S", "-c", source, *arguments], timeout_seconds=timeout)


def test_the_program_reads_the_document(tmp_path: Path) -> None:
    out = tmp_path / "out"
    send(program("import sys; open(sys.argv[1], 'wb').write(sys.stdin.buffer.read())", str(out)))
    assert out.read_bytes() == PAYLOAD.encode()


def test_a_long_document_arrives_whole(tmp_path: Path) -> None:
    out, payload = tmp_path / "out", "x" * 3_000_000
    send(program("import sys; open(sys.argv[1], 'wb').write(sys.stdin.buffer.read())", str(out)), payload=payload)
    assert out.stat().st_size == len(payload)


def test_arguments_are_given_as_they_are_without_a_shell(tmp_path: Path) -> None:
    given = ("$HOME", "*", "a b", "; touch hacked", "$(touch hacked)", "", "Größe")
    out = tmp_path / "out"
    send(program("import sys, json; json.dump(sys.argv[2:], open(sys.argv[1], 'w'))", str(out), *given))
    assert tuple(json.loads(out.read_text())) == given
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_the_delivery_is_in_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OF_THE_DAEMON", "kept")
    out = tmp_path / "out"
    source = "import os, sys; open(sys.argv[1], 'w').write(os.environ['GRADER_DELIVERY'] + os.environ['OF_THE_DAEMON'])"
    send(program(source, str(out)), delivery=31)
    assert out.read_text() == "31kept"


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("pass", id="reads-nothing"),
        pytest.param("import sys; sys.stdin.close()", id="closes-its-input"),
        pytest.param("import sys; sys.stdin.read(10)", id="reads-a-part"),
        pytest.param("print('x' * 1_000_000)", id="prints-much"),
    ],
)
def test_what_the_program_does_with_it_is_its_own_business(source: str) -> None:
    send(program(source), payload="x" * 1_000_000)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        pytest.param("raise SystemExit(3)", "exit code 3", id="exit-code"),
        pytest.param("raise KeyError", "exit code 1", id="crash"),
        pytest.param("import os; os.kill(os.getpid(), 9)", "-9|signal", id="killed"),
    ],
)
def test_a_program_that_fails_was_not_told(source: str, words: str) -> None:
    with pytest.raises(DeliveryError, match=words):
        send(program(source))


def test_a_program_that_cannot_be_started_was_not_told(tmp_path: Path) -> None:
    plain, broken = tmp_path / "plain", tmp_path / "broken"
    plain.write_text("")
    broken.write_bytes(b"\x7fELF")
    broken.chmod(0o755)
    for arguments in (["/nowhere/x"], ["no-such-program-anywhere"], [str(plain)], [str(broken)], [str(tmp_path)]):
        with pytest.raises(DeliveryError, match=f"command {arguments[0]}: ") as caught:
            send(Command(arguments, timeout_seconds=5))
        assert "\n" not in str(caught.value)
    with pytest.raises(DeliveryError):
        send(Command(["echo", "a\0b"], timeout_seconds=5))


def test_a_program_that_takes_too_long_is_ended_with_all_that_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "pids"
    begin_time_when(monkeypatch, out.exists)
    with pytest.raises(DeliveryError, match=r"0\.2 s"):
        send(program(f"{WITH_A_CHILD}time.sleep(600)", str(out), timeout=0.2))
    pids = [int(pid) for pid in out.read_text().split()]
    assert len(pids) == 2
    wait_until(lambda: not any(map(is_running, pids)), "both to end")


def test_a_program_that_does_not_read_a_long_document_is_ended_too() -> None:
    with pytest.raises(DeliveryError, match=r"0\.5 s"):
        send(program("import time; time.sleep(600)", timeout=0.5), payload="x" * 3_000_000)


def test_a_program_that_may_not_be_ended_is_told_of_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = tmp_path / "tried"

    def refuse(*_: object) -> None:
        tried.touch()
        raise PermissionError("it runs as somebody else")

    monkeypatch.setattr(os, "killpg", refuse)
    monkeypatch.setattr(run_program, "_ENDING_SECONDS", PATIENCE_SECONDS)
    ends_by_itself = "import os, sys, time\nwhile not os.path.exists(sys.argv[1]): time.sleep(0.01)"
    with pytest.raises(DeliveryError, match=r"0\.2 s"):
        send(program(ends_by_itself, str(tried), timeout=0.2))


def test_what_a_program_leaves_running_keeps_nobody_waiting(tmp_path: Path) -> None:
    out = tmp_path / "pid"
    source = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(600)'])\n"
        "open(sys.argv[1], 'w').write(str(child.pid))"
    )
    send(program(source, str(out)))
    pid = int(out.read_text())
    assert is_running(pid)
    os.kill(pid, 9)
