"""The thread of the daemon that agents ask when they want to stop: a Unix socket beside the database.

Only programs of the same user are answered. What is read of them is bounded, in bytes and in time.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final

import structlog

from grader_daemon.bootstrap import make_sources, open_store, utc_now
from grader_daemon.domain.late_pattern import compile_late_patterns
from grader_daemon.errors import GraderError
from grader_daemon.hook.installation import LONGEST_PATH, Hooks, socket_of
from grader_daemon.integrations.files import OWNER_ONLY
from grader_daemon.rules import load_rules
from grader_daemon.system.open_files import in_few_bytes
from grader_daemon.system.running import is_of_this_user

if TYPE_CHECKING:
    from grader_daemon.hook.answering import Answering
    from grader_daemon.settings import Settings

_MOST_BYTES: Final = 2_097_152
_REQUEST_SECONDS: Final = 0.5
_LOOKS_EVERY_SECONDS: Final = 1.0
_WAITING: Final = 16


class HookListener:
    """Listens from `start` to `stop`. What it needs to answer is made when an agent first asks, or has a hook."""

    name = "hook"

    def __init__(self, settings: Settings, make: Callable[[], Answering]) -> None:
        """`make` is called in the thread that listens."""
        self._place = socket_of(settings.db_path)
        self._has_hooks = _has_hooks(settings)
        self._make = make
        self._answering: Answering | None = None
        self._stopping = threading.Event()
        self._log = structlog.get_logger()
        self._beat: Callable[[float], None] = lambda _: None
        self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)

    def start(self, beat: Callable[[float], None]) -> None:
        """Begin to listen; `beat` is called with the longest time in seconds until it is called again."""
        self._beat = beat
        self._thread.start()

    def stop(self, within_seconds: float) -> None:
        """Listen no more; what is being answered may take so long."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(within_seconds)

    def _run(self) -> None:
        try:
            with _listening(self._place) as listening:
                if self._has_hooks:
                    with self._unanswered():
                        self._prepared()
                while not self._stopping.is_set():
                    self._beat(_LOOKS_EVERY_SECONDS)
                    with suppress(TimeoutError):
                        self._serve(listening.accept()[0])
        except OSError as error:
            self._log.error("hook.silent", path=str(self._place), error=str(error))
        finally:
            if self._answering is not None:
                self._answering.close()

    def _serve(self, agent: socket.socket) -> None:
        with agent, self._unanswered():
            agent.settimeout(_REQUEST_SECONDS)
            if not is_of_this_user(agent):
                return
            answering = self._prepared()
            answer = answering.answer(_read(agent))
            answering.keep(answer, is_told=_hand_over(agent, answer.text))

    @contextmanager
    def _unanswered(self) -> Iterator[None]:
        """Log an error of one request: the next agent is answered."""
        try:
            yield
        except (OSError, GraderError) as error:
            self._log.warning("hook.unanswered", error=str(error))
        except Exception:  # noqa: BLE001  a bug of ours, told with its traceback
            self._log.exception("hook.crashed")

    def _prepared(self) -> Answering:
        if self._answering is None:
            self._answering = self._make()
        return self._answering


def listeners(settings: Settings) -> Iterator[HookListener]:
    """Yield what listens to agents that want to stop."""

    def make() -> Answering:
        from grader_daemon.hook.answering import Answering  # nobody without a hook needs it
        from grader_daemon.hook.stop_claims import StopReader

        reader = StopReader(make_sources(settings), load_rules(settings.rules_file))
        compile_late_patterns()  # 0.2 s, which the first agent that stops would wait for
        return Answering(reader, open_store(settings), utc_now)

    yield HookListener(settings, make)


def _has_hooks(settings: Settings) -> bool:
    with suppress(GraderError):
        return bool(Hooks(settings).installed())
    return True  # a note that cannot be read is one of a hook


def _listening(place: Path) -> socket.socket:
    """Listen at a path, in the place of a socket that a daemon left there that was killed.

    Raises:
        OSError: nobody can listen there.
    """
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        place.unlink(missing_ok=True)
        with in_few_bytes(place, most=LONGEST_PATH) as short:
            listening.bind(short)
        place.chmod(OWNER_ONLY)
        listening.listen(_WAITING)
        listening.settimeout(_LOOKS_EVERY_SECONDS)
    except OSError:
        listening.close()
        raise
    return listening


def _read(agent: socket.socket) -> bytes:
    """Read a request: a line that ends with the length of what follows it.

    Raises:
        OSError: it is none, or takes too long.
    """
    until, read = monotonic() + _REQUEST_SECONDS, b""
    while not _is_whole(read):
        part = agent.recv(65_536)
        if not part or len(read) > _MOST_BYTES or monotonic() > until:
            raise OSError("a request ends early, is too long, or takes too long")
        read += part
    return read


def _is_whole(read: bytes) -> bool:
    head, line_end, payload = read.partition(b"\n")
    size = head.rpartition(b" ")[2]
    return bool(line_end) and (not size.isdigit() or len(payload) >= int(size))


def _hand_over(agent: socket.socket, answer: bytes) -> bool:
    """Hand an answer over; return whether it came in time: who printed it sends a byte, who was gone by then none."""
    try:
        agent.sendall(answer)
        agent.shutdown(socket.SHUT_WR)
        return bool(answer and agent.recv(1))
    except OSError:
        return False
