"""The versions that are written once: that of the package, which packaging reads here, and that of its documents."""

__version__ = "0.1.0"

SCHEMA_VERSION = 1
"""What every JSON document says of itself; raised when one changes in a way that its readers would notice."""
