"""The program that an agent runs when it wants to stop: it asks the daemon, and prints what comes back.

It imports nothing of this package and of the standard library only what is compiled: a person waits for it. `_socket`
is what `socket` is made of; the latter costs four times as much to import as all of this takes.

Whatever goes wrong, it prints nothing and ends with 0, within the time it is given: the agent stops as without it. Of
an answer that was printed the daemon is told, by one byte: only that one counts as told.
"""

import sys

_MOST_BYTES = 1_048_576


def main(arguments: list[str]) -> None:
    """Ask about what stands in standard input.

    `arguments`: where the daemon listens, the agent, the mode, and the most milliseconds from here to the end; the
    start of Python comes before.
    """
    try:  # noqa: SIM105  to import `contextlib` takes time
        _ask(*arguments)
    except Exception:  # noqa: BLE001, S110  the agent goes first
        pass


def _ask(place: str, agent: str, mode: str, milliseconds: str) -> None:
    import _socket
    import posix
    import time

    until = time.monotonic() + int(milliseconds) / 1000
    payload = sys.stdin.buffer.read(_MOST_BYTES)
    daemon = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    daemon.settimeout(max(0.001, until - time.monotonic()))
    folder, _, name = place.rpartition("/")
    posix.chdir(folder)  # a socket's path is short
    daemon.connect(name)
    rest = memoryview(f"{agent} {mode} {len(payload)}\n".encode() + payload)
    while rest:
        daemon.settimeout(max(0.001, until - time.monotonic()))
        rest = rest[daemon.send(rest) :]
    answer = b""
    while True:
        daemon.settimeout(max(0.001, until - time.monotonic()))
        part = daemon.recv(65_536)
        if not part:
            break
        answer += part
    if answer:
        sys.stdout.buffer.write(answer)
        sys.stdout.buffer.flush()
        daemon.send(b"+")
    daemon.close()


if __name__ == "__main__":
    main(sys.argv[1:])
