"""Names and addresses of machines."""

from __future__ import annotations

from ipaddress import ip_address


def is_this_machine(host: str) -> bool:
    """Return whether the host of a URL is this machine."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def server_of(url: str) -> str | None:
    """Return where the server of a fleet is, without a slash at its end; None if a URL names the PostgreSQL."""
    return url.rstrip("/") if url.startswith(("http://", "https://")) else None
