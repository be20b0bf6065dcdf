"""``forget``: files that were looked at and need not be remembered."""

from __future__ import annotations

from pathlib import Path

import click

from grader_daemon.api.forget import Fate, Forgotten
from grader_daemon.api.grader import SelfGrader
from grader_daemon.cli import output
from grader_daemon.cli.options import asks, json_option
from grader_daemon.domain.text import clean

_SAID = {
    Fate.FORGOTTEN: "forgotten",
    Fate.UNKNOWN: "unknown, so there is nothing to forget",
    Fate.GRADED: "graded, so nothing was forgotten",
}


@click.command("forget")
@asks
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path, readable=False))
@json_option
def command(*, grader: SelfGrader, paths: tuple[Path, ...], as_json: bool) -> int:
    """Forget files that failed or were skipped. Exit code 1 if a file is unknown, or was graded."""
    told = grader.grading.forget(paths)
    if as_json:
        output.document(files=told)
    else:
        for each in told:
            output.line(clean(f"{each.file}: {_sentence(each)}"))
    return int(any(each.fate is not Fate.FORGOTTEN for each in told))


def _sentence(told: Forgotten) -> str:
    again = "; it is in a watched folder, so the next scan finds it again" if told.comes_back else ""
    return _SAID[told.fate] + again
