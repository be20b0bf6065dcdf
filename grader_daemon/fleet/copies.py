"""The wing's answer to whose grades are asked for; see `api.parts.SharedCopies`."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from grader_daemon.fleet.copy_settings import is_of_copy, make_fleet_copy, settings_of_copy

if TYPE_CHECKING:
    from grader_daemon.settings import Settings


class Copies:
    """Copies of the fleet that the setting `fleet_read_url` names."""

    settings_of = staticmethod(settings_of_copy)
    is_of = staticmethod(is_of_copy)
    open = staticmethod(make_fleet_copy)

    @staticmethod
    def follow(settings: Settings, stop: threading.Event) -> None:
        """Keep the copy of settings up to date until `stop`."""
        from grader_daemon.fleet.follow import follow_fleet  # most commands read once

        follow_fleet(settings, stop)

    @staticmethod
    def watch(settings: Settings, stop: threading.Event) -> None:
        """Follow, and raise alerts, tell of them and write reports while nobody else does."""
        from grader_daemon.fleet.follow import watch_fleet

        watch_fleet(settings, stop)
