"""Objects and refs of repositories that git made, read as git reads them; and of such that nobody should trust."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import struct
import subprocess
import zlib
from collections.abc import Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.errors import ReadError
from grader_daemon.outcomes.budget import Budget, OverBudgetError
from grader_daemon.outcomes.commits import History
from grader_daemon.outcomes.git_objects import Objects
from grader_daemon.outcomes.look import RepositoryLook
from grader_daemon.outcomes.model import Work, WrittenFile
from grader_daemon.outcomes.work_tree import find_work_tree, read_refs
from tests.followed import BEGAN, DAY, HOUR, PROGRAM
from tests.needs import require, require_programs
from tests.repositories import Repository


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    require_programs("git")
    return Repository(tmp_path / "words", at=BEGAN - DAY)


def folder_of(repository: Repository) -> str:
    return str(repository.folder / ".git/objects")


def fill(repository: Repository) -> None:
    """Make a history of commits, folders, long files that change a little, a tag and a merge."""
    chance = random.Random(1)
    text = [f"line {chance.randrange(10**12)}" for _ in range(500)]
    for number in range(12):
        text[chance.randrange(500)] = f"line {chance.randrange(10**12)}"
        files: dict[str, str | None] = {"long.txt": "\n".join(text), f"folder/deep/er/{number}.txt": f"{number}\n"}
        repository.commit(files, f"Number {number}", at=BEGAN + timedelta(minutes=number))
    at = BEGAN + HOUR
    repository.git("tag", "-a", "v1", "-m", "One", at=at)
    repository.git("checkout", "--quiet", "-b", "side", "HEAD~3", at=at)
    repository.commit({"side.txt": "a side of it\n"}, "Side", at=at)
    repository.git("checkout", "--quiet", "main", at=at)
    repository.git("merge", "--quiet", "side", at=at)


def all_of(repository: Repository) -> dict[str, str]:
    """Return the kinds of all objects by their names, as git tells them."""
    told = repository.git("cat-file", "--batch-all-objects", "--batch-check", at=BEGAN)
    return {line.split()[0]: line.split()[1] for line in told.splitlines()}


def content_of(repository: Repository, name: str, kind: str) -> bytes:
    return subprocess.run(
        ["git", "cat-file", kind, name], cwd=repository.folder, capture_output=True, check=True
    ).stdout


@pytest.mark.parametrize("packed", [(), ("gc", "--quiet"), ("repack", "-adq", "--depth=200", "--window=50")])
def test_objects_are_read_as_git_reads_them(repository: Repository, packed: Sequence[str]) -> None:
    fill(repository)
    if packed:
        repository.git(*packed, at=BEGAN)

    with closing(Objects(folder_of(repository), Budget(30))) as objects:
        for name, kind in all_of(repository).items():
            found = objects.read(name)
            assert found is not None
            assert (found.kind, found.content) == (kind, content_of(repository, name, kind))
            assert objects.whole_names(name[:12]) == [name]
        assert objects.read("0" * 40) is None
        assert objects.whole_names("zz") == []


def test_a_walk_and_paths_are_those_of_git(repository: Repository) -> None:
    fill(repository)
    repository.git("gc", "--quiet", at=BEGAN)
    known = repository.git("rev-list", "--all", at=BEGAN).split()
    tree = find_work_tree(str(repository.folder / "folder/deep"))
    assert tree is not None

    with closing(Objects(tree.objects, Budget(30))) as objects:
        history, refs = History(objects), read_refs(tree)
        walk = history.walk(refs.tips, 0)
        head = history.commit(repository.head)
        assert head is not None
        blob = history.blob_at(head.tree, "folder/deep/er/3.txt")

        assert refs.head == repository.head
        assert (sorted(walk.commits), walk.is_whole) == (sorted(known), True)
        assert history.text(blob) == b"3\n"
        assert history.blob_at(head.tree, "folder/deep") is None
        assert history.blob_at(head.tree, "README.md/x") is None
        assert history.named(repository.head[:9]) == repository.head


@pytest.mark.parametrize("packs", [False, True])
def test_refs_are_those_of_branches_tags_and_work_trees(repository: Repository, tmp_path: Path, *, packs: bool) -> None:
    first = repository.head
    repository.git("branch", "work/er", at=BEGAN)
    repository.git("tag", "light", at=BEGAN)
    second = repository.commit({"a.txt": "some words\n"}, "More", at=BEGAN)
    repository.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"), first, at=BEGAN)
    if packs:
        repository.git("pack-refs", "--all", at=BEGAN)

    here, linked = find_work_tree(str(repository.folder)), find_work_tree(str(tmp_path / "linked"))

    assert here is not None
    assert linked is not None
    assert read_refs(here).tips == read_refs(linked).tips == {first, second}
    assert (read_refs(here).head, read_refs(linked).head) == (second, first)
    assert read_refs(here).state != read_refs(linked).state


def test_a_submodule_is_a_work_tree_of_its_own(repository: Repository, tmp_path: Path) -> None:
    Repository(tmp_path / "other", at=BEGAN)
    allow = ("-c", "protocol.file.allow=always")
    repository.git(*allow, "submodule", "--quiet", "add", str(tmp_path / "other"), "part", at=BEGAN)

    found = find_work_tree(str(repository.folder / "part"))

    assert found is not None
    assert found.root == str(repository.folder / "part")
    assert read_refs(found).head is not None


def test_a_folder_in_no_work_tree_has_none(tmp_path: Path) -> None:
    assert find_work_tree(str(tmp_path / "gone")) is None


# -- what nobody should trust --------------------------------------------------------------------------------------


def look(repository: Repository, *, cpu_seconds: float = 20) -> str:
    """Look at the work of a session in it; returns what is wrong, or nothing."""
    try:
        tree = find_work_tree(str(repository.folder))
        if tree is None:
            return "no work tree"
        with RepositoryLook(tree, Budget(cpu_seconds)) as seen:
            file = WrittenFile(str(repository.folder / "long.txt"), (1, 2, 3))
            work = Work(began=BEGAN - DAY, ended=BEGAN, commits=("1a2b3c4",), files=(file,))
            work = seen.settled(work, BEGAN)
            return seen.fate(work, None, BEGAN + 2 * DAY).trouble or ""
    except ReadError as error:
        return str(error)


def lead_elsewhere(git: Path) -> None:
    git.rename(git.parent / "elsewhere")
    git.symlink_to(git.parent / "elsewhere")


def name_another(git: Path) -> None:
    git.rename(git.parent / "elsewhere")
    git.write_text(f"gitdir: {git.parent / 'elsewhere'}\n")


def link_objects(git: Path) -> None:
    (git / "objects").rename(git.parent / "objects")
    (git / "objects").symlink_to(git.parent / "objects")


def share_with_another(git: Path) -> None:
    (git / "commondir").write_text("../..\n")


def reftable(git: Path) -> None:
    (git / "reftable").mkdir()


def sha256(git: Path) -> None:
    (git / "refs/heads/other").write_text("0" * 64 + "\n")


def many_refs(git: Path) -> None:
    for number in range(5_100):
        (git / f"refs/heads/r{number}").write_text("0" * 40)


def endless_head(git: Path) -> None:
    (git / "HEAD").write_text("a" * 10_000)


def many_packs(git: Path) -> None:
    for number in range(70):
        (git / f"objects/pack/pack-{number}.idx").write_bytes(b"")


def another_users(git: Path) -> None:
    require(os.geteuid() == 0, "being root")
    os.chown(git, 12345, 12345)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lead_elsewhere, "it is not a folder, so it is skipped"),
        (name_another, "it refers to a repository that does not list it"),
        (share_with_another, "is elsewhere, so it is skipped"),
        (reftable, "its refs are in a reftable, which this version cannot read"),
        (sha256, "it uses SHA-256, which this version cannot read"),
        (many_refs, "more than 5,000 refs"),
        (endless_head, "it is too large for such a file"),
        (many_packs, "more than the limit of 64"),
        (another_users, "it belongs to another user"),
    ],
)
def test_what_is_not_read_is_said_in_one_line(repository: Repository, spoil: object, said: str) -> None:
    assert callable(spoil)
    spoil(repository.folder / ".git")

    told = look(repository)

    assert said in told
    assert "\n" not in told


def circle_of_refs(git: Path) -> None:
    (git / "HEAD").write_text("ref: refs/heads/a\n")
    (git / "refs/heads/a").write_text("ref: refs/heads/b\n")
    (git / "refs/heads/b").write_text("ref: refs/heads/a\n")


def linked_refs(git: Path) -> None:
    (git / "refs/heads/out").symlink_to("/etc/hostname")
    shutil.rmtree(git / "refs/tags")
    (git / "refs/tags").symlink_to("/")
    (git / "refs/remotes").mkdir()
    (git / "refs/remotes/loop").symlink_to(git / "refs")


def pipes(git: Path) -> None:
    (git / "HEAD").unlink()
    os.mkfifo(git / "HEAD")
    os.mkfifo(git / "refs/heads/pipe")


def alternates(git: Path) -> None:
    (git / "objects/info/alternates").write_text("/etc\n")


@pytest.mark.parametrize("spoil", [circle_of_refs, linked_refs, pipes, alternates, link_objects])
def test_what_leads_nowhere_is_passed_over(repository: Repository, spoil: object) -> None:
    assert callable(spoil)
    spoil(repository.folder / ".git")

    assert look(repository) in {"", "its objects cannot be read: Too many levels of symbolic links"}


def test_nothing_that_a_repository_configures_is_run(repository: Repository, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    script = tmp_path / "run.sh"
    script.write_text(f"#!/bin/sh\ntouch {mark}\n")
    script.chmod(0o755)
    git = repository.folder / ".git"
    (git / "config").write_text(
        f"[core]\nfsmonitor = {script}\nsshCommand = {script}\npager = {script}\nhooksPath = {tmp_path}\n"
        f'[include]\npath = {tmp_path}/more\n[filter "x"]\nclean = {script}\nsmudge = {script}\nrequired = true\n'
        f'[diff "x"]\ntextconv = {script}\ncommand = {script}\n[gpg]\nprogram = {script}\n'
    )
    (repository.folder / ".gitattributes").write_text("* filter=x diff=x\n")
    for hook in ("post-checkout", "post-index-change", "reference-transaction"):
        (git / "hooks").mkdir(exist_ok=True)
        shutil.copy(script, git / "hooks" / hook)

    assert look(repository) == ""
    assert not mark.exists()


def loose(repository: Repository, name: str, content: bytes) -> None:
    path = repository.folder / ".git/objects" / name[:2] / name[2:]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)


def test_an_object_that_swells_is_not_read(repository: Repository) -> None:
    name = hashlib.sha1(b"x").hexdigest()
    loose(repository, name, zlib.compress(b"blob 3\0" + bytes(50_000_000)))

    with closing(Objects(folder_of(repository), Budget(20))) as objects:
        assert objects.read(name) is None


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"no zlib", id="no-zlib"),
        pytest.param(zlib.compress(b"blob 3\0abc")[:-6], id="cut"),
        pytest.param(zlib.compress(b"blob 4\0abc"), id="another-size"),
        pytest.param(zlib.compress(b"blub 3\0abc"), id="another-kind"),
        pytest.param(zlib.compress(b"blob 3\0abc"), id="another-name"),
    ],
)
def test_an_object_that_is_damaged_is_none(repository: Repository, content: bytes) -> None:
    name = hashlib.sha1(b"x").hexdigest()
    loose(repository, name, content)

    with closing(Objects(folder_of(repository), Budget(20))) as objects, pytest.raises(ReadError):
        objects.read(name)


def length(number: int) -> bytes:
    """Return a number as it stands in a pack, 7 bits in a byte."""
    made = b""
    while True:
        number, low = number >> 7, number & 127
        made += bytes([low | (128 if number else 0)])
        if not number:
            return made


def entry(kind: int, size: int, rest: bytes) -> bytes:
    first = kind << 4 | size & 15
    more = size >> 4
    return bytes([first | (128 if more else 0)]) + (length(more) if more else b"") + rest


def pack(repository: Repository, entries: dict[str, bytes]) -> None:
    """Put a pack of these entries into the repository."""
    content, offsets = b"PACK" + struct.pack(">2I", 2, len(entries)), {}
    for name, made in entries.items():
        offsets[name] = len(content)
        content += made
    names = sorted(entries)
    fan_out = struct.pack(">256I", *(sum(bytes.fromhex(name)[0] <= first for name in names) for first in range(256)))
    places = b"".join(struct.pack(">I", offsets[name]) for name in names)
    index = b"\xfftOc\0\0\0\2" + fan_out + b"".join(map(bytes.fromhex, names)) + bytes(4 * len(names)) + places
    folder = repository.folder / ".git/objects/pack"
    (folder / "pack-x.pack").write_bytes(content + bytes(20))
    (folder / "pack-x.idx").write_bytes(index + bytes(40))


A, B = "a" * 40, "b" * 40
_DELTA = length(3) + length(3) + b"\x90\x03"


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        pytest.param({A: entry(7, len(_DELTA), bytes.fromhex(A) + zlib.compress(_DELTA))}, "too many", id="of-itself"),
        pytest.param(
            {
                A: entry(7, len(_DELTA), bytes.fromhex(B) + zlib.compress(_DELTA)),
                B: entry(7, len(_DELTA), bytes.fromhex(A) + zlib.compress(_DELTA)),
            },
            "too many",
            id="of-each-other",
        ),
        pytest.param({A: entry(7, 3, bytes.fromhex(B) + zlib.compress(b"abc"))}, "is missing", id="of-nothing"),
        pytest.param({A: entry(6, 3, b"\xff\xff\xff\x7f" + zlib.compress(b"abc"))}, "damaged", id="before-the-pack"),
        pytest.param({A: entry(3, 3, zlib.compress(b"abcd"))}, "damaged", id="longer-than-it-says"),
        pytest.param({A: entry(3, 9, zlib.compress(b"abcd"))}, "damaged", id="shorter-than-it-says"),
        pytest.param({A: entry(3, 4, zlib.compress(b"abcd"))}, "damaged", id="another-name"),
        pytest.param({A: entry(5, 4, zlib.compress(b"abcd"))}, "damaged", id="of-no-kind"),
        pytest.param({A: b"\xff" * 40}, "damaged", id="a-number-without-end"),
        pytest.param(
            {
                B: entry(3, 3, zlib.compress(b"abc")),
                A: entry(7, 3, bytes.fromhex(B) + zlib.compress(length(3) + length(9) + b"\x00")),
            },
            "damaged",
            id="an-order-of-none",
        ),
    ],
)
def test_a_pack_that_leads_astray_is_an_error(repository: Repository, entries: dict[str, bytes], said: str) -> None:
    pack(repository, entries)

    with closing(Objects(folder_of(repository), Budget(20))) as objects, pytest.raises(ReadError, match=said):
        objects.read(A)


def test_a_pack_that_is_cut_while_it_is_read_is_an_error(repository: Repository) -> None:
    fill(repository)
    repository.git("gc", "--quiet", at=BEGAN)
    (path,) = (repository.folder / ".git/objects/pack").glob("*.pack")
    names = list(all_of(repository))

    with closing(Objects(folder_of(repository), Budget(20))) as objects:
        objects.read(names[0])
        path.chmod(0o600)
        os.truncate(path, 100)
        with pytest.raises(ReadError):
            list(map(objects.read, names))


def test_what_says_that_it_is_huge_is_not_read(repository: Repository) -> None:
    huge = length(3) + length(10**11) + b"\x90\x03"
    pack(
        repository,
        {
            A: entry(3, 10**12, zlib.compress(b"abc")),
            B: entry(7, len(huge), bytes.fromhex("c" * 40) + zlib.compress(huge)),
            "c" * 40: entry(3, 3, zlib.compress(b"abc")),
        },
    )

    with closing(Objects(folder_of(repository), Budget(20))) as objects:
        assert objects.read(A) is None
        assert objects.read(B) is None


def test_a_look_ends_with_its_budget(repository: Repository) -> None:
    fill(repository)
    spent = Budget(20, most_objects=10)

    with closing(Objects(folder_of(repository), spent)) as objects, pytest.raises(OverBudgetError, match="too large"):
        History(objects).walk([repository.head], 0)
    assert "takes more than outcomes_seconds" in look(repository, cpu_seconds=1e-6)


@given(seed=st.integers(0, 2**32), flips=st.integers(1, 30), cut=st.booleans())
def test_any_damage_is_an_error_in_one_line(spoiled: Repository, seed: int, flips: int, *, cut: bool) -> None:
    chance = random.Random(seed)
    copy = spoiled.folder.parent / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(spoiled.folder, copy, symlinks=True)
    files = [path for path in sorted((copy / ".git").rglob("*")) if path.is_file()]
    for path in chance.choices(files, k=3):
        content = bytearray(path.read_bytes())
        for _ in range(flips if content else 0):
            content[chance.randrange(len(content))] = chance.randrange(256)
        path.chmod(0o600)
        path.write_bytes(content[: len(content) // 2] if cut else content)
    damaged = object.__new__(Repository)
    damaged.folder = copy

    assert "\n" not in look(damaged)


@pytest.fixture(scope="module")
def spoiled(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    require_programs("git")
    made = Repository(tmp_path_factory.mktemp("spoiled") / "words", at=BEGAN - DAY)
    fill(made)
    made.git("gc", "--quiet", at=BEGAN)
    made.commit({"long.txt": PROGRAM}, "Loose", at=BEGAN)
    return made
