"""Who wrote a message in the user's role: a person, or the agent's own machinery in a person's place.

A compaction may put its summary and a person's next words into one message; then only the words are the person's.
"""

from __future__ import annotations

from grader_daemon.domain.rules import PeopleRules


def written_by_person(text: str, rules: PeopleRules) -> str | None:
    """Return what a person says in a message of the user's role: `text` itself, its end, or None if nobody wrote it."""
    return _after_injected(text, rules) if text.startswith(rules.injected_prefixes) else text


def _after_injected(text: str, rules: PeopleRules) -> str | None:
    """Return what stands below the line that ends a summary."""
    for ending in rules.injected_endings:
        start = text.rfind(ending)
        if start >= 0:
            said = text[start:].partition("\n")[2].strip()
            return None if not said or said.startswith(rules.injected_prefixes) else said
    return None
