"""``report errors``: failures of one cause, what helped, and what people say of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click

from grader_daemon.api.grader import SelfGrader
from grader_daemon.cli import output
from grader_daemon.cli.groups import GroupWithDefault
from grader_daemon.cli.options import Whole, days_option, json_option, reads
from grader_daemon.cli.times import here, shown_zone
from grader_daemon.domain.analysis import Category
from grader_daemon.domain.error_groups import ErrorIssue, IssueState, StepCount
from grader_daemon.reports.issue_names import issue_name, shown_tools
from grader_daemon.reports.numbers import COMPLETION, estimate_words
from grader_daemon.reports.phrasing import call, issue_lines, issue_title
from grader_daemon.reports.safe_text import plain


@click.group("errors", cls=GroupWithDefault)
def command() -> None:
    """Show error groups (errors with the same cause), and what helped. Without a subcommand, it lists the groups."""


@command.command("list")
@reads
@days_option(30)
@click.option("-n", "--limit", type=Whole(min=1), default=50, show_default=True, help="Show at most this many groups.")
@click.option("--all", "every", is_flag=True, help="Show errors of all time, not only of the last days.")
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice([state.value for state in IssueState]),
    help="Show only groups in this state. Can be repeated.",
)
@json_option
def list_issues(
    *, grader: SelfGrader, days: int, limit: int, every: bool, states: tuple[str, ...], as_json: bool
) -> None:
    """List error groups, those in most sessions first. Ignored groups appear only with --state."""
    wanted = frozenset(IssueState(state) for state in states) or None
    issues = grader.insight.error_issues(days=None if every else days, states=wanted, limit=limit)
    if as_json:
        output.document(issues=issues)
    elif issues:
        _table(issues)
    else:
        output.line("No error groups.")


@command.command("show")
@reads
@click.argument("issue_id")
@json_option
def show(*, grader: SelfGrader, issue_id: str, as_json: bool) -> None:
    """Show one error group; the beginning of its id is enough."""
    issue = grader.insight.error_issue(issue_id)
    if as_json:
        output.document(issue=issue)
    else:
        _print(issue)
        _print_alternatives(grader, issue)


@command.command("alternatives")
@reads
@click.argument("tool")
@click.argument("category", type=click.Choice([category.value for category in Category]))
@click.option(
    "--command", "of_command", metavar="COMMAND", help="Show only errors of this command, such as 'git push'."
)
@json_option
def alternatives(*, grader: SelfGrader, tool: str, category: str, of_command: str | None, as_json: bool) -> None:
    """Show what agents tried after this error of a tool, the most reliable step first.

    The most reliable step has the highest lower end of the 95 % range of its success rate, over all time.
    """
    tried = grader.insight.alternatives(tool, Category(category), command=of_command)
    if as_json:
        output.document(alternatives=tried)
    elif tried:
        _steps_table(tried, next_call)
    else:
        output.line("The steps after such errors are unknown.")


@command.command("resolve")
@reads
@click.argument("issue_id")
@json_option
def resolve(*, grader: SelfGrader, issue_id: str, as_json: bool) -> None:
    """Mark the cause as fixed. If the error returns, the group's state becomes returned."""
    _tell(grader.insight.resolve_error(issue_id), as_json=as_json)


@command.command("ignore")
@reads
@click.argument("issue_id")
@json_option
def ignore(*, grader: SelfGrader, issue_id: str, as_json: bool) -> None:
    """Hide an error group from lists."""
    _tell(grader.insight.ignore_error(issue_id), as_json=as_json)


@command.command("reopen")
@reads
@click.argument("issue_id")
@json_option
def reopen(*, grader: SelfGrader, issue_id: str, as_json: bool) -> None:
    """Undo `resolve` or `ignore`."""
    _tell(grader.insight.reopen_error(issue_id), as_json=as_json)


def _tell(issue: ErrorIssue, *, as_json: bool) -> None:
    words = f"{issue.fingerprint} is {issue.state}: {plain(issue_title(issue))}"
    output.result(words, as_json=as_json, issue=issue)


def _table(issues: list[ErrorIssue]) -> None:
    tools = shown_tools(issues)
    output.items(
        issues,
        ("id", lambda issue: issue.fingerprint),
        ("state", lambda issue: issue.state),
        ("failures", lambda issue: issue.failures),
        ("sessions", lambda issue: issue.sessions),
        ("worked, answered", lambda issue: issue.recovered),
        ("last seen", lambda issue: here(issue.last_seen).date()),
        ("tool", lambda issue: " ".join(filter(None, (tools[issue.fingerprint], issue.command)))),
        ("says", lambda issue: "".join(issue_name(issue))),
        may_drop=("worked, answered", "state", "last seen", "failures"),
    )


def _print(issue: ErrorIssue) -> None:
    output.paragraph(f"{issue.fingerprint}: ", plain(issue_title(issue)))
    output.facts(
        [
            ("state", issue.state),
            ("tool", issue.tool),
            ("first seen", issue.first_seen),
            ("last seen", issue.last_seen),
            ("recurs", _recurrence(issue)),
        ]
    )
    for words in issue_lines(issue, shown_zone()):
        output.paragraph("", plain(words))
    if issue.steps:
        output.line()
        _steps_table(sorted(issue.steps, key=lambda step: step.odds, reverse=True), tried)


def _print_alternatives(grader: SelfGrader, issue: ErrorIssue) -> None:
    """Show what was tried after all failures of the tool for such a cause, where these are more than of the issue."""
    known = grader.insight.other_steps(issue)
    if known:
        output.line()
        output.paragraph("", f"After any {issue.category} of {plain(call(issue.tool, None))}:")
        _steps_table(known, next_call)


def _steps_table(steps: Sequence[StepCount], called: Callable[[StepCount], str]) -> None:
    output.items(
        steps,
        ("tried next", called),
        ("tries", lambda step: step.tries),
        ("worked", lambda step: step.worked),
        ("share worked", lambda step: "too few" if step.rate.value is None else estimate_words(step.rate, COMPLETION)),
        ("recovered", lambda step: step.recovered),
    )


def tried(step: StepCount) -> str:
    """Return what was tried after a failure."""
    return "a retry" if step.is_retry else output.called(step.tool, step.command)


def next_call(step: StepCount) -> str:
    """Return what was called after a failure of several calls, of which a retry names one."""
    return output.called(step.tool, step.command) + " again" * step.is_retry


def _recurrence(issue: ErrorIssue) -> str:
    if issue.sessions == 1:
        return "no: in one session"
    kinds = len(issue.task_types)
    return f"in {issue.sessions} sessions of {kinds} task type{'s' if kinds != 1 else ''}"
