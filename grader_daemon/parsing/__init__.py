"""Bytes of a file to a `Session`; one file per agent's format in `formats/`."""

from grader_daemon.parsing.parser import companion, parse, recognise

__all__ = ["companion", "parse", "recognise"]
