"""The judge of completion: rules, a model, people or rewards; and the version of the model."""

from __future__ import annotations

from enum import Enum, StrEnum
from functools import lru_cache

import msgspec

from grader_daemon.domain.completion_model import CompletionModel
from grader_daemon.domain.session_features import Features

_NO_MODEL = "none"


class VerdictBy(StrEnum):
    """Origin of `task_completed`.

    `reward`: somebody checked the work from outside, usually by tests. `revert`: the work was reverted in git.
    """

    RULES = "rules"
    MODEL = "model"
    PERSON = "person"
    REWARD = "reward"
    REVERT = "revert"

    @property
    def is_automatic(self) -> bool:
        """True for a guess from the session itself."""
        return self in _AUTOMATIC


_AUTOMATIC = (VerdictBy.RULES, VerdictBy.MODEL)


class Outcome(StrEnum):
    """Verdict on a session, as shown to people.

    `unsure`: the record does not prove that the task was not done, and your labels do not show that such verdicts are
    right at least three times in five; also if a person stopped the session, or it stops in the middle. `no_answer`:
    there is nothing to judge, because the agent neither answered nor called a tool.
    """

    DONE = "done"
    NOT_DONE = "not_done"
    UNSURE = "unsure"
    NO_ANSWER = "no_answer"


def outcome_of(completed: int | None, unsure: int) -> Outcome:
    """Return the verdict of a stored grade, of which `unsure` says more than `completed`."""
    if unsure:
        return Outcome.UNSURE
    return {None: Outcome.NO_ANSWER, 0: Outcome.NOT_DONE}.get(completed, Outcome.DONE)


class VerdictCounts(msgspec.Struct, frozen=True):
    """Number of finished tasks of people by verdict, see `Outcome`."""

    done: int = 0
    not_done: int = 0
    unsure: int = 0
    no_answer: int = 0

    @property
    def answered(self) -> int:
        """All but those without an answer."""
        return self.done + self.not_done + self.unsure


class Shown(Enum):
    """Result of a task that the record of its session shows by itself, before anybody judges."""

    NOT_DONE = "not done"
    """Proof that it was not done: cut short, a failed call at the end, a failed check, a contradicted claim."""

    NOTHING = "nothing"
    """A person stopped the session, or it was left in the middle: unsure."""

    UNDECIDED = "undecided"


class VerdictSetting(StrEnum):
    """Setting for the source of verdicts: always the rules, always the model, or the one known to be better."""

    AUTO = "auto"
    RULES = "rules"
    MODEL = "model"

    def decider(self, better: VerdictBy) -> VerdictBy:
        """Return who decides, where `better` is whose verdicts are known to be the better ones."""
        return better if self is VerdictSetting.AUTO else VerdictBy(self.value)


class Decision(msgspec.Struct, frozen=True, gc=False):
    """An automatic verdict: was the task completed, who says so, and how likely the model finds it (None: no idea).

    `unsure` says that neither the record nor measured labels stand behind it; then `completed` is the best guess, by
    the rules where the model was to decide and has no idea.
    """

    completed: bool
    by: VerdictBy
    likely: float | None
    unsure: bool = False


def prediction(likely: float | None, *, completed: bool) -> float:
    """Return what is predicted of a task, 0 to 1: its probability, or the automatic verdict where there is none."""
    return float(completed) if likely is None else likely


class CompletionPolicy(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Policy of automatic verdicts: `by` is `RULES` or `MODEL`. Without a model nothing is estimated.

    `measured` says that labels of this home have shown at which probabilities verdicts are right. Without that a
    verdict is sure by proof alone.
    """

    by: VerdictBy = VerdictBy.RULES
    model: CompletionModel | None = None
    measured: bool = False

    @property
    def version(self) -> str:
        """Name the model and who decides: grades of equal versions were judged alike."""
        return f"{self.model.version if self.model is not None else _NO_MODEL}.{self.by}"

    def decide(
        self, features: tuple[float, ...] | Features, *, by_rules: bool, shown: Shown = Shown.UNDECIDED
    ) -> Decision:
        """Return the verdict on a session of these features, where `by_rules` is what the rules say.

        What the record shows stands above rules and model. Where the model has no idea, what the rules say is no more
        than filled in.
        """
        model = self.model
        likely = model.predict(features) if model is not None else None
        if shown is not Shown.UNDECIDED:
            return Decision(completed=False, by=VerdictBy.RULES, likely=likely, unsure=shown is Shown.NOTHING)
        if model is None or self.by is VerdictBy.RULES:
            return Decision(by_rules, VerdictBy.RULES, likely, unsure=not self.measured)
        if likely is None:
            return Decision(by_rules, VerdictBy.RULES, None, unsure=True)
        unsure = not self.measured or model.is_unsure(likely)
        return Decision(likely >= model.threshold, VerdictBy.MODEL, likely, unsure)


class GradeVersion(msgspec.Struct, frozen=True):
    """Version of a grade: that of its rules, that of the model, and who decides where the model has an idea.

    `model` and `by` are None for a grade that was made before there were models, `model` also without one.
    """

    rules: str
    model: str | None
    by: VerdictBy | None

    @classmethod
    @lru_cache(maxsize=64)  # many grades are of few versions
    def read(cls, text: str) -> GradeVersion:
        """Split `Grade.rules_version` into its parts."""
        rules, _, policy = text.partition("+")
        model, _, by = policy.rpartition(".")
        if by not in {VerdictBy.RULES, VerdictBy.MODEL}:
            return cls(text, None, None)
        return cls(rules, None if model == _NO_MODEL else model, VerdictBy(by))

    @property
    def policy(self) -> str | None:
        """The version of the policy, see `CompletionPolicy.version`; None before there were any."""
        return None if self.by is None else f"{self.model or _NO_MODEL}.{self.by}"

    def __str__(self) -> str:
        if self.by is None:
            return f"rules {self.rules}"
        model = f"trained model {self.model}" if self.model is not None else "no trained model"
        return f"rules {self.rules}, {model}, verdict by the {self.by}"


def learned_version(prior: str, digest: str) -> str:
    """Name a model that was learned from labels, beginning with a prior."""
    return f"{prior}-{digest}"


def level_version(prior: str, digest: str) -> str:
    """Name a prior's model that was put at the level of one's own sessions; no label has taught it anything."""
    return f"{prior}~{digest}"


def is_untaught(version: str, prior: str) -> bool:
    """Return whether a model is a prior as it is, or at the level of one's own sessions."""
    return version.partition("~")[0] == prior


def rules_version(*, reading: str, verdicts: str) -> str:
    """Name rules: those by which a session is read, with its features, and those by which its facts are judged."""
    return f"{reading}-{verdicts}"


def is_of_same_facts(one: str, other: str) -> bool:
    """Return whether the sessions of two versions of grades were read alike, so that one can be made from the other.

    Only the rules of verdicts and the policy may differ.
    """
    reading, mark, _ = GradeVersion.read(one).rules.partition("-")
    return bool(mark) and GradeVersion.read(other).rules.partition("-")[0] == reading
