"""What grading Claude Code's transcripts costs, against programs that only count their tokens, and a viewer of them.

Run it as ``python -m tests.benchmarks.claude_code`` in the repository, with the sample sessions beside it;
``--install`` fetches the other programs first, from npm and PyPI. CPU seconds of whole processes with their children
on the same files in the page cache, in turns; the median of each. `net` is without the start, measured with one
small file.

A transcript here is the samples of one version, one after the other, each with ids of its own. ``all`` has those of
2.1.330 among them, of which nine tenths are dumps that nobody reads; ``conversation`` has only earlier ones.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.benchmarks import agentsview
from tests.benchmarks.machine import add_folder_option, print_machine, print_table, progress, progress_done, work_folder
from tests.benchmarks.targets import CLAUDE_CODE_OF_OTHERS

SAMPLES = Path(__file__).parents[3] / "shared" / "data" / "sources" / "claude_code"
TOOLS = Path(__file__).parents[2] / ".agents"
EARLIER = ("cc1128", "cc2050", "cc197")
CORPORA: Mapping[str, Sequence[str]] = {"all": (*EARLIER, "cc330", "cc330_interactive"), "conversation": EARLIER}
NATIVE, SCRIPT, SNIFFLY = "20.0.24", "18.0.11", "0.1.5"

_UUID = re.compile(rb"[0-9a-f]{8}(?=-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})")
_COUNT_BY_SNIFFLY = """
import sys
from pathlib import Path
from sniffly.core.processor import ClaudeLogProcessor
for folder in sorted(Path(sys.argv[1], "projects").iterdir()):
    ClaudeLogProcessor(str(folder)).process_logs()
"""
_SYNC_ANEW = """
rm -rf "$HOME/.agentsview"
export AGENTSVIEW_NO_DAEMON=1 AGENTSVIEW_DISABLE_UPDATE_CHECK=1 AGENTSVIEW_TELEMETRY_ENABLED=0
CLAUDE_PROJECTS_DIR="$HOME/projects" exec "$0" sync
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--install", action="store_true", help=f"install the other programs into {TOOLS.name}/ first")
    parser.add_argument("--megabytes", type=int, default=100, help="of transcripts (default: 100)")
    parser.add_argument("--turns", type=int, default=5, help="how often each is run (default: 5)")
    add_folder_option(parser)
    options = parser.parse_args()
    if options.install:
        install()
    print_machine()
    with work_folder(options.folder) as folder:
        for name, versions in CORPORA.items():
            measure(folder / name, name, versions, megabytes=options.megabytes, turns=options.turns)


def install() -> None:
    """Install the other programs, each in a folder of its own."""
    npm = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"]
    subprocess.run([*npm, TOOLS / "native", f"@ccusage/ccusage-linux-x64@{NATIVE}"], check=True)
    subprocess.run([*npm, TOOLS / "script", f"ccusage@{SCRIPT}"], check=True)
    venv.create(TOOLS / "sniffly", with_pip=True)
    subprocess.run([TOOLS / "sniffly" / "bin" / "pip", "install", "-q", f"sniffly=={SNIFFLY}"], check=True)
    agentsview.install()


def programs(home: Path) -> dict[str, list[str]]:
    """Return the commands that are measured, by their names."""
    native = TOOLS / "native/node_modules/@ccusage/ccusage-linux-x64/bin/ccusage"
    script = TOOLS / "script/node_modules/ccusage/dist/index.js"
    sniffly = TOOLS / "sniffly/bin/python"
    viewer = agentsview.TOOL / "bin/agentsview"
    missing = [str(path) for path in (native, script, sniffly, viewer) if not path.exists()]
    if missing:
        sys.exit(f"not installed: {', '.join(missing)}; run it once with --install")
    native.chmod(0o755)
    return {
        "grader-daemon": [sys.executable, "-m", "grader_daemon", "grade", "--dry-run", "--json", str(home)],
        f"ccusage {SCRIPT}": ["node", str(script), "session", "--json", "--offline"],
        f"ccusage {NATIVE}": [str(native), "claude", "session", "--json", "--offline"],
        f"sniffly {SNIFFLY}": [str(sniffly), "-c", _COUNT_BY_SNIFFLY, str(home)],
        agentsview.OTHER: ["sh", "-c", _SYNC_ANEW, str(viewer)],
    }


