"""Which program a shell command runs, so that its failures can be told from those of other programs.

An agent's command is a line of a person at a terminal: it changes to a folder, sets variables, wraps what it wants into
`timeout` and `sudo` and cuts the output. The family names the program in the middle of all that, with its subcommand.
Not a shell: what a variable holds or a condition decides is not worked out.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from grader_daemon.domain.text import clean

EXAMINED_CHARACTERS = 2_000
"""Of a command; what does the work stands near its beginning."""

_LONGEST_FAMILY = 40
_DEEPEST_NESTING = 3
_MOST_WORDS = 100
_KEYS = ("command", "cmd")

_TOKEN = re.compile(
    r"(?P<space>[ \t\r]++|\\\r?\n)"
    r"|(?P<comment>(?<![^\s;&|()])\#[^\n]*+)"
    r"|(?P<heredoc><<-?[ \t]{0,4}+(?P<quote>[\"']?)(?P<end>\w{1,40}+)(?P=quote))"
    r"|(?P<descriptor>\d{0,2}[<>]&[\d-])"
    r"|(?P<redirect>(?:\d{1,2}|&)?(?:<<<|<>|>>|>\||[<>]&?))"
    r"|(?P<separator>&&|\|\||[;&\n()])"
    r"|(?P<pipe>\|)"
    r"|(?P<substitution>\$(?=\((?!\()))"
    r"|(?P<word>(?:[^\s'\"\\;&|()<>$]++|\$(?:\(\([^()\n]{0,80}+\)\))?|'[^']*+'?|\"(?:[^\"\\]|\\[\s\S])*+\"?|\\[\s\S]?)++)"
    r"|(?P<other>[\s\S])"
)
_QUOTING = re.compile(r"\\\n|\\([\s\S]?)|'([^']*+)'?|\"((?:[^\"\\]|\\[\s\S])*+)\"?")
_ESCAPED = re.compile(r"\\([\\\"$`\n])")
_DRIVE = re.compile(r"[\"']?[A-Za-z]:\\")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*+(?:\[[^\]]{0,40}+\])?\+?=")
_SUBCOMMAND = re.compile(r"[a-z][\w:-]{0,30}")
_VERSIONED = re.compile(
    r"((?:python|pypy|pip|ipython|pytest|ruby|gem|php|perl|lua|node|gcc|g\+\+|clang|clang\+\+|java|javac)w?)-?\d[\d.]{0,9}"
)
_BROKEN_COMMAND = re.compile(r'"(?:command|cmd)"\s{0,9}+:\s{0,9}+"((?:[^"\\]|\\[\s\S])*+)')
_JSON_ESCAPE = re.compile(r'\\(["\\/nrt])')
_JSON_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}

_KEYWORDS = frozenset({"if", "then", "elif", "else", "while", "until", "do", "!", "{", "}", "fi", "done", "esac"})
_LOOP_HEADS = frozenset({"for", "case", "function"})
_BETWEEN = frozenset({"space", "comment", "descriptor", "substitution", "other"})
_PYTHONS = frozenset({"python", "pythonw", "pypy", "py"})
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "fish", "su", "eval", "cmd", "powershell", "pwsh"})
_INLINE = re.compile(r"-[a-z]{0,4}c|-[Cc]ommand|/[cC]")
_PREPARATIONS = frozenset(
    {"cd", "pushd", "popd", "source", ".", "export", "set", "unset", "shopt", "alias", "declare", "local", "readonly"}
    | {"typeset", "umask", "ulimit", "trap", "mkdir", "sleep", "wait", "echo", "printf", "true", ":", "clear", "pwd"}
    | {"date", "test", "[", "[[", "exit", "return", "read", "continue", "break", "apt update", "git add", "git fetch"}
)
"""Run for what comes after them; they are the family only when nothing else stands in the command."""

_SETTINGS = frozenset({"cd", "pushd", "popd", "source", ".", "export", "set", "unset", "shopt", "true", ":"})
"""Of preparations, those that leave nothing behind when the shell has ended."""

_FEEDERS = frozenset({"cat", "echo", "printf", "yes", "true", ":", "head", "tail", "less", "more", "wc", "tee", "sort"})
"""At the ends of a pipeline for the sake of its middle."""

# Programs that run another one, with those of their options that take a value.
_WRAPPERS: dict[str, frozenset[str]] = {
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
_NO_VALUES: frozenset[str] = frozenset()
_SUBCOMMANDS: dict[str, frozenset[str]] = {
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
    **dict.fromkeys(("systemctl", "openssl", "ollama", "hermes", "apk", "brew", "snap", "flatpak"), _NO_VALUES),
    **dict.fromkeys(
        ("pip", "conda", "mamba", "pipenv", "pipx", "rye", "pixi", "gem", "bundle", "composer"), _NO_VALUES
    ),
    **dict.fromkeys(
        ("rustup", "dotnet", "deno", "mix", "cabal", "stack", "swift", "flutter", "dart", "zig"), _NO_VALUES
    ),
    **dict.fromkeys(("terraform", "tofu", "vagrant", "minikube", "kind", "pm2", "supervisorctl", "adb"), _NO_VALUES),
    **dict.fromkeys(("vercel", "netlify", "heroku", "flyctl", "fly", "wrangler", "firebase", "supabase"), _NO_VALUES),
    **dict.fromkeys(
        ("hg", "svn", "ip", "nmcli", "tmux", "ruff", "alembic", "twine", "nix", "nvm", "pyenv"), _NO_VALUES
    ),
    **dict.fromkeys(("choco", "winget", "scoop", "net", "sc", "wsl", "launchctl"), _NO_VALUES),
}
_ALIASES = {
    "docker-compose": "docker compose",
    "nodejs": "node",
    "apt-get": "apt",
    "npm i": "install",
    "pnpm i": "install",
}


class _Shell(msgspec.Struct, frozen=True):
    command: object = None
    cmd: object = None


@dataclass(slots=True)
class _Simple:
    """A program with its arguments, quoted as they were. `writes`: its output goes to a file."""

    words: list[str] = field(default_factory=list)
    writes: bool = False


def command_family(arguments: str | dict[str, object] | None) -> str | None:
    """Name the program that the shell command in a tool call's arguments runs, with its subcommand: "git push".

    Of a pipeline it is the first stage that does more than to feed or to cut, of a list the first command that does
    more than to prepare. At most 40 printable characters; None when the arguments hold no command.
    """
    command = _command(arguments)
    if isinstance(command, list):
        command = shlex.join(word for word in command[:_MOST_WORDS] if isinstance(word, str))
    if not isinstance(command, str):
        return None
    family = _family_of_line(command[:EXAMINED_CHARACTERS], 0)
    return clean(family)[:_LONGEST_FAMILY].strip() or None if family else None


def _command(arguments: str | dict[str, object] | None) -> object:
    """Give the command as it stands in the arguments, also when their JSON is broken."""
    if isinstance(arguments, dict):
        return arguments.get("command") or arguments.get("cmd")
    if not arguments or ('"command"' not in arguments and '"cmd"' not in arguments):
        return None
    try:
        shell = msgspec.json.decode(arguments, type=_Shell)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        broken = _BROKEN_COMMAND.search(arguments[: 2 * EXAMINED_CHARACTERS])
        return _JSON_ESCAPE.sub(_json_unescaped, broken.group(1)) if broken else None
    return shell.command or shell.cmd


def _json_unescaped(match: re.Match[str]) -> str:
    return _JSON_ESCAPES.get(match.group(1), match.group(1))


def _family_of_line(line: str, depth: int) -> str | None:
    if depth > _DEEPEST_NESTING:
        return None
    spare: str | None = None
    for pipeline in _pipelines(line):
        family, writes = _family_of_pipeline(pipeline, depth)
        if family and not (family in _PREPARATIONS or (writes and family == "cat")):
            return family
        if spare is None or (spare in _SETTINGS and family not in _SETTINGS):
            spare = family or spare
    return spare


def _family_of_pipeline(stages: list[_Simple], depth: int) -> tuple[str | None, bool]:
    spare: tuple[str | None, bool] = None, False
    for stage in stages:
        family = _family_of_words(stage.words, depth)
        if family and family not in _FEEDERS:
            return family, stage.writes
        if spare[0] is None:
            spare = family, stage.writes
    return spare


def _pipelines(line: str) -> Iterator[list[_Simple]]:
    """Cut a line into lists of commands that feed each other."""
    stages = [_Simple()]
    is_target = False
    for kind, text in _tokens(line):
        if kind == "word":
            if not is_target:
                stages[-1].words.append(text)
            is_target = False
        elif kind == "redirect":
            is_target = True
            stages[-1].writes = stages[-1].writes or ">" in text
        elif kind == "pipe":
            stages.append(_Simple())
        else:
            yield stages
            stages = [_Simple()]
            is_target = False
    yield stages


def _tokens(line: str) -> Iterator[tuple[str | None, str]]:
    """Yield what commands are made of, without comments and the bodies of here-documents."""
    end_of_document = ""
    position = 0
    while position < len(line):
        token = _TOKEN.match(line, position)
        assert token is not None
        position = token.end()
        kind = token.lastgroup
        if kind == "heredoc":
            end_of_document = token["end"]
        elif kind not in _BETWEEN:
            yield kind, token.group()
            if end_of_document and token.group() == "\n":
                found = line.find(f"\n{end_of_document}", position - 1)
                position = found + 1 + len(end_of_document) if found >= 0 else len(line)
                end_of_document = ""


def _family_of_words(words: list[str], depth: int) -> str | None:
    words = _without_wrappers(words)
    if not words:
        return None
    name = _name(words[0])
    if name in _LOOP_HEADS:
        return None
    if name in _SHELLS:
        return _family_in_shell(name, words[1:], depth)
    if name in _PYTHONS:
        return _family_in_python(words[1:], depth)
    if name in _SUBCOMMANDS:
        rest = _after_options(words[1:], _SUBCOMMANDS[name])
        if rest and _SUBCOMMAND.fullmatch(_unquoted(rest[0])):
            verb = _unquoted(rest[0])
            return f"{name} {_ALIASES.get(f'{name} {verb}', verb)}"
    return name


def _without_wrappers(words: list[str]) -> list[str]:
    """Drop keywords, assignments and the programs that only run another one; one of these alone stays."""
    while words:
        if words[0] in _KEYWORDS or _ASSIGNMENT.match(words[0]):
            words = words[1:]
            continue
        inner = _wrapped(_name(words[0]), words[1:])
        if not inner:
            break
        words = inner
    return words


def _wrapped(name: str, arguments: list[str]) -> list[str]:
    """Give the command that the program `name` is there to run, if it is one of these."""
    if name in _WRAPPERS:
        return _after_options(arguments, _WRAPPERS[name])[_OPERANDS.get(name, 0) :]
    verb = _RUNNERS.get(name)
    if verb:
        inner = _after_options(arguments, _SUBCOMMANDS.get(name, _NO_VALUES))
        if inner and inner[0] == verb:
            return _after_options(inner[1:], _RUNNER_VALUES)
    return []


def _after_options(arguments: list[str], with_value: frozenset[str]) -> list[str]:
    index = 0
    while index < len(arguments) and arguments[index].startswith(("-", "+")):
        if arguments[index] == "--":
            return arguments[index + 1 :]
        index += 2 if arguments[index] in with_value else 1
    return arguments[index:]


def _family_in_shell(shell: str, arguments: list[str], depth: int) -> str | None:
    """Look into a command given to a shell; a script is named as if it were run by itself."""
    if shell == "eval":
        return _family_of_line(" ".join(map(_unquoted, arguments)), depth + 1) or shell
    for index, argument in enumerate(arguments[:-1]):
        if _INLINE.fullmatch(argument):
            return _family_of_line(" ".join(map(_unquoted, arguments[index + 1 :])), depth + 1) or shell
    script = _after_options(arguments, _NO_VALUES)
    return _name(script[0]) if script and shell != "su" else shell


def _family_in_python(arguments: list[str], depth: int) -> str | None:
    for index, argument in enumerate(arguments[:-1]):
        if argument == "-m":
            return _family_of_words(arguments[index + 1 :], depth) if depth <= _DEEPEST_NESTING else None
        if not argument.startswith("-") or argument in ("-c", "-"):
            break
    return "python"


def _name(word: str) -> str:
    """Give a program's name without its folder and version; words of SQL in lower case."""
    if _DRIVE.match(word):
        name = word.strip("\"'").rpartition("\\")[2]
    else:
        plain = _unquoted(word)
        name = plain.rstrip("/").rpartition("/")[2] or plain
    name = name.removesuffix(".exe")
    versioned = _VERSIONED.fullmatch(name)
    if versioned:
        name = versioned.group(1)
    elif len(name) > 1 and name.isalpha() and name.isupper():
        name = name.lower()
    return _ALIASES.get(name, name)


def _unquoted(word: str) -> str:
    if "'" not in word and '"' not in word and "\\" not in word:
        return word
    return _QUOTING.sub(_content, word)


def _content(match: re.Match[str]) -> str:
    escaped, single, double = match.groups()
    if double is not None:
        return _ESCAPED.sub(r"\1", double)
    return single or escaped or ""
