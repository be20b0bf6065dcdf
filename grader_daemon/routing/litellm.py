"""LiteLLM's router, told by the file of the setting `route_file` which model to prefer.

The router runs in a process of its own, in an environment of its own: nothing of this package is imported here, and
nothing but the standard library. Whatever is wrong with the file, requests go their usual way.
"""

from __future__ import annotations

import json
import math
import os
import random
import time
from collections.abc import Iterable
from typing import Any, Final

_DEFAULT_FILE: Final = "~/.timmy/uniwizard/route.json"
_VARIABLE: Final = "GRADER_ROUTE_FILE"
"""The environment variable of the setting, too."""
_SCHEMA: Final = 1
_TOO_DEAR: Final = "too_dear"
_PASSED_OVER: Final = frozenset({"stale", _TOO_DEAR})
_STAYS: Final = frozenset({None, "not_better", "uncalibrated"})
"""Reasons of a type by which the default stays: much is known, and nothing better; None if not of what is offered."""
_OLDEST_SECONDS: Final = 3 * 86400.0
"""The daemon writes the file at least twice a day: an older one is left over."""
_LEFT: Final = "_routing_plugin_candidate_models"
"""Key in a request's metadata under which LiteLLM keeps what a plugin left of its models.

It is replaced only when a plugin leaves fewer than there are, and stays else: also for the fallbacks of a request that
failed, and for the next request with the same metadata.
"""
_ATTEMPTS: Final = ("attempted_retries", "attempted_fallbacks")
"""Keys of its counts of tries before: a model that failed a request is not preferred for it again."""
_DRAWS: Final = 10
"""Most draws to find a model to explore, chosen on homes that `tests.benchmarks.routing_loop` does not measure."""
_Z: Final = 1.959963984540054
"""Standard deviations from the middle of an interval of 95 % to its end."""
_DATE_DIGITS: Final = 8
_GENERAL: Final = "general"


class GraderRouting:
    """A `RoutingPlugin`: of several models that may answer, it leaves the one that does this type of task best.

    The type is that of the metadata of a request (`task_type`), else what its first user message is about. A request
    whose type or models are not known goes its usual way.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        """`path` is the file; without one that of the environment variable `GRADER_ROUTE_FILE`, or its usual place."""
        self._path = os.path.expanduser(path or os.environ.get(_VARIABLE) or _DEFAULT_FILE)
        self._stamp: tuple[int, ...] = ()
        self._route: dict[str, Any] = {}

    async def run(self, context: Any) -> Any:
        """Narrow the models of a request to the best one, if it is known; called by LiteLLM."""
        try:
            self._choose(context)
        except Exception as error:  # noqa: BLE001  a request is never lost for a file
            context.signals["grader"] = {"error": type(error).__name__}
        return context

    def _choose(self, context: Any) -> None:
        every = list(context.candidate_models)
        before = context.metadata.get(_LEFT)
        if any(context.metadata.get(count) for count in _ATTEMPTS):
            untried = [model for model in every if model not in (before or ())]
            context.candidate_models = untried or every
        else:
            self._narrow(context)
        if isinstance(before, list):  # of an earlier attempt; a list of all is not put in its place
            before[:] = context.candidate_models

    def _narrow(self, context: Any) -> None:
        route = self._current()
        if not route or len(set(context.candidate_models)) < 2:  # noqa: PLR2004  there is nothing to choose
            return
        task_type = _task_type(context, route["words"])
        known = route["task_types"].get(task_type, route["others"])
        names = {candidate: _known_as(candidate, route, known["models"]) for candidate in context.candidate_models}
        asked = [score for score in known["models"] if score["model"] in names.values()]
        best, untried = (None, None) if _is_alone(route, known, names) else _best_of(asked, known)
        if best is None:
            dear = {score["model"] for score in asked if score["reason"] == _TOO_DEAR}
            left = [each for each in context.candidate_models if names[each] not in dear]
            context.candidate_models = left or context.candidate_models
            return
        signal = {"task_type": task_type, "model": best["model"], "score": best["score"]}
        if untried is not None:
            signal["or"] = untried["model"]
        elif random.random() < route["explore"]:  # noqa: S311  it hides no secret
            worths = _explorable(asked, names, known["unseen"])
            explored = _explored(best, worths)
            if explored is not None:
                signal |= {"model": explored, "score": worths[explored]["score"], "explored": True}
        models = {signal["model"], signal.get("or")}
        context.candidate_models = [each for each in context.candidate_models if (names[each] or each) in models]
        context.signals["grader"] = signal

    def _current(self) -> dict[str, Any]:
        """Return the route of the file; an empty one if there is none that can be used. Read when it changed."""
        try:
            found = os.stat(self._path)
            stamp = (found.st_mtime_ns, found.st_ino, found.st_size)
            if stamp != self._stamp:
                self._route = {}
                with open(self._path, encoding="utf-8") as file:
                    self._stamp = stamp  # not before: what cannot be opened now may be the next time
                    route = json.load(file)
                self._route = route if route["schema_version"] == _SCHEMA else {}
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return {}
        age = time.time() - found.st_mtime  # noqa: TID251  of a program that is not ours
        return self._route if age < _OLDEST_SECONDS else {}


def _best_of(asked: list[dict[str, Any]], route: dict[str, Any]) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Return the model that tasks go to, of those that are asked for, and a better one that was hardly tried.

    Where none is better it is the default that somebody named, if that is asked for, however long it was not used; None
    where too little is known.
    """
    stays = next((each for each in asked if each["model"] == route["default"] and each["reason"] != _TOO_DEAR), None)
    usable = [score for score in asked if score is stays or score["reason"] not in _PASSED_OVER]
    best = next((score for score in usable if score["known_by"] or score is stays), None)
    if best is None or stays is None:
        return best, next((score for score in usable[:1] if score is not best), None)
    if best["known"]:
        return best, None
    return stays if route["reason"] in _STAYS else None, None