def measure(home: Path, name: str, versions: Sequence[str], *, megabytes: int, turns: int) -> None:
    """Print what each program needs for one corpus."""
    one = home / "one"
    make_corpus(one, ("cc197",), copies=1)
    size = sum(make_corpus(home / "many", versions, copies=1))
    copies = max(1, round(megabytes * 1e6 / size))
    sizes = make_corpus(home / "many", versions, copies=copies)
    seconds: dict[str, list[float]] = {}
    starts: dict[str, list[float]] = {}
    for turn in range(turns):
        progress(f"{name}: turn {turn + 1} of {turns}")
        for program in programs(home):
            starts.setdefault(program, []).append(cpu_seconds(programs(one)[program], one))
            seconds.setdefault(program, []).append(cpu_seconds(programs(home / "many")[program], home / "many"))
    progress_done()
    print(f"{name}: {len(sizes)} transcripts, {sum(sizes) / 1e6:.0f} MB\n")
    print_table(
        ("program", "CPU s", "ms per MB", "net ms per MB", f"we need of it (<= {CLAUDE_CODE_OF_OTHERS:.2f})", "net"),
        rows_of(seconds, starts, sizes),
    )


def rows_of(
    seconds: Mapping[str, Sequence[float]], starts: Mapping[str, Sequence[float]], sizes: Sequence[int]
) -> list[list[str]]:
    """Return a row for each program; the first one is ours."""
    spent = {program: statistics.median(each) for program, each in seconds.items()}
    net = {program: max(spent[program] - statistics.median(each), 1e-3) for program, each in starts.items()}
    ours = next(iter(spent))
    return [
        [
            program,
            f"{spent[program]:.2f}",
            f"{spent[program] / sum(sizes) * 1e9:.1f}",
            f"{net[program] / sum(sizes) * 1e9:.1f}",
            *([] if program == ours else [f"{spent[ours] / spent[program]:.2f}", f"{net[ours] / net[program]:.2f}"]),
            *(["", ""] if program == ours else []),
        ]
        for program in spent
    ]


def make_corpus(home: Path, versions: Sequence[str], *, copies: int) -> list[int]:
    """Write transcripts below a home of Claude Code, and return the size of each."""
    sizes = []
    for copy in range(copies):
        for place, version in enumerate(versions):
            session = f"{copy:08x}-0000-4000-8000-{place:012x}"
            content = b"".join(
                own_lines(path, session, copy)
                for path in sorted(SAMPLES.glob(f"{version}/*/projects/*/*-*-*-*-*.jsonl"))
            )
            folder = home / "projects" / f"-work-{copy}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{session}.jsonl").write_bytes(content)
            sizes.append(len(content))
    return sizes


def own_lines(path: Path, session: str, copy: int) -> bytes:
    """Return the lines of a sample as those of a session, with ids that no other copy has."""
    content = _UUID.sub(lambda found: b"%04x" % copy + found[0][4:], path.read_bytes())
    own = f"{copy:04x}{path.stem[4:]}"
    return (
        content.replace(own.encode(), session.encode())
        .replace(b"toolu_", b"toolu_%04x" % copy)
        .replace(b"msg_", b"msg_%04x" % copy)
    )


def cpu_seconds(command: Sequence[str], home: Path) -> float:
    """Run a command with a home, and return the CPU seconds that it and its children took."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "CLAUDE_CONFIG_DIR": str(home), "LANG": "C.UTF-8"}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{command[0]} failed with {process.returncode}")
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
