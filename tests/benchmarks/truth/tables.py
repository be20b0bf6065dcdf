"""The tables of `tests.benchmarks.validity`, as they stand in documents, and the figures that have a target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

from grader_daemon.calibration.agreement import matthews
from grader_daemon.domain.claims import Support
from grader_daemon.domain.estimate import Estimate, proportion
from tests.benchmarks.machine import Figure
from tests.benchmarks.targets import VALIDITY
from tests.benchmarks.truth.cases import Case
from tests.benchmarks.truth.homes import Taught
from tests.benchmarks.truth.simulated import Homes
from tests.benchmarks.truth.trials import FEW, LABELS, LabelTrial, Place, Start, Truth
from tests.benchmarks.truth.worth import Judged, Worth, auc_of_place, mcc_of_place, mean_worth, over_places, worth

_WORSE = 0.02
"""A judge that loses more correlation than that has made verdicts worse."""

_MEASURES = ("AUC", "MCC", "skill", "ECE")
_BESIDE = ("rules: AUC / MCC", "constant: skill / ECE")
_FIELDS = ("auc", "mcc", "skill", "ece")

Row = Sequence[str]


def print_sources(places: Mapping[str, Place], cases: Sequence[Case]) -> None:
    """Print what there is, and what the rules alone say of it; a source without both outcomes only helps to train."""
    by_source: dict[str, list[Case]] = {}
    for case in cases:
        by_source.setdefault(case.sample.source, []).append(case)
    print(f"{len(cases):,} sessions of {len(by_source)} sources; {len(places)} have both outcomes:\n")
    rows = [_source_row(name, some, is_tested=name in places) for name, some in sorted(by_source.items())]
    head = ("source", "family", "sessions", "tasks", "completed", "rules say completed", "precision", "MCC")
    _print_table(head, rows)


def print_starts(places: Mapping[str, Place], starts: Sequence[Start], *, title: str) -> list[Figure]:
    """Print what verdicts are worth without labels, each place by a prior that has not seen its family."""
    print(f"## {title}\n")
    states = ((0, "nothing known"), *((few, f"{few} own sessions") for few in FEW), (None, "all own sessions"))
    means = _print_means(
        [(name, _by_place(places, {each.place: each.by_known.get(known) for each in starts})) for known, name in states]
    )
    rows = [
        (each.place, *_place_cells(each.by_known[None], each.auc, each.mcc), *_beside(each.by_known[None]))
        for each in starts
    ]
    print("All own sessions known, place by place:\n")
    _print_table(("place", *_MEASURES, *_BESIDE), rows)
    return [_figure(f"no labels: {name}", means[field], f"{field}_0") for name, field in _named()]


def print_new_tasks(
    places: Mapping[str, Place], parts: Sequence[Mapping[str, tuple[list[Judged], list[Judged]]]]
) -> list[Figure]:
    """Print what verdicts are worth on new tasks of places that the prior has seen."""
    print("## New tasks of known places, no labels\n")
    unknown = {name: worth([each for part in parts for each in part[name][0]]) for name in places}
    at_home = {name: [each for part in parts for each in part[name][1]] for name in places}
    found = {name: worth(said) for name, said in at_home.items()}
    means = _print_means(
        [("nothing known of the home", _by_place(places, unknown)), ("all own sessions", _by_place(places, found))]
    )
    rows = [
        (name, *_place_cells(found[name], auc_of_place(said), mcc_of_place(said)), *_beside(found[name]))
        for name, said in at_home.items()
    ]
    print("All own sessions known, place by place:\n")
    _print_table(("place", *_MEASURES, *_BESIDE), rows)
    return [_figure(f"known places: {name}", means[field], f"{field}_known") for name, field in _named()[:2]]


def print_labels(places: Mapping[str, Place], trials: Sequence[LabelTrial]) -> list[Figure]:
    """Print what labels bring through the gate; gives the figures that have targets."""
    print("## Labels, through the gate\n")
    figures: list[Figure] = []
    for count in LABELS:
        some = [trial for trial in trials if trial.key.labels == count]
        if some:
            means = _print_means(_label_means(places, some, count))
            figures += [
                _figure(f"{count} labels: {name}", means[field], f"{field}_{count}") for name, field in _named()
            ]
    print("New tasks, place by place: AUC, MCC\n")
    _print_table(("place", *(f"{count} labels" for count in LABELS)), [_label_row(name, trials) for name in places])
    return figures + _print_adopted(trials)


def print_misled(trials: Sequence[LabelTrial]) -> list[Figure]:
    """Print what is adopted from labels that teach nothing."""
    print("## Labels that teach nothing\n")
    rows = []
    for truth in (Truth.SHUFFLED, Truth.COMPLETED, Truth.FAILED):
        for count in LABELS:
            some = [each for each in trials if each.key.truth is truth and each.key.labels == count]
            if some:
                rows.append((f"{truth}, {count}", *_adopted_cells(some), *_before_and_after(some)))
    _print_table(("labels", *_ADOPTED_HEAD, "AUC before, after", "MCC before, after"), rows)
    shuffled = [each for each in trials if each.key.truth is Truth.SHUFFLED]
    misled = sum(each.taught in (Taught.WEIGHTS, Taught.RULES) for each in shuffled)
    return [_share("weights or rules adopted from shuffled labels", misled, len(shuffled), VALIDITY["misled"])]


def print_homes(found: Sequence[Homes]) -> None:
    """Print what verdicts are worth in homes that are mixed, grow or change."""
    if not found:
        return
    print("## Simulated homes\n\nMixed of three places that the prior has not seen: AUC without labels\n")
    mixed = [each.mixed for each in found]
    rows = [
        (", ".join(each.names), *map(_number, (each.within, each.apart, each.over.auc, each.unknown, each.over.mcc)))
        for each in mixed
    ]
    columns = list(zip(*[(m.within, m.apart, m.over.auc, m.unknown, m.over.mcc) for m in mixed], strict=True))
    rows.append(("mean", *[_number(fmean(column)) for column in columns]))
    head = (
        "home",
        "within each kind",
        "the same, each a home of its own",
        "over the home",
        "nothing known of it",
        "MCC",
    )
    _print_table(head, rows)
    print("Mixed, 100 labels, new tasks\n")
    _print_worths(
        {
            "no labels": [each.unlabelled for each in mixed],
            "100 labels": [each.labelled for each in mixed],
        }
    )
    print("Growing: a verdict when a session comes in, and in the end\n")
    grown = [each.grown for each in found]
    _print_worths(
        {
            "on arrival": [each.on_arrival for each in grown],
            "in the end": [each.in_the_end for each in grown],
        }
    )
    print("Changing: verdicts on the new work\n")
    changed = [each.changed for each in found]
    _print_worths(
        {
            "the old sessions known": [each.at_once for each in changed],
            "as many new ones known": [each.later for each in changed],
            "the old sessions known, 100 of them labelled": [each.at_once_labelled for each in changed],
            "as many new ones known, 100 old ones labelled": [each.later_labelled for each in changed],
        }
    )


def print_claims(cases: Sequence[Case]) -> list[Figure]:
    """Print how often a contradicted claim is a failure, and a verified one a success."""
    print("## Claims\n")
    names = sorted({case.sample.source for case in cases})
    rows = [row for name in names if (row := _claim_row(name, [c for c in cases if c.sample.source == name]))]
    rows += [row for row in [_claim_row("all", cases)] if row]
    head = (
        "source",
        "with a claim",
        "contradicted, of these failed",
        "all that failed",
        "verified, of these completed",
    )
    _print_table((*head, "all that completed"), rows)
    contradicted = [case for case in cases if Support.CONTRADICTED in case.claims]
    failed = sum(not case.sample.completed for case in contradicted)
    sure = proportion(failed, len(contradicted))
    target = VALIDITY["contradicted"]
    return [Figure("contradicted claims that failed", _with_interval(sure), f">= {target:g}", _met(sure, target))]


_ADOPTED_HEAD = ("trials", "nothing", "level", "weights", "rules")


def _label_means(
    places: Mapping[str, Place], trials: Sequence[LabelTrial], count: int
) -> list[tuple[str, list[tuple[str, Worth]]]]:
    """Return what is known of new tasks without labels, of own tasks with labels and, last, of new ones with labels."""
    by_place: dict[str, list[LabelTrial]] = {}
    for trial in trials:
        by_place.setdefault(trial.key.place, []).append(trial)

    def means(worths: Callable[[LabelTrial], Worth | None]) -> list[tuple[str, Worth]]:
        known = {name: [each for each in map(worths, some) if each] for name, some in by_place.items()}
        return _by_place(places, {name: mean_worth(each) if each else None for name, each in known.items()})

    return [
        ("no labels, new tasks", means(lambda trial: trial.before)),
        (f"{count} labels, own tasks", means(lambda trial: trial.own)),
        (f"{count} labels, new tasks", means(lambda trial: trial.new)),
    ]


def _print_adopted(trials: Sequence[LabelTrial]) -> list[Figure]:
    print("What was adopted, and how often verdicts on new tasks lost more than .02 of MCC against no labels:\n")
    rows = []
    for count in LABELS:
        some = [each for each in trials if each.key.labels == count]
        if some:
            rows.append((str(count), *_adopted_cells(some), *_before_and_after(some), str(len(_worse(some)))))
    _print_table(("labels", *_ADOPTED_HEAD, "AUC before, after", "MCC before, after", "worse"), rows)
    adopted = [each for each in trials if each.taught is not Taught.NOTHING]
    return [_share("adopted judges that lose > .02 of MCC", len(_worse(adopted)), len(adopted), VALIDITY["worse"])]


def _worse(trials: Sequence[LabelTrial]) -> list[LabelTrial]:
    return [each for each in trials if each.taught is not Taught.NOTHING and each.new.mcc < each.before.mcc - _WORSE]


def _adopted_cells(trials: Sequence[LabelTrial]) -> list[str]:
    counted = Counter(each.taught for each in trials)
    return [str(len(trials)), *[str(counted[each]) for each in Taught]]


def _before_and_after(trials: Sequence[LabelTrial]) -> tuple[str, str]:
    def both(measure: Callable[[Worth], float]) -> str:
        return f"{fmean(measure(t.before) for t in trials):.3f}, {fmean(measure(t.new) for t in trials):.3f}"

    return both(lambda each: each.auc), both(lambda each: each.mcc)


def _label_row(place: str, trials: Sequence[LabelTrial]) -> Row:
    cells = []
    for count in LABELS:
        some = [each for each in trials if each.key.place == place and each.key.labels == count]
        if some:
            cells.append(", ".join(_with_interval(_typical([f(each) for each in some])) for f in (_its_auc, _its_mcc)))
        else:
            cells.append("–")
    return (place, *cells)


def _its_auc(trial: LabelTrial) -> Estimate:
    return trial.auc


def _its_mcc(trial: LabelTrial) -> Estimate:
    return trial.mcc


def _typical(estimates: Sequence[Estimate]) -> Estimate:
    """Return the mean of several splits of one place, no surer than each of them."""
    value, low, high = [fmean(column) for column in zip(*[(e.value, e.low, e.high) for e in estimates], strict=True)]
    return Estimate(value=value, low=low, high=high, sample=len(estimates))


def _by_place(places: Mapping[str, Place], worths: Mapping[str, Worth | None]) -> list[tuple[str, Worth]]:
    return [(places[name].family, worth) for name, worth in worths.items() if worth is not None]


def _print_means(named: Sequence[tuple[str, Sequence[tuple[str, Worth]]]]) -> dict[str, Estimate]:
    """Print means over places with their intervals over families; gives the last of them by measure."""
    rows, means = [], dict.fromkeys(Worth.__struct_fields__, Estimate())
    for name, worths in named:
        means = {field: _mean_of(field, worths) for field in Worth.__struct_fields__}
        rows.append(
            (
                name,
                str(len(worths)),
                *[_with_interval(means[field]) for field in _FIELDS],
                *[_short(means[field]) for field in ("floor", "rules_auc", "rules_mcc")],
                *[_short(means[field]) for field in ("constant_skill", "constant_ece")],
                ", ".join(_percent(means[field]) for field in ("unsure", "wrong_unsure", "wrong_sure")),
            )
        )
    beside = ("ECE if exactly right", "rules: AUC", "MCC", "constant: skill", "ECE")
    _print_table(("known", "places", *_MEASURES, *beside, "unsure; wrong of these, of the others"), rows)
    return means


def _mean_of(field: str, worths: Sequence[tuple[str, Worth]]) -> Estimate:
    known = [(family, getattr(worth, field)) for family, worth in worths]
    return over_places([(family, value) for family, value in known if value is not None])


def _print_worths(named: Mapping[str, Sequence[Worth]]) -> None:
    rows = []
    for name, worths in named.items():
        mean = mean_worth(worths)
        rows.append((name, *[_number(getattr(mean, field)) for field in _FIELDS], *_beside(mean)))
    _print_table(("", *_MEASURES, *_BESIDE), rows)


def _place_cells(found: Worth, auc: Estimate, mcc: Estimate) -> tuple[str, ...]:
    return _with_interval(auc), _with_interval(mcc), _number(found.skill), _number(found.ece)


def _beside(found: Worth) -> tuple[str, str]:
    return (
        f"{found.rules_auc:.3f} / {found.rules_mcc:.3f}",
        f"{found.constant_skill:.3f} / {found.constant_ece:.3f}",
    )


def _source_row(name: str, cases: Sequence[Case], *, is_tested: bool) -> Row:
    samples = [case.sample for case in cases]
    outcomes, verdicts = [sample.completed for sample in samples], [sample.by_rules for sample in samples]
    said = [sample.completed for sample in samples if sample.by_rules]
    return (
        name,
        samples[0].family,
        f"{len(cases):,}",
        f"{len({sample.task for sample in samples}):,}",
        f"{fmean(outcomes):.0%}",
        f"{fmean(verdicts):.0%}",
        f"{fmean(said):.2f}" if said else "–",
        f"{matthews(outcomes, verdicts):.2f}" if is_tested else "–",
    )


def _claim_row(name: str, cases: Sequence[Case]) -> Row | None:
    claiming = [case for case in cases if case.claims]
    if not claiming:
        return None
    contradicted = [case.sample.completed for case in claiming if Support.CONTRADICTED in case.claims]
    verified = [case.sample.completed for case in claiming if Support.VERIFIED in case.claims]
    rate = fmean(case.sample.completed for case in cases)
    return (
        name,
        f"{len(claiming):,}",
        f"{contradicted.count(False)} of {len(contradicted)}",
        f"{1 - rate:.0%}",
        f"{verified.count(True)} of {len(verified)}",
        f"{rate:.0%}",
    )


def _named() -> tuple[tuple[str, str], ...]:
    return tuple(zip(_MEASURES, _FIELDS, strict=True))


def _figure(name: str, found: Estimate, key: str) -> Figure:
    """Return a mean beside its target, if it has one; of a calibration error less is better."""
    target = VALIDITY.get(key)
    if target is None:
        return Figure(name, _with_interval(found))
    if key.startswith("ece"):
        met = found.value is not None and found.value <= target
        return Figure(name, _with_interval(found), f"<= {target:g}", met)
    return Figure(name, _with_interval(found), f">= {target:g}", _met(found, target))


def _share(name: str, part: int, whole: int, target: float) -> Figure:
    found = proportion(part, whole)
    met = None if found.value is None else found.value <= target
    return Figure(name, f"{part} of {whole}", f"<= {target:.0%}", met)


def _met(found: Estimate, target: float) -> bool | None:
    return None if found.value is None else found.value >= target


def _with_interval(found: Estimate) -> str:
    if found.value is None:
        return "–"
    if found.low is None or found.high is None:
        return f"{found.value:.3f}"
    return f"{found.value:.3f} ({found.low:.2f} to {found.high:.2f})"


def _percent(found: Estimate) -> str:
    return "–" if found.value is None else f"{found.value:.0%}"


def _short(found: Estimate) -> str:
    return "–" if found.value is None else _number(found.value)


def _number(value: float) -> str:
    return f"{value:.3f}"


def _print_table(head: Row, rows: Sequence[Row]) -> None:
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    for row in (head, ["-" * width for width in widths], *rows):
        print(f"| {' | '.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))} |")
    print()
