"""Deeds that a program of the command line does: files removed or moved, branches merged, sources compiled.

Each verb has programs that do it. A claim with one is held against the commands that run them, and against those alone
that name what it names: "deleted `/tmp/a`" is done by `rm -r /tmp/a`. A claim for which there is no such command is
none that can be told from the record: a script may have done it.
"""

from __future__ import annotations

import re
from typing import Final

from grader_daemon.analysis.claims.attempts import Attempts
from grader_daemon.analysis.claims.evidence import CallRecord, ToolRun, without_spoken, without_written
from grader_daemon.analysis.claims.stated_claim import StatedClaim
from grader_daemon.analysis.claims.subjects import QUOTED, basename, places_of_files, without_stop
from grader_daemon.analysis.claims.verification import (
    MOST_EVIDENCE,
    UNSUPPORTED,
    Verification,
    places,
    verified,
)
from grader_daemon.analysis.shell import read_line
from grader_daemon.domain.claims import Support
from grader_daemon.domain.late_pattern import late_pattern
from grader_daemon.domain.phrases import holds_any

_READ: Final = 1_500
_SHORTEST: Final = 3

_START: Final = (
    r"(?:^|[;&|(\n`]|\b(?:sudo|xargs|time|then|do|else|exec|nohup|env|timeout \S{1,20}|-exec)(?: -\S{1,40}){0,4})"
    r"\s{0,8}(?:[\w./-]{0,40}/)?"
)
_NO_QUESTION: Final = r"(?=\s|$)(?!\s{1,8}(?:--version|--help|-[Vv]\b\s{0,8}(?:$|[|;&])))"


def _run(programs: str, code: str = "") -> re.Pattern[str]:
    """Return a pattern of commands that run one of some programs, and of code that does the same."""
    return late_pattern(rf"{_START}({programs}){_NO_QUESTION}{code}")


