"""Firefox as Debian packages it, driven by its own protocol: JSON behind its length, over TCP.

Playwright drives a Firefox of its own only. https://firefox-source-docs.mozilla.org/testing/marionette/Protocol.html
"""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.needs import require_browser
from tests.waiting import wait_until

_DEADLINE_SECONDS: Final = 30.0
_PREFERENCES: Final = {
    "marionette.port": 0,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.page": 0,
    "datareporting.policy.dataSubmissionEnabled": False,
    "app.normandy.enabled": False,
    "browser.safebrowsing.malware.enabled": False,
    "browser.safebrowsing.phishing.enabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "services.settings.server": "data:,",
    "extensions.update.enabled": False,
    "app.update.enabled": False,
}
"""A port that is free, and no request but ours."""

_COMPLAINTS: Final = """
return Services.console.getMessageArray()
  .filter((one) => one instanceof Ci.nsIScriptError && one.sourceName.startsWith(arguments[0]))
  .map((one) => one.errorMessage);
"""


class Firefox:
    """A window of a Firefox that runs."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._stream = connection.makefile("rb")
        self._calls = 0
        self._read()  # who it is
        self.call("WebDriver:NewSession", capabilities={"alwaysMatch": {"pageLoadStrategy": "normal"}})

    def call(self, command: str, **parameters: Any) -> Any:
        """Return what a command gives.

        Raises:
            AssertionError: it says that it failed.
        """
        self._calls += 1
        sent = json.dumps([0, self._calls, command, parameters]).encode()
        self._connection.sendall(b"%d:%s" % (len(sent), sent))
        _, number, error, given = self._read()
        assert number == self._calls
        assert error is None, error
        return given.get("value") if isinstance(given, dict) and set(given) == {"value"} else given

    def open(self, address: str) -> None:
        """Go to an address, and wait until it is loaded."""
        self.call("WebDriver:Navigate", url=address)

    def script(self, source: str, *arguments: object) -> Any:
        """Return what a function body returns in the page."""
        return self.call("WebDriver:ExecuteScript", script=source, args=list(arguments))

    def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.call("WebDriver:PerformActions", actions=[{"type": "key", "id": "keys", "actions": actions}])

    def resize(self, width: int, height: int) -> None:
        """Make the window so large."""
        self.call("WebDriver:SetWindowRect", width=width, height=height)

    def complaints(self, base: str) -> list[str]:
        """Return the errors and warnings that its console has of pages whose addresses begin so."""
        self.call("Marionette:SetContext", value="chrome")
        try:
            return list(self.script(_COMPLAINTS, base))
        finally:
            self.call("Marionette:SetContext", value="content")

    def _read(self) -> Any:
        length = b""
        while (digit := self._stream.read(1)) != b":":
            assert digit, "Firefox has gone"
            length += digit
        return json.loads(self._stream.read(int(length)))

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()
        self._connection.close()


@contextmanager
def started_firefox(profile: Path) -> Iterator[Firefox]:
    """Start a Firefox that nobody sees, with a profile of its own."""
    program = require_browser("firefox-esr")
    profile.mkdir()
    lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in _PREFERENCES.items()]
    (profile / "user.js").write_text("".join(lines))
    command = [program, "--headless", "--marionette", "--remote-allow-system-access", "--no-remote", "--profile"]
    port = profile / "MarionetteActivePort"
    quiet = subprocess.DEVNULL
    with subprocess.Popen([*command, str(profile)], stdin=quiet, stdout=quiet, stderr=quiet) as process:
        try:
            wait_until(lambda: port.exists() and port.read_text().strip(), "Firefox to listen")
            connection = socket.create_connection(("127.0.0.1", int(port.read_text())), _DEADLINE_SECONDS)
            firefox = Firefox(connection)
            yield firefox
            firefox.close()
        finally:
            process.terminate()
            process.wait(_DEADLINE_SECONDS)
