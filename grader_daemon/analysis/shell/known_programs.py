"""Calls of programs: which of them only run another one, and where their subcommands stand."""

from __future__ import annotations

import re
from functools import lru_cache

from grader_daemon.analysis.shell.tokens import unquoted

_DRIVE = re.compile(r"[\"']?[A-Za-z]:\\")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*+(?:\[[^\]]{0,40}+\])?\+?=")
SUBCOMMAND = re.compile(r"[a-z][\w:-]{0,30}")
_VERSIONED = re.compile(
    r"((?:python|pypy|pip|ipython|pytest|ruby|gem|php|perl|lua|node|gcc|g\+\+|clang|clang\+\+|java|javac)w?)-?\d[\d.]{0,9}"
)

KEYWORDS = frozenset({"if", "then", "elif", "else", "while", "until", "do", "!", "{", "}", "fi", "done", "esac"})
LOOP_HEADS = frozenset({"for", "case", "function"})
PYTHONS = frozenset({"python", "pythonw", "pypy", "py"})
SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "fish", "su", "eval", "cmd", "powershell", "pwsh"})
INLINE = re.compile(r"-[a-z]{0,4}c|-[Cc]ommand|/[cC]")

# Programs that run another one, with those of their options that take a value.
WRAPPERS: dict[str, frozenset[str]] = {
    "sudo": frozenset({"-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-U", "--user", "--group"}),
    "doas": frozenset({"-u", "-C"}),
    "env": frozenset({"-u", "-C", "--unset", "--chdir"}),
    "nice": frozenset({"-n", "--adjustment"}),
    "ionice": frozenset({"-c", "-n", "-p"}),
    "timeout": frozenset({"-k", "-s", "--kill-after", "--signal"}),
    "gtimeout": frozenset({"-k", "-s"}),
    "time": frozenset({"-f", "-o"}),
    "xargs": frozenset({"-n", "-I", "-P", "-L", "-d", "-a", "-s", "-E"}),
    "watch": frozenset({"-n", "--interval"}),
    "stdbuf": frozenset({"-i", "-o", "-e"}),
    "flock": frozenset({"-w", "-E"}),
    **dict.fromkeys(("nohup", "command", "builtin", "exec", "setsid", "unbuffer", "xvfb-run"), frozenset()),
    **dict.fromkeys(("npx", "bunx", "pnpx", "uvx", "pipx"), frozenset({"-p", "--package", "--from", "--with"})),
}
_RUNNERS = {
    **dict.fromkeys(("uv", "poetry", "pipenv", "pdm", "hatch", "rye", "conda", "mamba", "pixi", "dotenv"), "run"),
    **dict.fromkeys(("bundle", "rbenv", "pyenv", "direnv", "nix-shell"), "exec"),
}
"""Tools that run a program in an environment: by their name, the subcommand that does it."""

_RUNNER_VALUES = frozenset({"-n", "-p", "--name", "--prefix", "--with", "--python", "--extra", "--group", "--env-file"})
_OPERANDS = {"timeout": 1, "gtimeout": 1, "flock": 1}
"""Wrappers that take an argument of their own before the program."""

