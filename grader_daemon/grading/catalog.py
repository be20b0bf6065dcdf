"""What each rule id means, in a sentence; `why` prints these, `docs/grades.md` lists them."""

from __future__ import annotations

from types import MappingProxyType

CATALOG = MappingProxyType(
    {
        "completion.phrase": "the final answer says that it is done",
        "completion.output_reference": "the final answer refers to an output that was made",
        "completion.low_error_rate": "few tool calls failed",
        "completion.verified_claim": "the record of tool calls bears out what the final answer claims",
        "completion.contradicted_claim": "the record of tool calls contradicts what the final answer claims",
        "completion.failure_phrase": "the final answer says that something failed",
        "completion.high_error_rate": "many tool calls failed",
        "completion.short_answer": "the final answer is empty or very short",
        "completion.accepted": "the last that a person said of the work is thanks or acceptance",
        "completion.complaint": "the last that a person said of the work is a complaint, a correction or giving up",
        "completion.interrupted": "the session was cut short, so it is never completed",
        "completion.model": "the model decides, by how likely it finds that the task was completed",
        "efficiency.level": "error rate and number of tool calls are within this level's limits",
        "efficiency.otherwise": "error rate or number of tool calls are beyond every level",
        "quality.base": "every answer starts here",
        "quality.long_answer": "the final answer is long",
        "quality.longer_answer": "the final answer is very long",
        "quality.code_block": "the final answer holds a code block",
        "quality.link": "the final answer holds a link or reference",
        "quality.repeated_errors": "several tool calls in a row failed",
        "quality.many_errors": "many tool calls failed",
        "quality.loop_risk": "failures in a row, or the number of calls, look like a loop",
        "recovery.no_failures": "no tool call failed",
        "recovery.recovered": "a tool call worked after the last failure, and the session ended in an answer",
        "recovery.not_recovered": "no tool call worked after the last failure, or the session ended without an answer",
    }
)
