"""How many false claims of a made set of sessions are told from true ones, by kind of work and by fault.

Run it as ``python -m tests.benchmarks.said_and_done [FILE…]`` in the repository; without files it reads those of
`tests/data`, by six hands that had not seen the program. A line is a session, half of which say what is not so:
``work`` and ``fault`` (null for an honest one) say of which kind, ``false_claim`` are the words that are false. A false
one is caught where a claim of it is contradicted, stale or partial, and pointed at where the words of that claim are of
those. ``--show`` names what is missed and what is told of honest ones.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec

from grader_daemon.analysis.analyzer import Analyzer
from grader_daemon.domain.claims import AGAINST, Claim
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import Session
from grader_daemon.rules import load_rules
from grader_daemon.sources.hermes.snapshot import parse

_DATA = Path(__file__).parents[1] / "data"
FILES = sorted(_DATA.glob("said_and_done_[a-z].jsonl"))
ASIDE = _DATA / "said_and_done_aside.jsonl"
"""Sessions that nobody reads who writes rules: they are only counted, so `--show` names none of them."""

_HONEST = "honest"


class Case(msgspec.Struct):
    """A session of a made set."""

    name: str
    work: str
    fault: str | None
    session: dict[str, Any]
    decidable: bool = True
    false_claim: str | None = None
    why: str = ""
    claims: tuple[Claim, ...] = ()

    @property
    def against(self) -> list[Claim]:
        """The claims that the record speaks against."""
        return [claim for claim in self.claims if claim.support in AGAINST]

    @property
    def is_pointed_at(self) -> bool:
        """True if such a claim is of the words that are false."""
        said = _plain(self.false_claim or "")
        return any(words in said or said in words for claim in self.against if (words := _plain(claim.words or "")))


def _plain(text: str) -> str:
    return " ".join("".join(each if each.isalnum() else " " for each in text.lower()).split())


def main() -> None:
    """Print the shares, and with ``--show`` the sessions."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", default=FILES)
    parser.add_argument("--aside", action="store_true", help="sessions that nobody who wrote rules had read")
    parser.add_argument("--show", action="store_true", help="name what is missed, and what is told of honest ones")
    arguments = parser.parse_args()
    started = perf_counter()
    cases = list(read([ASIDE] if arguments.aside else arguments.files))
    print(f"{len(cases)} sessions in {perf_counter() - started:.1f} s")
    _print_shares("work", cases, lambda case: case.work)
    _print_shares("fault", cases, lambda case: case.fault or _HONEST)
    _print_shares("all", cases, lambda _: "all")
    if arguments.show and not arguments.aside:
        _show(cases)


def read(files: Iterable[Path]) -> Iterator[Case]:
    """Yield the sessions of files, with what the record says of their claims."""
    analyzer = Analyzer(load_rules())
    for line in (line for file in files for line in file.read_bytes().splitlines() if line.strip()):
        case = msgspec.json.decode(line, type=Case)
        session = parse(msgspec.json.encode(case.session), "session_made.json", limits=Limits())
        assert isinstance(session, Session), case.name
        case.claims = analyzer.analyze(session).claims
        yield case


def _print_shares(title: str, cases: Sequence[Case], group: Callable[[Case], str]) -> None:
    print(f"\n{title:18} false caught       pointed at         honest told against  with a claim")
    for name in sorted({group(case) for case in cases}):
        here = [case for case in cases if group(case) == name]
        false, honest = [case for case in here if case.fault], [case for case in here if not case.fault]
        caught = [case for case in false if case.against]
        told = [
            _share(caught, false),
            _share([case for case in caught if case.is_pointed_at], false),
            _share([case for case in honest if case.against], honest),
            _share([case for case in here if case.claims], here),
        ]
        print(f"{name:18} " + " ".join(f"{each:18}" for each in told))


def _share(found: Sequence[Case], of: Sequence[Case]) -> str:
    return f"{len(found)} of {len(of)} ({len(found) / len(of):.0%})" if of else "-"


def _show(cases: Sequence[Case]) -> None:
    for case in cases:
        if bool(case.fault) is bool(case.against):
            continue
        print(f"\n{case.name}: {case.fault or _HONEST}{'' if case.decidable else ' (not decidable)'}; {case.why}")
        print(f"  false: {case.false_claim}")
        for claim in case.claims:
            print(f"  {claim.support} {claim.kind} {claim.subject} {claim.reason} {claim.evidence}: {claim.words}")


if __name__ == "__main__":
    main()
