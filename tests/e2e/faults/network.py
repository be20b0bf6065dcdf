"""Networks that fail between a client and a server: somebody in between, and a network of its own that can be cut."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import threading
from contextlib import suppress
from enum import Enum, auto

from tests.needs import require, require_programs
from tests.postgres import LOOPBACK, Server

_CHUNK = 16_384
_RESET = struct.pack("ii", 1, 0)
"""SO_LINGER of no seconds: a close that the other side takes for a broken connection."""


class Cut(Enum):
    """How bytes end that were to go on."""

    RESET = auto()
    STALL = auto()


class Between:
    """Hands bytes on between clients and a server on loopback until it is told to cut. A context manager.

    What stalls goes on when it is healed, new connections too; what is reset can be made again at once.
    """

    def __init__(self, port: int) -> None:
        self._server = (LOOPBACK, port)
        self._listening = socket.create_server((LOOPBACK, 0))
        self.port = int(self._listening.getsockname()[1])
        self._lock = threading.Lock()
        # Guarded by the lock: what is open, how far it is to a cut, and which one.
        self._open: set[socket.socket] = set()
        self._until_cut: int | None = None
        self._cut: Cut | None = None
        self._passing = threading.Event()
        self._passing.set()
        self.is_cut = threading.Event()
        self._threads = [threading.Thread(target=self._accept, name="between")]
        self._threads[0].start()

    def __enter__(self) -> Between:
        return self

    def __exit__(self, *_: object) -> None:
        self.heal()
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self.reset()
        for thread in self._threads:
            thread.join()

    def cut_after(self, sent: int, how: Cut) -> None:
        """Cut when clients have sent so many bytes more."""
        with self._lock:
            self._until_cut, self._cut = sent, how

    def heal(self) -> None:
        """Let everything pass again."""
        with self._lock:
            self._until_cut = self._cut = None
        self._passing.set()

    def reset(self) -> None:
        """Break every connection that there is."""
        with self._lock:
            broken, self._open = self._open, set()
        for each in broken:
            with suppress(OSError):
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                each.shutdown(socket.SHUT_RD)  # wakes who waits for bytes of it
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):  # closed: the end
            while True:
                client, _ = self._listening.accept()
                self._hand_on(client)

    def _hand_on(self, client: socket.socket) -> None:
        server = socket.create_connection(self._server)
        with self._lock:
            self._open |= {client, server}
        for source, target in ((client, server), (server, client)):
            thread = threading.Thread(target=self._pump, args=(source, target, source is client), name="between")
            self._threads.append(thread)
            thread.start()

    def _pump(self, source: socket.socket, target: socket.socket, is_sent: bool) -> None:
        with suppress(OSError):  # one side is gone
            while part := source.recv(_CHUNK):
                if is_sent:
                    allowed = self._allowed(part)
                    target.sendall(part[:allowed])
                    part = part[allowed:]
                    if part:
                        self._make_cut()
                self._passing.wait()
                target.sendall(part)
        with suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def _allowed(self, part: bytes) -> int:
        with self._lock:
            if self._until_cut is None:
                return len(part)
            allowed = min(self._until_cut, len(part))
            self._until_cut -= allowed
            return allowed

    def _make_cut(self) -> None:
        with self._lock:
            how = self._cut
        if how is Cut.RESET:
            self.heal()
            self.reset()
        else:
            self._passing.clear()
        self.is_cut.set()


def require_right_to_networks() -> None:
    """Require what a network of its own takes."""
    require_programs("ip", "nsenter", "unshare")
    require(os.geteuid() == 0, "the right to networks of our own")


class OwnNetwork:
    """A network that only a server which runs `under` it has, and programs that are started `inside`."""

    under = ("unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")

    def __init__(self, server: Server) -> None:
        self.inside = ("nsenter", f"--net=/proc/{server.pid}/ns/net")

    def ip(self, *arguments: str) -> None:
        """Change it, as ip(8) is told."""
        subprocess.run([*self.inside, "ip", *arguments], check=True)

    def come_from(self, address: str) -> None:
        """From now on who connects to the server does so from this address, which is its own."""
        self.ip("route", "replace", "local", LOOPBACK, "dev", "lo", "table", "local", "src", address)

    def cut(self) -> None:
        """Lose every packet, without a word to anybody."""
        self.ip("link", "set", "lo", "down")

    def heal(self) -> None:
        """Lose none any more."""
        self.ip("link", "set", "lo", "up")
