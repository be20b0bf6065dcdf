"""Notifications to systemd (sd_notify(3), sd_watchdog_enabled(3)): datagrams of ``NAME=value`` lines to a socket.

The protocol is too small for a dependency: one address in the environment, one message a datagram.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from contextlib import suppress


class Notifier:
    """Talks to the service manager that started this process; without one it says nothing."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """Read the address from the environment.

        `watchdog_seconds` is then how long the manager waits between two signs of life; None if it does not.
        """
        address = environment.get("NOTIFY_SOCKET", "")
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._socket: socket.socket | None = None
        if self._address:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)  # which no child inherits, PEP 446
        self.watchdog_seconds = _watchdog_seconds(environment) if self._address else None

    def ready(self) -> None:
        """Send that the daemon watches and works."""
        self._send("READY=1")

    def status(self, text: str) -> None:
        """Send one line for ``systemctl status``."""
        self._send(f"STATUS={text}")

    def alive(self) -> None:
        """Send that everything moves; the manager restarts a service that does not say so in time."""
        self._send("WATCHDOG=1")

    def stopping(self) -> None:
        """Send that the daemon ends."""
        self._send("STOPPING=1")

    def close(self) -> None:
        """Send nothing more."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _send(self, message: str) -> None:
        if self._socket is not None:
            with suppress(OSError):  # a manager that does not listen must not end us
                self._socket.sendto(message.encode("utf-8", "replace"), self._address)


def _watchdog_seconds(environment: Mapping[str, str]) -> float | None:
    microseconds = environment.get("WATCHDOG_USEC", "")
    is_for_us = environment.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    return int(microseconds) / 1e6 if microseconds.isdecimal() and is_for_us else None
