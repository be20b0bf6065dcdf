from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import msgspec
import pytest

from grader_daemon.calibration.training import TrainingContext, is_due, policy_record, train
from grader_daemon.domain.calibration import FEWEST_LABELS, Calibration, LabelCounts, WeightChange
from grader_daemon.domain.feedback import FeedbackSource, Label, Sampling
from grader_daemon.domain.verdict import VerdictBy, VerdictSetting
from tests.priors import prior
from tests.strategies import NOW, calibration, evidence, label, model

PRIOR = prior(version="prior-1")
KNOWING = model(names=("a",), means=(0.0,), weights=(6.0,))
LATER = NOW + timedelta(days=8)


def context(setting: VerdictSetting = VerdictSetting.AUTO, *, better: VerdictBy = VerdictBy.RULES) -> TrainingContext:
    return TrainingContext(setting=setting, prior=PRIOR, prior_better=better)


def labels(count: int, **changes: object) -> list[Label]:
    """Sessions whose only feature tells the truth, each a little more, and whose rules always say yes."""
    return [
        label(
            session_id=str(number),
            completed=number % 3 == 0,
            rules_completed=True,
            features=((1.0 if number % 3 == 0 else -1.0) + number / 1000,),
            **changes,
        )
        for number in range(count)
    ]


def look(
    given: Sequence[Label], standing: Calibration | None = None, agreed: TrainingContext | None = None
) -> Calibration:
    return train(given, standing, agreed or context(), history=[], now=LATER, seen=99)


def test_enough_labels_bring_new_weights_and_the_model_to_judge() -> None:
    found = look(labels(60))
    assert found.adopted
    assert found.model.weights[0] > 1
    assert found.model.version.startswith("prior-1-")
    assert (found.verdict_by, found.evidence.better, found.evidence.by_labels) == (
        VerdictBy.MODEL,
        VerdictBy.MODEL,
        True,
    )
    assert (found.labels, found.evidence.seen, found.evidence.before) == (60, 99, "prior-1.rules")
    [change] = found.evidence.weights
    assert change == WeightChange("a", 0.0, found.model.weights[0])
    assert found.evidence.why.startswith("weights: the Brier score falls by 0.2")
    assert found.evidence.shift > 0.3
    assert found.evidence.turned in range(1, 60)


def test_few_labels_move_no_weights_and_no_verdicts() -> None:
    found = look(labels(FEWEST_LABELS - 1))
    assert (found.model.weights, found.evidence.turned, found.verdict_by) == ((0.0,), 0, VerdictBy.RULES)
    assert found.evidence.why.startswith("level and slope: ")
    assert not look(labels(19)).adopted


def test_the_level_may_be_learned_of_few() -> None:
    few = [label(session_id=str(n), completed=n % 8 == 0, features=(float(n % 2),)) for n in range(32)]
    found = look(few)
    assert found.adopted
    assert found.model.predict((0.0,)) == pytest.approx(0.15, abs=0.05)
    assert found.model.weights[0] == pytest.approx(0.0, abs=1e-6)
    assert found.evidence.why.startswith("level and slope: the Brier score falls by 0.1")
    assert (found.verdict_by, found.evidence.by_labels) == (VerdictBy.RULES, False)


def test_a_request_asked_again_and_again_is_one_task() -> None:
    assert not look(labels(60, request=7)).adopted


def test_no_labels_are_nothing_to_learn_from() -> None:
    found = look([])
    assert (found.adopted, found.labels, found.model) == (False, 0, PRIOR.model)
    assert found.evidence.why == "there are no labels yet, so nothing is calibrated"


SURE = TrainingContext(
    setting=VerdictSetting.AUTO, prior=prior(version="prior-1", weights=(1.0,)), prior_better=VerdictBy.RULES
)
"""A prior whose feature means something."""


def level(value: float, standing: Calibration | None = None, count: int = 20) -> Calibration:
    return train([], standing, SURE, history=[(value,)] * count, now=LATER, seen=0)


