"""Names and addresses of machines."""

from __future__ import annotations

from ipaddress import ip_address


def is_this_machine(host: str) -> bool:
    """Return whether the host of a URL is this machine."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