_CLOUD: Final = r"(?:kubectl|oc|helm|docker|podman|gh|aws|gcloud|az|heroku|doctl|fly)"
_REMOVING = _run(
    r"rm|rmdir|unlink|trash|shred (?:\S{1,80} ){0,6}?(?:-\w*u\w*|--remove)"
    r"|git (?:rm|branch -[dD]|tag -d|worktree remove)"
    r"|find [^|;&\n]{1,200} -delete"
    rf"|{_CLOUD} (?:[^|;&\n]{{0,60}} )?(?:rm|rmi|delete[\w-]{{0,30}}|remove|uninstall|destroy|prune)"
    r"|curl [^|;&\n]{0,80}-X ?DELETE",
    r"|\bos\.(?:remove|unlink|rmdir)\(|\brmtree\(|\.unlink\(|(?i:\b(?:drop (?:table|database|index)|delete from) )",
)
_MOVING = _run(r"mv|rename|git (?:mv|branch -[mM])", r"|\bshutil\.move\(|\bos\.(?:rename|replace)\(|\.rename\(")
_COPYING = _run(r"cp|rsync|scp|install|aws s3 (?:cp|sync)|gsutil", r"|\bshutil\.copy\w{0,4}\(")
_DOWNLOADING = _run(
    r"wget|curl|aria2c|git clone|yt-dlp|youtube-dl|aws s3 (?:cp|sync)|gsutil|kaggle|huggingface-cli|hf",
    r"|from_pretrained\(|_download\(|urlretrieve\(",
)
_CLONING = _run(r"git clone|gh repo clone|hg clone|svn checkout")
_COMPILING = _run(
    r"make(?! (?:\w*config|clean|distclean|mrproper|help)\s{0,8}(?:$|[|;&\n]))|cmake --build"
    r"|ninja|gcc|g\+\+|cc|clang|clang\+\+|gfortran|ifort|rustc|javac|coqc|tsc|ocamlopt|nasm|ld"
    r"|pdflatex|xelatex|latexmk|cargo build|go build|mvn|gradle|gradlew"
)
_BUILDING = _run(
    r"(?:docker|podman) (?:buildx )?build|cargo build|go build|mvn|gradle|gradlew"
    r"|(?:npm|pnpm|yarn|bun) (?:run )?build|mkdocs build|hugo|(?:bundle exec )?jekyll build|python3? -m build|uv build"
)
_REQUESTING = _run(r"gh pr create|glab mr create|hub pull-request")
_TAGGING = _run(r"git (?:-C \S{1,120} )?tag|docker tag|gh release create")
_MERGING = _run(r"git (?:-C \S{1,120} )?(?:merge|cherry-pick|rebase|pull)|gh pr merge")
_PACKING = _run(
    r"tar (?:-?\w{0,6}c\w{0,6}|--create)|zip|gzip|bzip2|xz|7z a|zstd", r"|make_archive\(|tarfile\.open\(|ZipFile\("
)
_UNPACKING = _run(
    r"tar (?:-?\w{0,6}x\w{0,6}|--extract)|unzip|gunzip|bunzip2|unxz|7z x", r"|extractall\(|unpack_archive\("
)
_ENCRYPTING = _run(r"gpg|openssl|age|ansible-vault|sops")
_RESTARTING = _run(
    r"(?:systemctl|service|docker|docker-compose|podman|kubectl|pm2|supervisorctl|launchctl|rc-service|heroku)"
    r" [^|;&\n]{0,60}?\b(?:restart|reload)|nginx -s reload|reboot|kill -HUP"
)
_UPGRADING = _run(
    r"(?:python3? -m )?(?:pip3?|uv|apt|apt-get|npm|pnpm|yarn|brew|dnf|conda|poetry|cargo|gem)"
    r" (?:[^|;&\n]{0,40} )?(?:install|upgrade|update|add|up|i)"
)
_UPLOADING = _run(r"scp|rsync|sftp|aws s3 (?:cp|sync)|gsutil|twine upload|gh release upload|rclone")
_TAKING_BACK = _run(r"git (?:-C \S{1,120} )?(?:revert|checkout|restore|reset|stash)|kubectl rollout undo")
_PROGRAMS: Final[dict[str, tuple[re.Pattern[str], tuple[str, ...]]]] = {
    **dict.fromkeys(
        ("removed", "deleted"),
        (
            _REMOVING,
            (
                "rm",
                "delete",
                "DELETE",
                "unlink",
                "trash",
                "shred",
                "remove",
                "destroy",
                "prune",
                "drop ",
                "DROP ",
                "git ",
            ),
        ),
    ),
    **dict.fromkeys(("moved", "renamed"), (_MOVING, ("mv", "rename", "move", "replace", "branch"))),
    "copied": (_COPYING, ("cp", "rsync", "install", "sync", "gsutil", "copy")),
    "downloaded": (
        _DOWNLOADING,
        ("wget", "curl", "aria2c", "clone", "dl", "aws", "gsutil", "kaggle", "hf", "from", "urlr"),
    ),
    "cloned": (_CLONING, ("clone",)),
    "compiled": (
        _COMPILING,
        ("make", "ninja", "c", "g++", "fort", "ocaml", "nasm", "ld", "tex", "go build", "mvn", "gradle"),
    ),
    "merged": (_MERGING, ("merge", "cherry-pick", "rebase", "pull")),
    "built": (_BUILDING, ("build", "mvn", "gradle", "hugo")),
    "tagged": (_TAGGING, ("tag", "release")),
    **dict.fromkeys(("created", "opened"), (_REQUESTING, ("pr create", "mr create", "pull-request"))),
    **dict.fromkeys(
        ("archived", "compressed", "zipped", "packaged"), (_PACKING, ("tar", "zip", "Zip", "xz", "7z", "zstd"))
    ),
    **dict.fromkeys(("extracted", "unpacked"), (_UNPACKING, ("tar", "zip", "xz", "7z", "extractall", "unpack"))),
    "encrypted": (_ENCRYPTING, ("gpg", "openssl", "age", "vault", "sops")),
    **dict.fromkeys(("restarted", "rebooted"), (_RESTARTING, ("restart", "reload", "reboot", "kill"))),
    **dict.fromkeys(("upgraded", "downgraded"), (_UPGRADING, ("install", "upgrade", "update", "add", "up", " i "))),
    "uploaded": (_UPLOADING, ("scp", "rsync", "sftp", "aws", "gsutil", "upload", "rclone")),
    **dict.fromkeys(("reverted", "restored"), (_TAKING_BACK, ("git", "rollout"))),
}
"""Programs by what they do, and pieces of commands of which one stands in each that runs one of them."""

_OF_NAMES: Final = frozenset({"removed", "deleted", "moved", "renamed", "copied", "reverted", "restored"})
"""Verbs that tell of a part of a file too, or of anything: only a name says what is meant."""

_NAMELESS: Final = frozenset({"merged", "created", "opened"})
"""Verbs beside which a place or a title stands that their commands need not name: "merged into main"."""

_OTHER_DEEDS: Final = frozenset({"created", "opened", "built", "tagged"})
"""Verbs that tell of anything: beside others they count only where a program's deed is meant."""

_MEANT: Final = {
    "merged": ("branch", "master", "main", "commit", "your change", "your lost", "pull request", " pr "),
    **dict.fromkeys(("created", "opened"), ("pull request", "merge request", " pr ", " pr#")),
    "built": ("image", "container", "package", "binary", "wheel", "site"),
    "tagged": ("release", "commit", "version", " v1", " v2", " v0", "`v", "image"),
    **dict.fromkeys(("extracted", "unpacked"), ("archive", "tarball", ".tar", ".zip", ".tgz", "source", "package")),
}
"""Words of which one tells that the verb is meant as the program's deed."""