def test_without_labels_the_prior_is_put_at_the_level_of_the_sessions() -> None:
    found = level(3.0)
    assert found.adopted
    assert found.model.predict((3.0,)) == pytest.approx(0.5)
    assert found.model.version.startswith("prior-1~")
    assert (found.labels, found.evidence.seen, found.evidence.sessions) == (0, 0, 20)
    assert found.evidence.why == (
        "there are no labels yet, so nothing is calibrated; probabilities are moved to the average of your sessions"
    )
    assert found.evidence.weights == ()


def test_where_the_prior_fits_the_sessions_nothing_is_said_to_be_adjusted() -> None:
    found = level(0.05)
    assert (found.adopted, found.model) == (False, SURE.prior.model)
    assert found.evidence.why == "there are no labels yet, so nothing is calibrated"


def test_few_sessions_say_nothing_of_the_level() -> None:
    assert not level(3.0, count=9).adopted


def test_a_level_that_hardly_moved_stays() -> None:
    standing = level(3.0)
    assert not level(3.16, standing).adopted
    moved = level(3.21, standing)
    assert (moved.adopted, moved.evidence.before) == (True, standing.completion_policy.version)


def test_rules_do_not_take_over_where_they_say_the_same_of_all_sessions() -> None:
    given = [msgspec.structs.replace(each, completed=each.rules_completed) for each in labels(60)]
    assert not look(given, agreed=context(better=VerdictBy.MODEL)).evidence.by_labels


def test_labels_have_to_do_better_than_the_prior_at_the_level_of_the_sessions() -> None:
    """Half are completed: the base rate of these labels is news to the prior, and not to the prior at their level."""
    given = [label(session_id=str(n), completed=n % 2 == 0, features=(3.0,)) for n in range(40)]
    far, levelled = (train(given, None, SURE, history=[(3.0,)] * n, now=LATER, seen=9) for n in (0, 20))
    assert far.evidence.why.startswith("level and slope")
    assert levelled.model.version.startswith("prior-1~")
    assert levelled.evidence.why == (
        "no model trained on your labels is clearly better than the start model (prior), moved to the average of your"
        " sessions"
    )


@pytest.mark.parametrize(
    ("setting", "by"),
    [
        (VerdictSetting.RULES, VerdictBy.RULES),
        (VerdictSetting.MODEL, VerdictBy.MODEL),
        (VerdictSetting.AUTO, VerdictBy.MODEL),
    ],
)
def test_who_decides_is_a_setting(setting: VerdictSetting, by: VerdictBy) -> None:
    found = look(labels(60), agreed=context(setting))
    assert (found.verdict_by, found.evidence.better) == (by, VerdictBy.MODEL)


@pytest.mark.thorough
def test_who_does_better_is_kept_in_mind_though_the_setting_decides() -> None:
    standing = policy_record(look(labels(60)), context(VerdictSetting.RULES), LATER)
    assert standing is not None
    turned = [msgspec.structs.replace(each, rules_completed=each.completed) for each in labels(60)]
    found = look(turned, standing, context(VerdictSetting.RULES))
    assert (found.adopted, found.evidence.better, found.completion_policy) == (
        True,
        VerdictBy.RULES,
        standing.completion_policy,
    )


def test_where_labels_show_no_difference_the_prior_says_who_is_better() -> None:
    alike = [label(session_id=str(n), completed=True, rules_completed=True, features=(1.0,)) for n in range(60)]
    assert look(alike, agreed=context(better=VerdictBy.MODEL)).verdict_by is VerdictBy.MODEL
    assert look(alike, agreed=context(better=VerdictBy.RULES)).verdict_by is VerdictBy.RULES


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"completed": None}, id="nothing-said-of-completion"),
        pytest.param({"went_on": True}, id="it-went-on-since"),
        pytest.param({"is_finished": False}, id="still-open"),
        pytest.param({"features": ()}, id="without-features"),
    ],
)
def test_nothing_is_learned_from_what_does_not_fit(changes: dict[str, object]) -> None:
    assert look([label(session_id="odd", **changes)]).labels == 0


def test_labels_are_counted_by_how_they_came() -> None:
    given = [
        *labels(3, sampled=Sampling.RANDOM),
        *labels(2, sampled=Sampling.UNCERTAIN),
        *labels(1, sampled=None),
    ]
    given += [label(session_id="odd", went_on=True), label(session_id="mute", completed=None)]
    assert look(given).evidence.counts == LabelCounts(random=3, uncertain=2, given=1, left_out=1)


