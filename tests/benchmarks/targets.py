"""What the figures should be, and who says so. None: nobody has said yet, the figure is printed without a verdict."""

from __future__ import annotations

COMPARED_WITH = "2455cf6a5e3295d6d55af65e52f7729ca3018119"
"""The commit that `throughput` compares with: that of the last release, or a later one that made grading cheaper, or
dearer, on purpose. Whoever does that moves it forward, and says in docs/performance.md what it costs."""

MORE_CPU_THAN_BEFORE = 1.10
"""From here on a session costs too much more than at that commit."""

SESSION_MICROSECONDS = {"labelled": 1_000.0, "20 KB": 330.0, "200 KB": 1_200.0, "2 MB": 7_000.0}
"""CPU of a session, everything included."""

LIVE_MILLISECONDS: dict[str, tuple[float | None, float]] = {
    "snapshots": (3.0, 25.0),
    "lines": (None, 50.0),
    "database": (None, 300.0),
}
"""From the final write to the committed row, less the quiet time; 100 ms are promised to users."""

LOST_SESSIONS: float | None = 0.0
"""The disk is the queue: whatever memory or the kernel drops, the next scan finds."""

BURST_SECONDS: float | None = 45.0
"""From the first of 100,000 renames to the last row."""

BURST_PEAK_MEGABYTES: float | None = 150.0
"""Memory of the daemon and its helpers during the burst."""

RESTART_CPU_SECONDS: float | None = 2.0
"""CPU of a restart over 100,000 graded files, until the first scan is finished."""

FIRST_START_SECONDS: float | None = None
"""From a first start over 100,000 files to the last row."""

GROWING_CPU_SECONDS: float | None = 2.0
"""CPU of the daemon while a session grows to 5 MB in 500 writes."""

IDLE_CPU_PERCENT: float | None = 0.1
"""Of one processor, with 10,000 folders watched; the default of the setting `scan_cpu_share`."""

IDLE_MEGABYTES: float | None = 50.0
"""Resident memory of a daemon that has nothing to do but watch 10,000 folders."""

MEMORY_PER_BYTE: float | None = 3.5
"""Peak memory of grading a file, in multiples of its size; what the setting `max_file_bytes` says."""

HELP_CPU_MILLISECONDS: float | None = 60.0
"""CPU time of ``grader-daemon --help``; 150 ms are promised to users."""

STATUS_CPU_MILLISECONDS: float | None = 160.0
"""CPU time of ``grader-daemon status``."""

MCP_CPU_MILLISECONDS = 60.0
MCP_MEGABYTES = 30.0
"""CPU time and peak memory of ``grader-daemon mcp`` until it has answered an agent: one starts with each session."""

RECALL_RIGHT = 0.6
RECALL_IRRELEVANT = 0.2
"""Requests that find a session of their task among the first three, and sessions told of that are of another task."""

PATTERNS_MILLISECONDS = 20.0
"""To say what patterns a span of days shows, however many sessions there are."""

SOAK_GROWTH_MEGABYTES = 5.0
SOAK_MORE_DESCRIPTORS = 0.0
SOAK_MORE_THREADS = 0.0
SOAK_BYTES_RATIO = 1.1
"""A week of a busy agent leaves the daemon as it was after two days."""

REDACTION_RECALL = 0.98
REDACTION_RECALL_UNSEEN = 0.95
"""Secrets of the labelled set of which nothing is left."""

REDACTION_WORDS_PERCENT = 2.0
"""Ordinary words that are taken for secrets."""

REDACTION_MEGABYTES = 20.0
"""A second, of text as it stands in sessions and sources."""

VALIDITY = {
    "auc_0": 0.70,
    "mcc_0": 0.27,
    "skill_0": 0.0,
    "ece_0": 0.12,
    "auc_known": 0.77,
    "mcc_known": 0.38,
    "auc_100": 0.76,
    "skill_100": 0.12,
    "ece_100": 0.08,
    "auc_200": 0.79,
    "skill_200": 0.17,
    "ece_200": 0.06,
    "worse": 0.05,
    "misled": 0.05,
    "contradicted": 0.95,
    "order_auc": 0.66,
    "order_worst": 1.35,
}
"""Means over places: by number of labels in places that the prior has not seen, and on new tasks of `known` ones.

`worse` is the share of adopted judges that lose more than .02 of the correlation, `misled` how often weights or rules
are adopted from shuffled labels, `contradicted` how often a session with a contradicted claim failed, `order_worst`
how many of the ten of a hundred that rank lowest failed, over how many of all did.
"""

ESTIMATES = {
    "held": 0.93,
    "half_20": 0.14,
    "half_50": 0.10,
    "fall_seen": 0.80,
    "fall_false": 0.03,
}
"""Rates of completion by labels drawn by chance: how often their interval holds, and half of it with 20 and 50 labels.

A fall of ten points is to be seen within two weeks of 600 sessions with 40 labels each, and none a month where there
is none.
"""

SHARED_START = 1.2
SHARED_CHAIN = 1.5
"""What sessions that share something may cost, to those that share nothing."""

ASKED_CPU_MILLISECONDS = 200.0
"""CPU time of a command that asks a database of a million sessions, start-up included."""

FILTER_MILLISECONDS = 52.0
"""Of it, what the database takes to find the first page."""

KNOWN_FILES_CPU_SECONDS = 10.0
KNOWN_FILES_MEGABYTES = 150.0
"""What a start over a million files that are graded takes, until all are compared."""

CLAUDE_CODE_OF_OTHERS = 1 / 3
"""CPU of grading Claude Code's transcripts, as a part of what programs need that only count their tokens."""

OF_CLAUDE_CODE = 1.3
"""What a megabyte of another agent's sessions may cost, of one of Claude Code's."""

TIMES_AGENTSVIEW = 10.0
"""CPU of agentsview to read the labelled sessions, of that to grade them."""

ARCHIVE_OF_ONE_PROCESS = 0.8
"""Sessions a second of a processor of an archive on a cluster, of those of one process over the same files."""

PAGE_CPU_MILLISECONDS = 60.0
PAGE_MILLISECONDS = 150.0
PAGE_FIRST_MILLISECONDS = 400.0
"""A page of the dashboard with a million sessions: CPU of its server, by the clock, and the first of a new process."""

PAGE_OVERVIEW_BYTES = 40_000
PAGE_SESSION_BYTES = 200_000
PAGE_STATIC_ZIPPED_BYTES = 16_000
"""What a page weighs, one of a session with 200 messages, and what all of them load, gzipped."""

PAGE_APPEARS_MILLISECONDS = 150.0
"""From the commit of a grade to its row in the open list of sessions, 95 of 100."""

PAGE_IDLE_CPU_PERCENT = 0.5
PAGE_UNSEEN_CPU_TICKS = 0.0
"""Of a processor, while one page is open and nothing happens; ticks of the kernel while nobody looks."""

PAGE_MEGABYTES = {5_000: 60.0, 1_000_000: 100.0}
"""Memory of the dashboard after all pages, by the number of sessions."""

PAGE_CROWD_ANSWER_SECONDS = 2.0
PAGE_CROWD_GROWTH_MEGABYTES = 5.0
PAGE_CROWD_MORE_DESCRIPTORS = 0.0
"""With 20 tabs and 500 sessions a minute: the slowest answer, and what the server grows by."""

FLEET_GRADES_A_SECOND = (5_000.0, 12_000.0)
FLEET_SEEN_SECONDS = 1.0
"""Into a fleet's PostgreSQL, by one connection and by four; from a grade to the fleet, 95 of 100."""