# Programs whose first argument says what they do, with those of their options that take a value.
NO_VALUES: frozenset[str] = frozenset()
SUBCOMMANDS: dict[str, frozenset[str]] = {
    "git": frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace"}),
    **dict.fromkeys(("docker", "podman"), frozenset({"-H", "-c", "-l", "--host", "--context", "--config"})),
    **dict.fromkeys(
        ("kubectl", "helm", "oc", "flux", "argocd"),
        frozenset({"-n", "-s", "--namespace", "--context", "--kubeconfig", "--cluster", "--server", "--token"}),
    ),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), frozenset({"--prefix", "--cwd", "-C", "--dir", "--filter", "-F"})),
    **dict.fromkeys(("uv", "poetry", "pdm", "hatch"), frozenset({"-C", "--directory", "--project", "-e"})),
    **dict.fromkeys(("apt", "apt-get", "aptitude", "dnf", "yum", "zypper"), frozenset({"-o", "-c", "-t"})),
    **dict.fromkeys(("aws", "gcloud", "az"), frozenset({"--profile", "--region", "--project", "--output"})),
    **dict.fromkeys(("gh", "glab"), frozenset({"-R", "--repo"})),
    "go": frozenset({"-C"}),
    "cargo": frozenset({"-C", "--color", "--config", "-Z"}),
    **dict.fromkeys(("systemctl", "openssl", "ollama", "hermes", "apk", "brew", "snap", "flatpak"), NO_VALUES),
    **dict.fromkeys(("pip", "conda", "mamba", "pipenv", "pipx", "rye", "pixi", "gem", "bundle", "composer"), NO_VALUES),
    **dict.fromkeys(
        ("rustup", "dotnet", "deno", "mix", "cabal", "stack", "swift", "flutter", "dart", "zig"), NO_VALUES
    ),
    **dict.fromkeys(("terraform", "tofu", "vagrant", "minikube", "kind", "pm2", "supervisorctl", "adb"), NO_VALUES),
    **dict.fromkeys(("vercel", "netlify", "heroku", "flyctl", "fly", "wrangler", "firebase", "supabase"), NO_VALUES),
    **dict.fromkeys(("hg", "svn", "ip", "nmcli", "tmux", "ruff", "alembic", "twine", "nix", "nvm", "pyenv"), NO_VALUES),
    **dict.fromkeys(("choco", "winget", "scoop", "net", "sc", "wsl", "launchctl"), NO_VALUES),
}
ALIASES = {
    "docker-compose": "docker compose",
    "nodejs": "node",
    "apt-get": "apt",
    "npm i": "install",
    "pnpm i": "install",
}


def without_wrappers(words: list[str]) -> list[str]:
    """Drop keywords, assignments and the programs that only run another one; one of these alone stays."""
    while words:
        if words[0] in KEYWORDS or is_assignment(words[0]):
            words = words[1:]
            continue
        inner = wrapped(words)
        if not inner:
            break
        words = inner
    return words


def is_assignment(word: str) -> bool:
    """Return whether a word sets a variable."""
    return "=" in word and _ASSIGNMENT.match(word) is not None


def wrapped(words: list[str]) -> list[str]:
    """Return the command that the program of some words is there to run, if it is one of these."""
    name = program_name(words[0])
    if name in WRAPPERS:
        return after_options(words[1:], WRAPPERS[name])[_OPERANDS.get(name, 0) :]
    verb = _RUNNERS.get(name)
    if verb:
        inner = after_options(words[1:], SUBCOMMANDS.get(name, NO_VALUES))
        if inner and inner[0] == verb:
            return after_options(inner[1:], _RUNNER_VALUES)
    return []


def after_options(arguments: list[str], with_value: frozenset[str]) -> list[str]:
    """Drop the options in front, and the values of those in `with_value`."""
    index = 0
    while index < len(arguments) and arguments[index].startswith(("-", "+")):
        if arguments[index] == "--":
            return arguments[index + 1 :]
        index += 2 if arguments[index] in with_value else 1
    return arguments[index:]


@lru_cache(maxsize=512)
def program_name(word: str) -> str:
    """Return a program's name without its folder and version; words of SQL in lower case."""
    if _DRIVE.match(word):
        name = word.strip("\"'").rpartition("\\")[2]
    else:
        plain = unquoted(word)
        name = plain.rstrip("/").rpartition("/")[2] or plain
    name = name.removesuffix(".exe")
    versioned = _VERSIONED.fullmatch(name)
    if versioned:
        name = versioned.group(1)
    elif len(name) > 1 and name.isalpha() and name.isupper():
        name = name.lower()
    return ALIASES.get(name, name)
