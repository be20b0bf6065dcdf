"""How often the fate of a session's work is told right: 220 repositories that git made, a few of each fate.

    python -m tests.benchmarks.outcomes [--each 10] [--seed 1]

Each holds a session that wrote one to four files among commits of others, and was looked at after an hour, two days and
eight. What is told is held against what was done: a label *not done*, commits that are on no branch any more, commits
that were rewritten, lines that are still there, and lines that somebody changed within the hour. Says what a look
costs.
"""

from __future__ import annotations

import argparse
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Final, NamedTuple

from grader_daemon.outcomes.budget import Budget
from grader_daemon.outcomes.model import SeenFate
from tests.followed import BEGAN, DAY, HOUR, Follower, Worker
from tests.repositories import Repository

_LATER: Final = BEGAN + 3 * HOUR
_WORDS: Final = ("parse", "count", "total", "render", "fetch", "store", "merge", "split", "match", "write")


class Expected(NamedTuple):
    """What was done to the work of a session, as it is to be told."""

    reverted: bool = False
    dropped: bool = False
    replaced: bool = False
    kept: float = 1.0
    rewritten: bool = False


class Made(NamedTuple):
    """A session's work, and what is needed to do something to it: texts by their paths, before and after."""

    repository: Repository
    before: dict[str, str | None]
    after: dict[str, str]
    commits: list[str]
    chance: random.Random

    @property
    def commit(self) -> str:
        """The last commit of the session."""
        return self.commits[-1]


