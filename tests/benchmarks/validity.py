"""How far verdicts and probabilities can be trusted, on sessions whose outcome is known.

Run it as ``python -m tests.benchmarks.validity [FOLDER]`` in the repository. FOLDER holds ``labels.csv`` (session_id,
success or completed, source, task_id) and session files at any depth, or ``.jsonl.gz`` files with a session a line.

Nothing is tested on what it was trained on. Every source is tested with a prior that was trained without it and without
the sources that share tasks with it; the prior that ships with the package is not used. For all but the first table,
the tasks of a source are split in halves at random (more for calibration where half is too few); what the person has,
sessions without labels or also labels, is drawn from the one and tested on the other, with several seeds. A row is the
mean over the sources in which there are both outcomes. `floor` is the calibration error that the same probabilities
would have on test sets of this size if they were exactly right; `constant` the error of always giving the share of the
labels.
"""

from __future__ import annotations

import argparse
import gzip
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean

import msgspec

from grader_daemon.analysis.features import DIRECTIONS, FEATURES_VERSION
from grader_daemon.calibration.agreement import calibration_error, matthews, ranking, skill
from grader_daemon.calibration.crossvalidation import leave_out
from grader_daemon.calibration.prior import Prior
from grader_daemon.calibration.prior_training import train_prior
from grader_daemon.calibration.samples import Sample, by_source
from grader_daemon.calibration.update import update
from grader_daemon.domain.completion_model import CompletionModel
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import Session
from grader_daemon.errors import GraderError
from grader_daemon.pipeline.labelled import LabelRow, Sampler, read_labels
from grader_daemon.rules import load_rules
from grader_daemon.sources.hermes.snapshot import parse
from tests.benchmarks import machine
from tests.benchmarks.targets import VALIDITY
from tests.units import hermes

_TRUTH = Path(__file__).parents[3] / "shared/data/truth"
_LABELS = (100, 200)
_SESSIONS = 20
"""Without labels that many sessions of one's own are known."""

_ALMOST_ALL = 1.05
"""Calibration tasks hold at least that many times the labels."""


class Case(msgspec.Struct, frozen=True):
    """A labelled session, and whether a claim in it is contradicted."""

    sample: Sample
    contradicted: bool


class Worth(msgspec.Struct, frozen=True):
    """What probabilities and verdicts were worth on one test set."""

    ranking: float
    matthews: float
    skill: float
    error: float
    floor: float = 0.0
    constant: float = 0.0


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=_TRUTH, help="sessions and labels.csv")
    parser.add_argument("--seeds", type=int, default=10, help="splits of the tasks of a source (default: %(default)s)")
    arguments = parser.parse_args()
    machine.print_machine()
    cases = list(_cases(arguments.folder))
    tested = {source: each for source, each in by_source([case.sample for case in cases]).items() if _has_both(each)}
    print(f"{len(cases):,} sessions; tested on {len(tested)} sources, {arguments.seeds} seeds each:")
    print("  " + ", ".join(f"{source} {len(each)}" for source, each in tested.items()))
    priors = _priors([case.sample for case in cases])
    missed = _without_labels(tested, priors)
    _with_sessions(tested, priors, seeds=arguments.seeds)
    for labels in _LABELS:
        missed |= _with_labels(tested, priors, labels=labels, seeds=arguments.seeds)
    return int(missed | _claims(cases))


def _cases(folder: Path) -> Iterator[Case]:
    labels = read_labels(folder / "labels.csv")
    sampler = Sampler(load_rules())
    for number, session in enumerate(_sessions(folder)):
        machine.progress(f"read {number:,} sessions")
        label = labels.get(session.session_id)
        if label is not None:
            yield _case(session, label, sampler)
    machine.progress_done()


def _case(session: Session, label: LabelRow, sampler: Sampler) -> Case:
    analysis = sampler.analyze(session)
    contradicted = any(claim.support == "contradicted" for claim in analysis.claims)
    return Case(sampler.sample(session, analysis, label), contradicted)


