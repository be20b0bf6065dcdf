"""What people said of a session's work, in the words of ``show`` and ``why``."""

from __future__ import annotations

from grader_daemon.domain.grade import Grade

_SHOWN = 8


def people_words(grade: Grade) -> list[str]:
    """Name the signals with their messages, and the session in which the same was asked for again."""
    signals = grade.signals_from_people
    words = [f"{signal.kind.replace('_', ' ')} [{signal.index}]" for signal in signals[:_SHOWN]]
    if len(signals) > _SHOWN:
        words.append(f"{len(signals) - _SHOWN} more")
    return words if grade.asked_again is None else [*words, f"asked again in {grade.asked_again}"]
