"""Meanings of the exit codes of programs: a table, after the programs' own documentation.

A code that is not in here is a failure of whatever kind its output says.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from grader_daemon.domain.analysis import Category


class Meaning(StrEnum):
    """Meaning of a non-zero exit code that is more, or less, than "it failed".

    `ANSWER`: it worked, and the answer is no (no match, the files differ, the condition is false). `ABSENT`: what was
    asked after is not there. `FINDINGS`: a check ran to its end and is red.
    """

    ANSWER = "answer"
    ABSENT = "absent"
    FINDINGS = "findings"


Codes = dict[int, Meaning | Category]

ANSWER, ABSENT, FINDINGS = Meaning.ANSWER, Meaning.ABSENT, Meaning.FINDINGS
_NETWORK, _API = Category.NETWORK_ERROR, Category.API_ERROR
_TIMEOUT, _DENIED = Category.TIMEOUT, Category.PERMISSION_DENIED
_MISSING, _SYNTAX, _FAILED = Category.FILE_NOT_FOUND, Category.SYNTAX_ERROR, Category.COMMAND_FAILED


def _each(*programs: str, codes: Codes) -> dict[str, Codes]:
    return dict.fromkeys(programs, codes)


CODES: Final[dict[str, Codes]] = {
    # searches
    **_each("grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "ugrep", "git grep", codes={1: ANSWER}),
    **_each("pgrep", "pidof", "pkill", "killall", "lsof", "fuser", "look", "find", codes={1: ANSWER}),
    # comparisons and conditions
    **_each("diff", "cmp", "zdiff", "zcmp", "colordiff", "sdiff", "diff3", "git diff", codes={1: ANSWER}),
    **_each("git diff-index", "git diff-files", "git diff-tree", "git merge-base", codes={1: ANSWER}),
    **_each("git check-ignore", "git config", "git symbolic-ref", codes={1: ANSWER}),
    **_each("test", "[", "[[", "expr", "let", "read", "systemctl is-failed", codes={1: ANSWER}),
    "jq": {1: ANSWER, 3: _SYNTAX, 4: ANSWER},
    **_each("unzip", "zip", codes={1: ANSWER}),
    "terraform plan": {2: ANSWER},
    **_each("dnf check-update", "yum check-update", codes={100: ANSWER}),
    # questions whether something is there
    **_each("which", "whereis", "type", "hash", "command -V", "printenv", "id", codes={1: ABSENT}),
    "command -v": {1: ABSENT, 127: ABSENT},
    "getent": {2: ABSENT},
    **_each("systemctl is-active", "systemctl status", codes={3: ABSENT, 4: ABSENT}),
    "systemctl is-enabled": {1: ABSENT, 4: ABSENT},
    **_each("service", "pg_isready", codes={1: ABSENT, 2: ABSENT, 3: ABSENT}),
    **_each("git rev-parse", "git cat-file", "git describe", codes={1: ABSENT, 128: ABSENT}),
    **_each("git show-ref", "git ls-files", codes={1: ABSENT}),
    "git ls-remote": {2: ABSENT},
    **_each("pip show", "npm ls", "npm list", "npm view", "brew list", "gh auth", codes={1: ABSENT}),
    **_each(
        "dpkg -s", "dpkg -l", "dpkg -L", "dpkg -S", "rpm -q", "rpm -qa", "rpm -ql", "crontab -l", codes={1: ABSENT}
    ),
    **_each("docker inspect", "tmux has-session", "tmux ls", "screen -ls", codes={1: ABSENT}),
    **_each("apt show", "apt-cache", "apt-cache show", codes={100: ABSENT}),
    # tests
    "pytest": {1: FINDINGS, 5: ABSENT},
    "unittest": {1: FINDINGS, 5: ABSENT},
    **_each("tox", "nox", "nose2", "nosetests", "doctest", "behave", "runtests.py", codes={1: FINDINGS}),
    **_each("manage.py test", "setup.py test", "bin/test", codes={1: FINDINGS}),
    **_each("npm test", "npm t", "yarn test", "pnpm test", "bun test", "npm run test", codes={1: FINDINGS}),
    **_each("jest", "vitest", "mocha", "ava", "cypress", "playwright test", "deno test", codes={1: FINDINGS}),
    **_each("cargo test", "cargo nextest", codes={100: FINDINGS, 101: FINDINGS}),
    **_each("go test", "go vet", "rspec", "mvn test", "mvn verify", "swift test", codes={1: FINDINGS}),
    **_each("gradle test", "gradlew test", "gradlew check", "dotnet test", codes={1: FINDINGS}),
    **_each("phpunit", "mix test", "make test", "make check", codes={1: FINDINGS, 2: FINDINGS}),
    "ctest": {8: FINDINGS},
    # checks of code
    **_each("mypy", "pyright", "flake8", "black", "isort", "bandit", "ruff", "ruff check", codes={1: FINDINGS}),
    **_each("ruff format", "yamllint", "shellcheck", "hadolint", "pre-commit", "codespell", codes={1: FINDINGS}),
    **_each("eslint", "prettier", "golangci-lint", "rubocop", "actionlint", "pip check", codes={1: FINDINGS}),
    **_each("npm audit", "npm outdated", "npm run lint", "cargo fmt", "terraform validate", codes={1: FINDINGS}),
    **_each("tsc", "stylelint", codes={1: FINDINGS, 2: FINDINGS}),
    "pylint": dict.fromkeys(range(1, 32), FINDINGS),
    "git diff --check": {2: FINDINGS},
    "cargo clippy": {101: FINDINGS},
    "terraform fmt": {3: FINDINGS},
    # the network
    "curl": {
        **dict.fromkeys((5, 6, 7, 16, 18, 35, 51, 52, 55, 56, 58, 59, 60, 80, 92), _NETWORK),
        **dict.fromkeys((22, 47), _API),
        **dict.fromkeys((26, 37, 77, 78), _MISSING),
        3: _SYNTAX,
        9: _DENIED,
        28: _TIMEOUT,
        67: _DENIED,
    },
    "wget": {4: _NETWORK, 5: _NETWORK, 6: _DENIED, 7: _API, 8: _API},
    **_each("ssh", "scp", "sftp", "ssh-copy-id", codes={255: _NETWORK}),
    "rsync": {10: _NETWORK, 12: _NETWORK, 30: _TIMEOUT, 35: _TIMEOUT, 255: _NETWORK},
    **_each("ping", "nc", "ncat", "telnet", "dig", "host", codes={1: _NETWORK, 2: _NETWORK, 9: _NETWORK}),
    "psql": {2: _NETWORK, 3: _SYNTAX},
    # programs that run another one
    **_each("timeout", "gtimeout", codes={124: _TIMEOUT, 137: _TIMEOUT}),
}
"""Exit codes by program, by program and subcommand, or by these and an argument."""

FOUND_NOTHING_BY_XARGS: Final = 123
"""Exit code of `xargs` when a command that it ran gave a code from 1 to 125."""

CLOSED_PIPE: Final = 141
"""Killed for writing into a pipe that nobody reads any more, as by ``| head``."""

PLAIN_SPOKEN: Final = frozenset(
    {"cd", "pushd", "popd", "export", "set", "source", ".", "echo", "printf", "true", ":", "pwd", "sleep", "mkdir"}
    | {"date", "cat", "ls", "head", "tail", "wc", "sort", "tee", "touch", "cp", "mv", "rm", "chmod", "chown", "ln"}
)
"""Programs that hardly ever fail, and then say so with their name in front."""

GOES_ON_AFTER_ERRORS: Final = frozenset({"apt", "apt-get", "psql"})
"""Programs whose exit code does not tell of errors in what they were given to run."""

QUOTING: Final = frozenset(
    {"cat", "tac", "nl", "head", "tail", "less", "more", "bat", "grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack"}
    | {"sed", "awk", "gawk", "cut", "sort", "uniq", "tr", "strings", "xxd", "hexdump", "od", "jq", "yq", "column"}
    | {"echo", "printf", "find", "ls", "diff", "tee", "zcat", "journalctl", "dmesg", "fold", "base64", "wc"}
    | {"git log", "git show", "git diff", "git blame", "git grep", "git reflog", "git stash", "docker logs"}
    | {"docker compose", "podman logs", "kubectl logs", "kubectl describe", "tmux capture-pane", "gh run", "gh issue"}
)
"""Programs whose output is text of others: an error in it is data."""

LOOKING: Final = frozenset(
    {"ls", "stat", "cat", "head", "tail", "less", "more", "file", "wc", "readlink", "realpath", "find", "du", "tree"}
    | {"xxd", "hexdump", "od", "sed", "grep", "egrep", "fgrep", "rg", "nl", "awk", "strings", "md5sum", "sha256sum"}
    | {"git show", "git log", "test"}
)
"""Programs that look at files and change none."""
