"""Sentences on the features that moved a probability. Each stands alone: no definition, no number on a scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

_USUAL: Final = (0.2, 0.8)
"""Shares of your sessions between which a value is usual."""
_NEARLY_ALL: Final = 0.99
_HALF: Final = 0.5

_BOTH: Final[Mapping[str, tuple[str, str]]] = {
    "answered": ("The session ends in a whole answer.", "The session does not end in a whole answer."),
    "unfinished": ("The session ends without an answer.", "The session ends in an answer."),
    "says_nothing": ("The last answer is empty.", "The last answer is not empty."),
    "cut_short": ("The session was cut short.", "The session was not cut short."),
    "call_last": ("The session ends in a call without a tool result.", "The last tool call has a tool result."),
    "write_last": ("The session ends in a call that writes something.", "The session does not end while it writes."),
    "failure_last": ("The session ends in a failed call.", "The session does not end in a failed call."),
    "closed": ("One of the last tool calls submits the work.", "No call at the end submits the work."),
    "announced": ("The agent ends by announcing a next step.", "The agent announces no further step at the end."),
    "unmade_call": (
        "The last text contains a tool call that was never made.",
        "The last text contains no call that was never made.",
    ),
    "asks_back": ("The last text ends in a question.", "The last text does not end in a question."),
    "unanswered": ("Your last message has no answer.", "Your last message has an answer, or needs none."),
    "handed_over": ("The agent hands over to a human colleague.", "The agent does not hand over to a colleague."),
    "error_last": ("The last tool result mentions an error.", "The last tool result mentions no error."),
    "good_news": (
        "One of the last four results says that something passed or succeeded.",
        "None of the last four results says that something passed or succeeded.",
    ),
    "little_done": (
        "The agent took at most four turns to work on files.",
        "The agent took more than four turns, or worked on no files.",
    ),
    "nothing_done": (
        "The task is about files, but the agent called no tool.",
        "The agent called tools, or the task is not about files.",
    ),
    "red_to_green": (
        "A run failed after files were written, and the last run did not.",
        "No failed run turned into a passing one.",
    ),
    "write_failed": ("The last attempt to write a file failed.", "The last attempt to write a file did not fail."),
    "read_back": (
        "A later call names the file that the agent last tried to write.",
        "No later call names the file that the agent last tried to write, if there was one.",
    ),
    "change_last": (
        "The last tool call changed something in a service.",
        "The last tool call changed nothing in a service.",
    ),
    "consented": ("A person agreed to a proposal.", "No person agreed to a proposal."),
    "one_row": ("The last tool result is one row.", "The last tool result is not just one row."),
    "inability": (
        "The answer says that something could not be done.",
        "The answer does not say that something could not be done.",
    ),
    "objected": (
        "Your last comment says that something is wrong.",
        "Your last comment does not say that something is wrong.",
    ),
    "accepted": ("Your last comment accepts the work.", "Your last comment does not accept the work."),
    "took_leave": ("Your last message is thanks or a goodbye.", "Your last message is neither thanks nor a goodbye."),
    "asked_last": ("Your last message is a question.", "Your last message is not a question."),
    "tests_verified": (
        "The answer says that tests pass, and a test run proves it.",
        "The answer has no proven claim that tests pass.",
    ),
    "tests_unsupported": (
        "The answer says that tests pass, but no test run proves it.",
        "The answer has no unproven claim that tests pass.",
    ),
    "fix_verified": (
        "The answer says that a bug is fixed, and the calls prove it.",
        "The answer has no proven claim that a bug is fixed.",
    ),
    "claim_contradicted": ("The record contradicts a claim of the answer.", "The record contradicts no claim."),
    "final_marked": ("The final answer is marked as such.", "The final answer is not marked as such."),
    "final_of_two": (
        "The final answer is one of the two that the question allows.",
        "The question does not allow just two answers, or the final answer is neither.",
    ),
    "final_gives_up": ("The final answer says that there is no answer.", "The final answer does not give up."),
    "final_is_result": (
        "The final answer is the whole last tool result.",
        "The final answer is not just the last tool result.",
    ),
    "final_reasoned": (
        "The text before the final answer has it too.",
        "The final answer is not in the text before it.",
    ),
    "missed_last": (
        "The last tool result says that nothing was found.",
        "The last tool result does not say that nothing was found.",
    ),
    "second_step": (
        "The last tool call uses what earlier tool results showed.",
        "The last tool call uses nothing of what earlier tool results showed.",
    ),
    "gap_told": (
        "The agent's last texts say that something is unknown.",
        "The agent's last texts do not say that something is unknown.",
    ),
    "many_columns": (
        "The result has more columns than you asked for.",
        "The result has no more columns than you asked for.",
    ),
    "ordered_undone": (
        "You asked for a change, and no call changed anything.",
        "You asked for no change, or a call changed something.",
    ),
}
"""Of what is so or not: both sentences."""

_SHARES: Final[Mapping[str, tuple[str, str]]] = {
    "struggle": ("the last turns", "have an error, a format complaint or an apology"),
    "errors_at_end": ("the last three tool results", "mention an error"),
    "failures": ("the last tool results", "are failures"),
    "overcome": ("the failed calls", "came right before a call that worked, the same or another"),
    "left": ("the failed calls", "never worked later"),
    "worse": ("the last errors", "came in the later half of the session"),
    "form_complaints": ("the tool results", "say that the agent's output could not be read"),
    "empty_results": ("the tool results", "are empty"),
    "repeats": ("the last calls, results and texts", "repeat earlier ones"),
    "same_calls": ("the last tool calls", "repeat an earlier tool call word for word"),
    "same_results": ("the last tool results", "repeat an earlier tool result word for word"),
    "varied_calls": ("the last tool calls", "begin differently from all others"),
    "same_words": ("the words in the agent's last two texts", "are the same"),
    "alike_results": ("the words in the last two tool results", "are the same"),
    "timeouts": ("the last tool results", "are timeouts"),
    "asked_made": ("the requested changes in services", "were made"),
    "specifics_called": ("the quotes and paths in your task", "appear in calls"),
    "specifics_shown": ("the quotes and paths in your task", "appear in the last tool results"),
    "specifics_answered": ("the quotes and paths in your task", "appear in the answer"),
    "complaints": ("your later messages", "say that something is wrong"),
    "other_claims_verified": ("the claims about anything but tests and fixes", "are proven by calls"),
    "other_claims_unsupported": ("the claims about anything but tests and fixes", "have no proof in the calls"),
    "final_asked": ("the words in the final answer", "are from your task"),
    "final_words_seen": ("the new words in the final answer", "are in the last tool results"),
    "final_backing": ("the words in your task", "are in the tool result with the final answer"),
    "missed": ("the last tool results", "say that nothing was found"),
    "names_seen": ("the names and numbers in your task", "appear in the last tool results"),
    "names_called": ("the names and numbers in your task", "appear in the last tool calls"),
    "names_answered": ("the names and numbers in your task", "appear in the answer"),
    "call_new": ("the words in the last tool call", "are neither in your task nor in earlier tool results"),
    "query_fits": ("the operations in your task (count, sort, group, …)", "are in the last query"),
}
"""Words for a feature that is a share: the things that are counted, and what is true of the share."""

_NOTHING_TO_COUNT: Final[Mapping[str, tuple[float, str]]] = {
    "overcome": (0.7, "No call failed, or some failed calls came right before a call that worked."),
    "left": (0.3, "No call failed, or most failed calls worked later."),
    "worse": (_HALF, "There are no errors, or they are spread evenly."),
    "asked_made": (_HALF, "No change in a service was requested, or half of them were made."),
    "specifics_called": (_HALF, "The task has no quotes and paths, or half of them appear in calls."),
    "specifics_shown": (_HALF, "The task has no quotes and paths, or half of them appear in the last tool results."),
    "specifics_answered": (_HALF, "The task has no quotes and paths, or half of them appear in the answer."),
    "final_words_seen": (_HALF, "The final answer has no new words, or half of them are in the last tool results."),
    "query_fits": (_HALF, "The task asks for no operation, or half of them are in the last query."),
}
"""Values of shares that also stand for nothing to count, and what is said of them.