def _sessions(folder: Path) -> Iterator[Session]:
    for archive in sorted(folder.rglob("*.jsonl.gz")):
        with gzip.open(archive) as lines:
            for line in lines:
                yield from _session(line, "session_x.json")
    for walk in hermes([folder]).walks():
        for found in walk:
            path = found.unit.locator
            yield from _session(Path(path).read_bytes(), path)


def _session(content: bytes, path: str) -> Iterator[Session]:
    try:
        session = parse(content, path, limits=Limits())
    except GraderError as error:
        print(f"  left out: {error}")
        return
    if isinstance(session, Session):
        yield session


def _priors(samples: Sequence[Sample]) -> dict[str, Prior]:
    """Train the prior of each source: without it and its relatives."""
    priors = {}
    for training, tested in leave_out(samples):
        sources = sorted({sample.source for sample in tested})
        machine.progress(f"training without {', '.join(sources)}")
        prior = train_prior(training, DIRECTIONS, version="", features_version=FEATURES_VERSION)
        priors.update(dict.fromkeys(sources, prior))
    machine.progress_done()
    return priors


def _without_labels(tested: Mapping[str, Sequence[Sample]], priors: Mapping[str, Prior]) -> bool:
    by_rules = [_worth_of_rules(samples) for samples in tested.values()]
    by_model = [_worth(priors[source].model, samples) for source, samples in tested.items()]
    print("\nno labels, source left out")
    rows = [
        (source, str(len(samples)), *_numbers(rules)[:2], *_numbers(model)[:4])
        for (source, samples), rules, model in zip(tested.items(), by_rules, by_model, strict=True)
    ]
    mean = _mean(by_model)
    rows.append(("mean", str(sum(map(len, tested.values()))), *_numbers(_mean(by_rules))[:2], *_numbers(mean)[:4]))
    machine.print_table(("source", "n", "rules AUC", "rules MCC", "AUC", "MCC", "skill", "ECE"), rows)
    return _told("AUC", mean.ranking, VALIDITY["auc_0"]) | _told("MCC", mean.matthews, VALIDITY["mcc_0"])


def _with_sessions(tested: Mapping[str, Sequence[Sample]], priors: Mapping[str, Prior], *, seeds: int) -> None:
    print(f"\n{_SESSIONS} sessions of the source, no labels")
    rows, means = [], []
    for source, samples in tested.items():
        found = []
        for seed in range(seeds):
            chance = random.Random(seed)
            own, others = _split(samples, 0, chance)
            history = [sample.features for sample in chance.sample(own, min(_SESSIONS, len(own)))]
            found.append(_worth(update(priors[source], (), history=history, version=""), others))
        means.append(_mean(found))
        rows.append((source, *_numbers(means[-1])[:4]))
    rows.append(("mean", *_numbers(_mean(means))[:4]))
    machine.print_table(("source", "AUC", "MCC", "skill", "ECE"), rows)


def _with_labels(
    tested: Mapping[str, Sequence[Sample]], priors: Mapping[str, Prior], *, labels: int, seeds: int
) -> bool:
    print(f"\n{labels} labels of the source")
    rows, means = [], []
    for source, samples in tested.items():
        found = []
        for seed in range(seeds):
            machine.progress(f"{source}, seed {seed}")
            found.append(_learned(priors[source], samples, labels, seed))
        means.append(_mean([worth for worth, _, _ in found]))
        rows.append((source, str(found[0][1]), f"{fmean(size for _, _, size in found):.0f}", *_numbers(means[-1])))
    machine.progress_done()
    mean = _mean(means)
    rows.append(("mean", "", "", *_numbers(mean)))
    machine.print_table(("source", "labels", "tested", "AUC", "MCC", "skill", "ECE", "floor", "constant"), rows)
    return (
        _told("AUC", mean.ranking, VALIDITY[f"auc_{labels}"])
        | _told("skill", mean.skill, VALIDITY[f"skill_{labels}"])
        | _told("ECE", -mean.error, -VALIDITY[f"ece_{labels}"])
    )


