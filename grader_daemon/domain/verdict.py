"""Who says whether a task was completed, and by which model."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from grader_daemon.domain.completion_model import CompletionModel


class VerdictBy(StrEnum):
    """Whose word `task_completed` is."""

    RULES = "rules"
    MODEL = "model"
    PERSON = "person"


class Judge(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What gives automatic verdicts: `by` is `RULES` or `MODEL`. Without a model nothing is estimated."""

    by: VerdictBy = VerdictBy.RULES
    model: CompletionModel | None = None

    @property
    def version(self) -> str:
        """Name the model and who decides: grades of equal versions were judged alike."""
        return f"{self.model.version if self.model is not None else 'none'}.{self.by}"
