"""Deeds of tools (mail, calendars, orders): what an answer says was done, held against what each call changed."""

from grader_daemon.analysis.claims.deeds.deed_claims import Deed, weigh_deeds

__all__ = ["Deed", "weigh_deeds"]
