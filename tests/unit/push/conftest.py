"""The parts of a grader on a store and a clock of the test, as the api's tests have them."""

from __future__ import annotations

from tests.unit.api.conftest import context, save

__all__ = ["context", "save"]
