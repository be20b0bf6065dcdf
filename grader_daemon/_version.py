"""The version of the package: the one place where it is written; packaging reads it from here."""

__version__ = "0.1.0"