Other values than a half stand for no failed call.
"""

_THREE: Final[Mapping[str, tuple[str, str, str]]] = {
    "trial": (
        "The run after the last attempt to write a file worked.",
        "Nothing was run after the last attempt to write a file, if there was one.",
        "The run after the last attempt to write a file failed.",
    ),
    "verdict": (
        "The last two runs passed something.",
        "The last two runs neither passed nor failed clearly.",
        "The last two runs failed something.",
    ),
    "final_fits": (
        "The final answer has the form that words of your task suggest, such as a number or yes or no.",
        "No word of your task suggests a special form of answer.",
        "The final answer does not have the form that words of your task suggest, such as a number or yes or no.",
    ),
    "final_seen": (
        "One of the last tool results contains the final answer word for word.",
        "It is unknown whether a tool result contains the final answer.",
        "No tool result contains the final answer word for word.",
    ),
    "final_computed": (
        "The number in the final answer is in the last output of code.",
        "The final answer has no number to compare with code.",
        "The number in the final answer is not in the last output of code.",
    ),
    "rows_fit": (
        "The tool result has as many rows as the task asks for.",
        "The task does not say how many rows the result should have.",
        "The tool result has too many or too few rows for the task.",
    ),
}
"""Of what is so, unknown, or not so: all three sentences."""

_COUNTS: Final[Mapping[str, str]] = {
    "trouble_at_end": "signs of trouble in the last step",
    "doubt": "words of doubt in the agent's last texts",
    "negative_words": "words such as failed or missing in the last two tool results",
    "positive_words": "words such as success or passed in the last two tool results",
    "turns_for_answer": "turns for a question without files",
    "asked_length": "characters in the task",
    "said_length": "characters in the agent's texts",
    "shown_length": "characters in results",
    "exchanges": "messages and results",
    "answered_calls": "calls with a tool result",
    "mishaps": "failed calls that never worked later",
    "rewrites": "writes of the same file",
    "changes_made": "successful changes in services",
    "rows_for_answer": "rows in the last tool result",
    "hedges": "words such as however or likely in the answer",
    "messages": "messages from you after the task",
    "said_last": "words in your last message",
    "claims": "claims in the answer",
    "final_words": "words in a short final answer",
    "final_results": "results that contain the final answer",
    "query_parts": "conditions, joins and pipes in the last query or command",
}
"""Of a count: the things that are counted."""

_ALL: Final[Mapping[str, str]] = {
    "hash:answer": "The words of the answer.",
    "hash:result": "The words of the last two tool results.",
    "hash:call": "The words of the last six calls.",
}
NAMED: Final = frozenset((*_BOTH, *_SHARES, *_THREE, *_COUNTS, *_ALL))
"""Features that have a sentence."""


def sign_sentence(name: str, value: float, above: float | None) -> str | None:
    """Return what is so in a session, by a feature of it; `above` is its place among yours, None if it is unknown.

    None for a feature of another version.
    """
    if name in _BOTH:
        return _BOTH[name][value < _HALF]
    if name in _THREE:
        return _THREE[name][0 if value > _HALF else 1 if value == _HALF else 2]
    if name in _SHARES:
        return _share(name, value, above)
    return _count(_COUNTS[name], value, above) if name in _COUNTS else _ALL.get(name)


def compared(name: str, values: Sequence[float]) -> Sequence[float]:
    """Return the values with which a session's is compared: without those of sessions that have nothing to count.

    Empty if such sessions cannot be told from others.
    """
    nothing, _ = _NOTHING_TO_COUNT.get(name, (None, ""))
    return () if nothing == _HALF else [value for value in values if value != nothing]


def _share(name: str, value: float, above: float | None) -> str:
    nothing, words = _NOTHING_TO_COUNT.get(name, (None, ""))
    if value == nothing:
        return words
    things, so = _SHARES[name]
    share = "All" if value == 1 else "None" if value == 0 else None
    told = f"Of {things}, {100 * value:.0f} % {so}" if share is None else f"{share} of {things} {so}"
    sessions = _standing_out(above)
    if above is None or sessions is None:
        return f"{told}."
    failed = " with failed calls" if name in _NOTHING_TO_COUNT else ""
    return f"{told}; in {sessions}{failed}, this share is {'lower' if above > _HALF else 'higher'}."


def _count(things: str, value: float, above: float | None) -> str:
    if not value:
        return f"There are no {things}."
    sessions = _standing_out(above)
    if above is None or sessions is None:
        return f"The number of {things} {'matters here' if above is None else 'is usual for you'}."
    return f"There are {'more' if above > _HALF else 'fewer'} {things} than in {sessions}."


def _standing_out(above: float | None) -> str | None:
    """Return beside which sessions a value stands out: "83 % of your sessions"; None if it is usual or unknown."""
    if above is None or _USUAL[0] < above < _USUAL[1]:
        return None
    share = max(above, 1 - above)
    return "nearly all your sessions" if share >= _NEARLY_ALL else f"{100 * share:.0f} % of your sessions"