def _is_alone(route: dict[str, Any], known: dict[str, Any], candidates: Iterable[str]) -> bool:
    """Return whether no model is known to be better than another: there is one, or one may be the unused default."""
    default = {"model": known["default"], "last_session": ""}
    if known["default"] is None or any(score["model"] == known["default"] for score in known["models"]):
        return bool(known["reason"] == "one_model")
    return any(_known_as(candidate, route, [default]) for candidate in candidates)


def _explorable(
    asked: list[dict[str, Any]], names: dict[str, str | None], unseen: dict[str, Any] | None
) -> dict[str, dict[str, Any]]:
    """Return what each model may do that is worth a task to learn it; of one without sessions, what any other may."""
    new = [candidate for candidate, name in names.items() if name is None and unseen is not None]
    return {**{score["model"]: score for score in asked if score["may_explore"]}, **dict.fromkeys(new, unseen or {})}


def _explored(best: dict[str, Any], worths: dict[str, dict[str, Any]]) -> str | None:
    """Return the first model that a draw of what each may do finds better than the best; None if none of some does.

    So mostly those are tried of which little is known, and hardly any where the best is surely the best (top-two
    Thompson sampling; Russo, Operations Research 68, 2020).
    """
    worths = {**worths, best["model"]: best}
    for _ in range(_DRAWS):
        draws = {model: _draw(_logit(worth["low"]), _logit(worth["high"])) for model, worth in worths.items()}
        found = max(draws, key=draws.__getitem__)
        if found != best["model"]:
            return found
    return None


def _draw(low: float, high: float) -> float:
    """Return a draw from the normal distribution of which these are the ends of the 95 % interval."""
    return random.gauss((low + high) / 2, (high - low) / (2 * _Z))


def _logit(chance: float) -> float:
    return math.log(chance / (1 - chance))


def _known_as(candidate: str, route: dict[str, Any], scores: list[dict[str, Any]]) -> str | None:
    """Return the name that a model of the router has in sessions; None if none of the scores is its own.

    Of several versions of a date it is the one that was used last.
    """
    known = {score["model"] for score in scores}
    aliases = route["aliases"]
    plain = candidate.rpartition("/")[2]
    for name in (candidate, aliases.get(candidate), plain, aliases.get(plain)):
        if name in known:
            return str(name)
    alike = [score for score in scores if _undated(score["model"]) == _undated(plain)]
    return str(max(alike, key=lambda score: (score["last_session"], score["model"]))["model"]) if alike else None


def _undated(name: str) -> str:
    """Return a name of a model in lower case, without its provider and the date of its version."""
    plain = name.rpartition("/")[2].lower().replace("@", "-")
    parts = plain.split("-")
    if len(parts) > 1 and len(parts[-1]) == _DATE_DIGITS and parts[-1].isdigit():
        return "-".join(parts[:-1])
    if len(parts) > 3 and [len(part) for part in parts[-3:]] == [4, 2, 2] and "".join(parts[-3:]).isdigit():  # noqa: PLR2004
        return "-".join(parts[:-3])
    return plain


# -- what a request is about -----------------------------------------------------------------------------------------


def _task_type(context: Any, words: dict[str, Any]) -> str:
    told = context.metadata.get("task_type")
    if isinstance(told, str) and told:
        return told
    for message in context.structured_messages:
        if message.get("role") == "user":
            return type_of(_text(message.get("content")), words)
    return _GENERAL


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return "\n".join(text for text in texts if isinstance(text, str))


def type_of(request: str, words: dict[str, Any]) -> str:
    """Return what a request is about, as the grader finds it by the same `words` of the file."""
    said = _words(request[: words["examined_characters"]].lower())
    places: dict[str, list[int]] = {}
    for place, word in enumerate(said):
        places.setdefault(word, []).append(place)
    hits = {
        task_type: sum(
            _goes_on(said, place, phrase, words) for phrase in phrases for place in places.get(phrase[0], ())
        )
        for task_type, phrases in words["phrases"].items()
    }
    best = max(hits, key=hits.__getitem__, default=_GENERAL)
    return best if hits.get(best) else _GENERAL


def _goes_on(said: list[str], place: int, phrase: list[str], words: dict[str, Any]) -> bool:
    """Return whether the other words of a phrase follow its first one, which stands there."""
    following = said[place + 1 : place + 1 + words["reach"]]
    counting = [word for word in following if word not in words["ignored"]]
    return counting[: len(phrase) - 1] == phrase[1:]


def _words(text: str) -> list[str]:
    return "".join(letter if letter.isalnum() or letter == "_" else " " for letter in text).split()


routing = GraderRouting()
"""Plugin for the configuration of a proxy: ``plugins: [grader_daemon.routing.litellm.routing]``."""