def text(chance: random.Random, lines: int) -> str:
    """Return a program of so many lines that stand nowhere else."""
    made = [
        f"def {chance.choice(_WORDS)}_{chance.randrange(10**9)}(value):\n    return value + {chance.randrange(10**9)}"
        for _ in range((lines + 1) // 2)
    ]
    return "\n\n".join(made) + "\n"


def others(made: Made, count: int, *, at: timedelta = timedelta(hours=2)) -> None:
    """Have others commit something else."""
    for number in range(count):
        name = f"other_{made.chance.randrange(10**9)}.py"
        made.repository.commit({name: text(made.chance, 6)}, "More", at=BEGAN + at + timedelta(minutes=number))


def kept(made: Made) -> Expected:
    others(made, 3)
    return Expected()


def reverted(made: Made) -> Expected:
    others(made, 2)
    for number, commit in enumerate(reversed(made.commits)):
        made.repository.revert(commit, at=_LATER + timedelta(minutes=number))
    return Expected(reverted=True, kept=0)


def reverted_in_own_words(made: Made) -> Expected:
    others(made, 1)
    for commit in reversed(made.commits):
        made.repository.git("revert", "--no-commit", commit, at=_LATER)
        made.repository.git("commit", "-m", "Go back to how it was", at=_LATER)
    return Expected(reverted=True, kept=0)


def revert_reverted(made: Made) -> Expected:
    for commit in [made.repository.revert(commit, at=_LATER) for commit in reversed(made.commits)][::-1]:
        made.repository.revert(commit, at=_LATER + HOUR)
    return Expected()


def reset(made: Made) -> Expected:
    made.repository.git("reset", "--hard", f"HEAD~{len(made.commits)}", at=_LATER)
    others(made, 2, at=timedelta(hours=4))
    return Expected(dropped=True, kept=0)


def amended(made: Made) -> Expected:
    made.repository.write({"notes.md": "Amended.\n"})
    made.repository.git("add", "--all", at=_LATER)
    made.repository.git("commit", "--amend", "--no-edit", at=_LATER)
    return Expected(replaced=True)


def _branch_off(made: Made) -> None:
    """Put the work on a branch of its own, beside which others went on."""
    made.repository.git("branch", "work", at=_LATER)
    made.repository.git("reset", "--hard", f"HEAD~{len(made.commits)}", at=_LATER)
    others(made, 2)


def rebased(made: Made) -> Expected:
    git = made.repository.git
    _branch_off(made)
    git("rebase", "--quiet", "main", "work", at=_LATER)
    git("checkout", "--quiet", "main", at=_LATER)
    git("merge", "--quiet", "--ff-only", "work", at=_LATER)
    git("branch", "-D", "work", at=_LATER)
    return Expected(replaced=True)


def _squashed(made: Made) -> str:
    git = made.repository.git
    _branch_off(made)
    git("merge", "--quiet", "--squash", "work", at=_LATER)
    git("commit", "-m", "Count words (#1)", at=_LATER)
    git("branch", "-D", "work", at=_LATER)
    return made.repository.head


def squashed(made: Made) -> Expected:
    _squashed(made)
    return Expected(replaced=True)


def squashed_and_reverted(made: Made) -> Expected:
    made.repository.revert(_squashed(made), at=_LATER + HOUR)
    return Expected(reverted=True, dropped=True, kept=0)


def merge_reverted(made: Made) -> Expected:
    git = made.repository.git
    _branch_off(made)
    git("merge", "--quiet", "--no-ff", "work", at=_LATER)
    others(made, 1, at=timedelta(hours=3))
    made.repository.revert("HEAD~1", at=_LATER + HOUR, more=("-m", "1"))
    return Expected(reverted=True, kept=0)


def reverted_elsewhere(made: Made) -> Expected:
    made.repository.git("checkout", "--quiet", "-b", "trial", at=_LATER)
    made.repository.revert(made.commit, at=_LATER)
    made.repository.git("checkout", "--quiet", "main", at=_LATER)
    return Expected()


def cleaned_up_weeks_later(made: Made) -> Expected:
    gone = {name: None for name in made.after if made.before[name] is None}
    back = {name: old for name, old in made.before.items() if old is not None}
    made.repository.commit({**gone, **back}, "Rewrite it", at=BEGAN + 7 * DAY + HOUR)
    return Expected(kept=0)


def partly_rewritten(made: Made) -> Expected:
    files, left, total = {}, 0, 0
    for name, after in made.after.items():
        old = (made.before[name] or "").split("\n")
        mine = [line for line in after.split("\n") if line.strip() and line not in old]
        away = set(mine[: len(mine) // 2])
        files[name] = "\n".join(line for line in after.split("\n") if line not in away)
        left, total = left + len(mine) - len(away), total + len(mine)
    made.repository.commit(files, "Simplify", at=_LATER)
    return Expected(kept=left / total)


def changed_within_the_hour(made: Made) -> Expected:
    name, after = next(iter(made.after.items()))
    old = (made.before[name] or "").split("\n")
    mine = next(line for line in after.split("\n") if line.strip() and line not in old)
    made.repository.commit({name: after.replace(mine, "# No.", 1)}, "Fix", at=BEGAN + timedelta(minutes=30))
    total = sum(
        1
        for each, text in made.after.items()
        for line in text.split("\n")
        if line.strip() and line not in (made.before[each] or "").split("\n")
    )
    return Expected(rewritten=True, kept=1 - 1 / total)


def packed_and_reverted(made: Made) -> Expected:
    others(made, 5)
    for commit in reversed(made.commits):
        made.repository.revert(commit, at=_LATER)
    made.repository.git("gc", "--quiet", "--aggressive", "--prune=now", at=_LATER)
    return Expected(reverted=True, kept=0)


def reset_and_pruned(made: Made) -> Expected:
    reset(made)
    made.repository.git("reflog", "expire", "--expire=now", "--all", at=_LATER)
    made.repository.git("gc", "--quiet", "--prune=now", at=_LATER)
    return Expected(dropped=True, kept=0)


def branch_thrown_away(made: Made) -> Expected:
    made.repository.git("checkout", "--quiet", "--detach", f"HEAD~{len(made.commits)}", at=_LATER)
    made.repository.git("branch", "-D", "main", at=_LATER)
    made.repository.git("checkout", "--quiet", "-b", "main", at=_LATER)
    return Expected(dropped=True, kept=0)


def picked(made: Made) -> Expected:
    git = made.repository.git
    git("branch", "work", at=_LATER)
    git("reset", "--hard", f"HEAD~{len(made.commits)}", at=_LATER)
    others(made, 1)
    for commit in made.commits:
        git("cherry-pick", commit, at=_LATER)
    git("branch", "-D", "work", at=_LATER)
    return Expected(replaced=True)


def moved(made: Made) -> Expected:
    for name in made.after:
        made.repository.git("mv", name, f"moved_{name}", at=_LATER)
    made.repository.commit({}, "Move", at=_LATER)
    return Expected()


def reformatted(made: Made) -> Expected:
    files: dict[str, str | None] = {name: after.replace("    ", "\t") for name, after in made.after.items()}
    made.repository.commit(files, "Tabs", at=_LATER)
    return Expected()


def left_alone_on_a_branch(made: Made) -> Expected:
    made.repository.git("checkout", "--quiet", "-b", "other", f"HEAD~{len(made.commits)}", at=_LATER)
    others(made, 2)
    return Expected(kept=0)


def reverted_and_done_again(made: Made) -> Expected:
    for commit in reversed(made.commits):
        made.repository.revert(commit, at=_LATER)
    files: dict[str, str | None] = {**made.after}
    made.repository.commit(files, "Again, with the fix", at=_LATER + HOUR)
    return Expected()


FATES: Final[tuple[Callable[[Made], Expected], ...]] = (
    *(kept, reverted, reverted_in_own_words, revert_reverted, reset, amended, rebased, squashed),
    *(squashed_and_reverted, merge_reverted, reverted_elsewhere, cleaned_up_weeks_later, partly_rewritten),
    *(changed_within_the_hour, packed_and_reverted, reset_and_pruned, branch_thrown_away, picked, reformatted, moved),
    *(left_alone_on_a_branch, reverted_and_done_again),
)


def made(folder: Path, session_id: str, chance: random.Random) -> tuple[Made, Worker]:
    """Have a session work in a repository of its own."""
    repository = Repository(folder, at=BEGAN - 30 * DAY)
    for number in range(chance.randint(1, 8)):
        files: dict[str, str | None] = {f"old_{number}.py": text(chance, chance.randint(4, 40))}
        repository.commit(files, "Earlier", at=BEGAN - timedelta(days=20 - number))
    old = sorted(path.name for path in folder.glob("old_*.py"))
    worker = Worker(repository, session_id)
    before: dict[str, str | None] = {}
    after: dict[str, str] = {}
    commits = []
    for number in range(chance.randint(1, 2)):
        for each in range(chance.randint(1, 2)):
            name = f"new_{number}_{each}.py"
            before[name], after[name] = None, text(chance, chance.randint(6, 60))
            worker.write(name, after[name])
        if chance.random() < 0.5 and number < len(old):
            name = old[number]
            before[name] = earlier = (folder / name).read_text()
            first = earlier.partition("\n\n")[0]
            worker.edit(name, first, text(chance, 6).rstrip("\n"))
            after[name] = (folder / name).read_text()
        commits.append(worker.commit())
    return Made(repository, before, after, commits, chance), worker


def wrong(fate: SeenFate, expected: Expected) -> list[str]:
    """Return what is told otherwise than it was."""
    told = {
        "reverted": (fate.is_reverted, expected.reverted),
        "dropped": (bool(fate.dropped), expected.dropped),
        "replaced": (bool(fate.replaced), expected.replaced),
        "rewritten": (fate.rewritten is not None, expected.rewritten),
        "trouble": (fate.trouble, None),
    }
    found = [name for name, (is_so, shall) in told.items() if is_so != shall]
    last = fate.survival[-1] if fate.survival else None
    if last is None or abs(last.kept / last.lines - expected.kept) > 1e-9:
        found.append("lines")
    return found


def main() -> None:
    """Make the repositories, look, and tell what was told right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="outcomes-"))
    try:
        run(folder, given.each, random.Random(given.seed))
    finally:
        shutil.rmtree(folder)


def run(folder: Path, each: int, chance: random.Random) -> None:
    """Make so many of each fate below a folder, and print what was told."""
    budgets = _remembered()
    works: dict[str, tuple[Callable[[Made], Expected], Made]] = {}
    with closing(Follower(folder / "grader")) as follower:
        paths = []
        for number, fate in enumerate(FATES * each):
            session_id = f"{number:08x}-1111-4222-8333-444455556666"
            work, worker = made(folder / f"r{number}", session_id, chance)
            works[session_id] = fate, work
            paths.append(worker.end(follower.sessions))
        follower.grade(paths)
        cpu = _look(follower, HOUR, len(works))
        expected = {session_id: fate(work) for session_id, (fate, work) in works.items()}
        cpu += _look(follower, 2 * DAY, len(works))
        cpu += _look(follower, 8 * DAY, len(works))
        told = {session_id: wrong(follower.fate(session_id), expected[session_id]) for session_id in works}
    rows = Counter(works[session_id][0].__name__ for session_id in works)
    print(f"{'fate':28} right  of   wrong in")
    for name, count in rows.items():
        errors = [told[session_id] for session_id, (fate, _) in works.items() if fate.__name__ == name]
        kinds = Counter(kind for each_wrong in errors for kind in each_wrong)
        print(f"{name:28} {sum(not found for found in errors):5} {count:3}   {dict(kinds) or ''}")
    print(f"all: {sum(not found for found in told.values())} of {len(told)} right")
    looks, size = max(1, 3 * len(works)), sum(budget.bytes for budget in budgets)
    print(f"a look: {1000 * cpu / looks:.1f} ms of a processor, {size / looks / 1000:,.0f} kB read; {looks:,} looks")


def _remembered() -> list[Budget]:
    """Return a list into which the budget of each look comes from now on."""
    budgets: list[Budget] = []
    begin = Budget.__init__

    def remember(budget: Budget, cpu_seconds: float, **bounds: int) -> None:
        begin(budget, cpu_seconds, **bounds)
        budgets.append(budget)

    setattr(Budget, "__init__", remember)  # noqa: B010  which a type checker does not take for a method
    return budgets


def _look(follower: Follower, after: timedelta, sessions: int) -> float:
    began = time.thread_time()
    for _ in range(-(-sessions // 20) + 1):
        follower.look(after)
    return time.thread_time() - began


if __name__ == "__main__":
    main()