def _learned(prior: Prior, samples: Sequence[Sample], labels: int, seed: int) -> tuple[Worth, int, int]:
    """Learn from labels of one half of the tasks; gives the worth on the other, labels used and sessions tested."""
    chance = random.Random(seed)
    own, others = _split(samples, labels, chance)
    labelled = chance.sample(own, min(labels, len(own)))
    model = update(prior, labelled, history=[sample.features for sample in own], version="")
    share = sum(sample.completed for sample in labelled) / len(labelled)
    worth = _worth(model, others)
    outcomes = [sample.completed for sample in others]
    likely = [model.predict(sample.features) or 0.0 for sample in others]
    floor = calibration_error([chance.random() < p for p in likely], likely)
    constant = calibration_error(outcomes, [share] * len(others))
    return msgspec.structs.replace(worth, floor=floor, constant=constant), len(labelled), len(others)


def _split(samples: Sequence[Sample], labels: int, chance: random.Random) -> tuple[list[Sample], list[Sample]]:
    tasks = sorted({sample.task for sample in samples})
    chance.shuffle(tasks)
    of_task: dict[str, list[Sample]] = {}
    for sample in samples:
        of_task.setdefault(sample.task, []).append(sample)
    own: list[Sample] = []
    while len(own) < max(len(samples) / 2, labels * _ALMOST_ALL) and len(tasks) > 1:
        own += of_task[tasks.pop()]
    return own, [sample for task in tasks for sample in of_task[task]]


def _worth(model: CompletionModel, samples: Sequence[Sample]) -> Worth:
    outcomes = [sample.completed for sample in samples]
    likely = [model.predict(sample.features) or 0.0 for sample in samples]
    return Worth(
        ranking=ranking(outcomes, likely) or 0.0,
        matthews=matthews(outcomes, [p >= model.threshold for p in likely]),
        skill=skill(outcomes, likely) or 0.0,
        error=calibration_error(outcomes, likely),
    )


def _worth_of_rules(samples: Sequence[Sample]) -> Worth:
    outcomes, verdicts = [sample.completed for sample in samples], [sample.by_rules for sample in samples]
    likely = [float(verdict) for verdict in verdicts]
    return Worth(
        ranking=ranking(outcomes, likely) or 0.0,
        matthews=matthews(outcomes, verdicts),
        skill=skill(outcomes, likely) or 0.0,
        error=calibration_error(outcomes, likely),
    )


def _claims(cases: Sequence[Case]) -> bool:
    contradicted = [case for case in cases if case.contradicted]
    if not contradicted:
        print("\nno claim is contradicted")
        return False
    failed = sum(not case.sample.completed for case in contradicted)
    print(f"\nclaims contradicted: {len(contradicted)} sessions, of which {failed} failed")
    return _told("precision", failed / len(contradicted), VALIDITY["contradicted"])


def _has_both(samples: Sequence[Sample]) -> bool:
    return 0 < sum(sample.completed for sample in samples) < len(samples)


def _mean(worths: Sequence[Worth]) -> Worth:
    return Worth(*[fmean(values) for values in zip(*map(msgspec.structs.astuple, worths), strict=True)])


def _numbers(worth: Worth) -> tuple[str, ...]:
    return tuple(f"{value:.3f}" for value in msgspec.structs.astuple(worth))


def _told(name: str, value: float, target: float) -> bool:
    """Print a mean beside its target; gives whether it is missed."""
    print(f"  {name} {abs(value):.3f}, target {abs(target):g}: {machine.verdict(value >= target)}")
    return value < target


if __name__ == "__main__":
    sys.exit(main())