def test_reverts_teach_nothing_as_they_only_ever_say_not_done() -> None:
    found = look([*labels(3), *labels(60, source=FeedbackSource.REVERT)])

    assert (found.labels, found.evidence.counts) == (3, look(labels(3)).evidence.counts)


def test_what_the_rules_say_of_an_old_grade_is_its_automatic_verdict() -> None:
    old = [
        label(
            session_id=str(n),
            completed=n % 3 == 0,
            rules_completed=None,
            automatic_completed=n % 3 == 0,
            features=(0.0,),
        )
        for n in range(60)
    ]
    assert look(old, agreed=context(better=VerdictBy.MODEL)).verdict_by is VerdictBy.RULES


def test_agreement_is_measured_on_sessions_that_were_not_learned_from() -> None:
    found = look(labels(60))
    known, rules = found.evidence.model, found.evidence.rules
    assert known is not None
    assert rules is not None
    assert (known.auc.value, known.mcc.sample) == (1.0, 60)
    assert known.mcc.value is not None
    assert known.mcc.value > 0.8
    assert (rules.mcc.value, rules.auc.value) == (0.0, 0.5)
    assert rules.brier.value == pytest.approx(2 / 3)
    assert {each.completed.value for each in found.evidence.reliability} == {0.0, 1.0}


def test_without_labels_there_is_nothing_to_agree_with() -> None:
    evidence_ = look([]).evidence
    assert (evidence_.model, evidence_.rules, evidence_.reliability) == (None, None, ())


def test_the_same_labels_again_change_nothing() -> None:
    first = look(labels(60))
    again = look(labels(60), first)
    assert (again.adopted, again.model) == (False, first.model)


def test_weights_in_force_stay_while_they_do_better_on_newer_labels() -> None:
    standing = calibration(
        model=msgspec.structs.replace(KNOWING, version="prior-1-in-force"),
        evidence=evidence(prior="prior-1", better=VerdictBy.MODEL, by_labels=True),
        verdict_by=VerdictBy.MODEL,
    )
    kept = look(labels(60, given_at=NOW + timedelta(days=1)), standing)
    assert (kept.adopted, kept.model.version) == (False, "prior-1-in-force")
    assert "in force do better" in kept.evidence.why
    assert look(labels(60, given_at=NOW - timedelta(days=1)), standing).adopted


def test_what_is_no_better_than_the_prior_any_more_is_given_up() -> None:
    standing = calibration(
        model=msgspec.structs.replace(KNOWING, version="prior-1-old"),
        evidence=evidence(prior="prior-1", better=VerdictBy.MODEL),
    )
    found = look([], standing)
    assert (found.adopted, found.model) == (True, PRIOR.model)


def test_only_the_newest_labels_are_learned_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader_daemon.calibration.training.MOST_LABELS", 10)
    assert look(labels(40)).labels == 10


def test_what_is_ordinary_is_told_by_sessions_with_the_features_of_the_prior() -> None:
    history = [(5.0,), (7.0,), (), (1.0, 2.0)] * 20
    found = train(labels(60), None, context(), history=history, now=LATER, seen=99)
    assert found.model.means[0] == pytest.approx(6.0)


# -- records of who decides -------------------------------------------------------------------------------------------


def test_the_first_policy_is_recorded() -> None:
    record = policy_record(None, context(), NOW)
    assert record is not None
    assert (record.adopted, record.completion_policy.version, record.evidence.before, record.labels) == (
        True,
        "prior-1.rules",
        None,
        0,
    )
    assert policy_record(record, context(), LATER) is None


@pytest.mark.parametrize(
    ("setting", "by"), [(VerdictSetting.RULES, VerdictBy.RULES), (VerdictSetting.MODEL, VerdictBy.MODEL)]
)
def test_another_policy_is_recorded_with_what_was_learned(setting: VerdictSetting, by: VerdictBy) -> None:
    standing = look(labels(60))
    record = policy_record(standing, context(setting), LATER)
    assert record is not None
    assert (record.verdict_by, record.policy, record.model, record.labels) == (by, setting, standing.model, 60)
    assert record.evidence.why == f"the setting verdict is {setting} now, it was auto"
    assert (record.evidence.better, record.evidence.by_labels) == (VerdictBy.MODEL, True)
    assert policy_record(record, context(setting), LATER) is None