_MASKED: Final = ("|", ";", "\n")
_PARTS: Final = (*_MASKED, "&&")
_MOVES_FIRST = late_pattern(r"\s*(?:cd [^&|;\n]{1,200}&&\s*)?")
_HIDDEN: Final = "/dev/null"
_DRY: Final = ("--dry-run", "--dryrun", "--what-if", "--noop")
_COMPLAINING: Final = frozenset({"rm", "rmdir", "unlink", "mv", "cp", "shred"})
"""Programs that are silent if they did all of it, and else name themselves."""

_TROUBLE = late_pattern(
    r"\b(?:cannot|could not|couldn't|no such file|not found|failed|failure|fatal|denied|refused|conflict"
    r"|error(?!\"?: ?null))\b",
    re.IGNORECASE,
)


class ShellDeeds:
    """Holds deeds of the command line against the commands of one session."""

    def __init__(self, evidence: CallRecord, attempts: Attempts) -> None:
        self._evidence = evidence
        self._attempts = attempts

    def done(self, claim: StatedClaim) -> Verification | None:
        """Verify a deed; None where no command is there to do it, or nothing says to what.

        "Downloaded and unpacked" is two deeds: both must be seen.
        """
        if claim.words[0] not in _PROGRAMS:
            return None
        said = claim.said.lower()
        deeds = [
            each
            for each in dict.fromkeys(claim.words)
            if each in _PROGRAMS and (each not in _OTHER_DEEDS or _is_meant(each, said))
        ]
        found = [self._verify(deed, claim) for deed in deeds]
        seen = [each for each in found if each is not None]
        if claim.words[0] not in deeds or len(seen) < len(found):
            return None
        if all(each.support is Support.VERIFIED for each in seen):
            return verified(*sorted({place for each in seen for place in each.evidence})[-MOST_EVIDENCE:])
        return next((each for each in seen if each.support is Support.CONTRADICTED), UNSUPPORTED)

    def _verify(self, deed: str, claim: StatedClaim) -> Verification | None:
        """Verify one deed: it is done if the last run of each program for it worked.

        Of a line with several parts is not known which one failed.
        """
        names = () if deed in _NAMELESS else _names(claim)
        if (not names and deed in _OF_NAMES) or not _is_meant(deed, claim.said.lower()):
            return None
        pattern, pieces = _PROGRAMS[deed]
        doing = [
            (_program(each, pattern, names), each) for each in self._evidence.runs if holds_any(each.command, pieces)
        ]
        last = {program: each for program, each in doing if program is not None}
        if not last:
            return None
        if all(_is_seen_to_work(each) or _part_worked(each, program) for program, each in last.items()):
            return verified(*places([*last.values()]))
        tried = [each for program, each in doing if program is not None]
        if any(each.worked or holds_any(_MOVES_FIRST.sub("", each.command, 1), _PARTS) for each in tried):
            return UNSUPPORTED
        return self._attempts.verify(tried)


def _is_meant(deed: str, said: str) -> bool:
    """Return whether a verb is meant as a program's deed, by the words around it."""
    return deed not in _MEANT or holds_any(said, _MEANT[deed])


def _names(claim: StatedClaim) -> tuple[str, ...]:
    """Return what a claim names: its object, else what it quotes, and the files in it."""
    if claim.subject:
        return (basename(claim.subject),)
    quoted = [found.strip() for found in QUOTED.findall(claim.said)]
    files = [without_stop(each.group()) for each in places_of_files(claim.said)]
    return tuple(dict.fromkeys(basename(each) or each for each in (*quoted, *files) if len(each) >= _SHORTEST))


def _program(run: ToolRun, pattern: re.Pattern[str], names: tuple[str, ...]) -> str | None:
    """Return the program for a deed that a command runs, on something of these names where there are any."""
    command = run.command
    if (names and not holds_any(command, names)) or not pattern.search(command):
        return None
    found = pattern.search(without_written(without_spoken(command)))
    return None if found is None or holds_any(command, _DRY) else found[1] or ""


def _is_seen_to_work(run: ToolRun) -> bool:
    """Return whether a command worked as far as is seen: the exit code is its own, or its output tells no trouble."""
    if run.worked is not True:
        return False
    if not holds_any(run.command, _MASKED):
        return True
    return _HIDDEN not in run.command and _TROUBLE.search(run.ending(_READ)) is None


def _part_worked(run: ToolRun, program: str) -> bool:
    """Return whether a program did its part of a line that failed: another one behind it says that it did not."""
    line = read_line(run.command)
    if run.is_code or line is None or program not in _COMPLAINING or _HIDDEN in run.command:
        return False
    names = [each.name for each in line.programs]
    if program not in names:
        return False
    after = len(names) - names[::-1].index(program)
    said = run.ending(_READ)
    is_said_of = [f"{name}:" in said for name in names]
    return any(is_said_of[after:]) and not any(is_said_of[:after])