def test_another_prior_is_recorded_and_nothing_is_carried_over() -> None:
    standing = calibration(labels=60, evidence=evidence(prior="prior-0"))
    record = policy_record(standing, context(), LATER)
    assert record is not None
    assert (record.model, record.labels, record.evidence.why) == (PRIOR.model, 0, "another prior: prior-1")


def test_another_verdict_by_other_rules_is_recorded_as_theirs() -> None:
    standing = policy_record(None, context(), NOW)
    assert standing is not None
    by_others = msgspec.structs.replace(standing.evidence, rules_version="of-others")
    record = policy_record(
        msgspec.structs.replace(standing, verdict_by=VerdictBy.MODEL, evidence=by_others), context(), LATER
    )
    assert record is not None
    assert record.evidence.why == "other rules are in force"


def test_another_verdict_of_the_same_prior_is_recorded() -> None:
    standing = policy_record(None, context(), NOW)
    assert standing is not None
    odd = msgspec.structs.replace(standing, verdict_by=VerdictBy.MODEL)
    record = policy_record(odd, context(), LATER)
    assert record is not None
    assert record.evidence.why == "another policy is in force"


@pytest.mark.parametrize(
    ("last", "newest", "sessions", "age_days", "due"),
    [
        pytest.param(None, 0, 9, 0.0, False, id="nothing-said"),
        pytest.param(None, 1, 0, 0.0, True, id="the-first-label"),
        pytest.param(None, 0, 10, 0.0, True, id="sessions-enough"),
        pytest.param({"seen": 3}, 3, 9, 30.0, False, id="nothing-new"),
        pytest.param({"seen": 3}, 4, 0, 6.9, False, id="within-a-week"),
        pytest.param({"seen": 3}, 4, 0, 7.0, True, id="after-a-week"),
        pytest.param({"seen": 3}, 4, 0, -1.0, True, id="looked-at-in-the-future"),
        pytest.param({"sessions": 10}, 0, 19, 30.0, False, id="a-few-sessions-more"),
        pytest.param({"sessions": 10}, 0, 20, 7.0, True, id="twice-as-many-sessions"),
        pytest.param({"sessions": 10}, 0, 20, 6.9, False, id="twice-as-many-within-a-week"),
        pytest.param({"seen": 3, "prior": "prior-0"}, 3, 0, 0.0, True, id="another-prior"),
    ],
)
def test_what_is_new_is_looked_at_in_time(
    last: dict[str, object] | None, newest: int, sessions: int, age_days: float, due: bool
) -> None:
    looked = None if last is None else calibration(evidence=evidence(**{"prior": "prior-1", **last}))
    assert is_due(looked, newest=newest, disputed=0, sessions=sessions, prior=PRIOR, age_days=age_days) is due


@pytest.mark.parametrize(
    ("disputed", "age_days", "due"),
    [
        pytest.param(5, 0.9, False, id="five-settled-within-a-day"),
        pytest.param(5, 1.0, True, id="five-settled-after-a-day"),
        pytest.param(4, 6.9, False, id="four-settled-within-a-week"),
    ],
)
def test_words_on_disputed_sessions_are_looked_at_on_the_next_day(disputed: int, age_days: float, due: bool) -> None:
    looked = calibration(evidence=evidence(prior="prior-1", seen=3))
    assert is_due(looked, newest=8, disputed=disputed, sessions=0, prior=PRIOR, age_days=age_days) is due


def test_nothing_is_learned_from_what_is_no_task_of_a_person() -> None:
    side = [msgspec.structs.replace(each, is_persons=False) for each in labels(5)]
    found = look([*labels(20), *side])
    assert (found.labels, found.evidence.counts.left_out) == (20, 5)


def test_rewards_are_counted_apart() -> None:
    rewards = [msgspec.structs.replace(each, source=FeedbackSource.REWARD) for each in labels(20)]
    counts = look([*labels(5), *rewards]).evidence.counts
    assert (counts.given, counts.rewards, counts.total) == (5, 20, 25)
