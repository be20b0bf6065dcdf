"""The contract of every source as tests: for adapters, packages of others that read sessions, as for our own.

A test module of an adapter has a `Keeper` that writes sessions as its agent does, and a class that says which of the
contracts hold for it. pytest runs all of their tests::

    class TestAcme(LinesContract):
        keeps = AcmeLines

`SourceContract` is for whatever a source reads, `FilesContract` for sessions that lie in a file each, `LinesContract`
for files that are written line by line.
"""

from __future__ import annotations

import pickle
import shutil
import threading
from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

import msgspec
import pytest

from grader_daemon.adapters import GROUP, installed
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import ASSISTANT, USER, Message, Session, Skipped
from grader_daemon.domain.unit import Found, Unit
from grader_daemon.errors import ChangingFileError, ParseError, ReadError, UnfinishedFileError, VanishedFileError
from grader_daemon.sources.adapted import Adapted, anew
from grader_daemon.sources.protocol import Source


def asked(turn: int) -> str:
    """Return what a person asks for in a turn."""
    return f"Fix the parser {turn}, größe \u2028 and all"


def answered(turn: int) -> str:
    """Return what the agent answers."""
    return f"Fixed {turn}."


class Keeper(ABC):
    """A writer of sessions as one agent keeps them below a folder."""

    name: str
    """Of the test."""

    is_database = False
    """Whether its file is a database, so that it cannot be cut or copied as bytes."""

    is_lines = False
    """Whether its file is written line by line."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def told(self) -> str:
        """The path of which an event tells when the session is written."""
        return str(self.file)

    @property
    @abstractmethod
    def file(self) -> Path:
        """The file that it keeps the session in."""

    @abstractmethod
    def source(self) -> Source:
        """Make the source, as another process would."""

    @abstractmethod
    def write(self, turns: int) -> None:
        """Write a session of so many turns; one of fewer turns is there already, or none."""

    def put(self, content: bytes) -> None:
        """Write these bytes in place of the session."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_bytes(content)

    def grow(self, content: bytes) -> None:
        """Write these bytes as agents do that only add: behind what is there, if they begin with that."""
        there = self.file.read_bytes() if self.file.exists() else b""
        if not there or not content.startswith(there):
            self.put(content)
            return
        with self.file.open("ab") as file:
            file.write(content[len(there) :])

    def delete(self) -> None:
        """Delete the session."""
        self.file.unlink()


HOSTILE = {
    "empty": b"",
    "blank": b" \n\n \n",
    "nul-bytes": b"\0" * 5_000,
    "not-utf-8": b'{"type":"\xff\xfe"}\n' * 10,
    "deep": b"[" * 200_000,
    "deep-object": b'{"a":' * 100_000 + b"\n",
    "a-number": b"1",
    "null": b"null\n",
    "a-list": b"[1, 2, 3]",
    "huge-number": b'{"type": ' + b"9" * 10_000 + b"}\n",
    "lone-surrogate": b'{"type":"user","message":{"role":"user","content":"\\ud800"}}\n',
    "giant-base64": b'{"type":"user","message":{"role":"user","content":"' + b"QUJD" * 500_000 + b'"}}\n',
    "unknown-kinds": b"".join(b'{"type":"kind_%d","x":{"role":"user"}}\n' % number for number in range(2_000)),
    "keys-of-all": b'{"type":"user","messages":{},"steps":7,"payload":[],"message":"x","sessionId":{},"content":-1}\n',
    "times-beyond-all": b'{"timestamp":"99999-99-99T99:99:99Z","type":"response_item","payload":{"type":"message"}}\n',
    "a-database": b"SQLite format 3\0" + b"\xff" * 5_000,
}


def found_by(source: Source, keeper: Keeper) -> Found:
    (found,) = source.walk(str(keeper.root))
    return found


def session_of(source: Source, unit: Unit) -> Session:
    session = source.read(source.look(unit)).session
    assert isinstance(session, Session)
    return session


def spoken(session: Session) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in session.messages]


def said_in(turns: int) -> list[tuple[str, str]]:
    return [said for turn in range(turns) for said in ((USER, asked(turn)), (ASSISTANT, answered(turn)))]


def check_installed(name: str) -> None:
    """Check that the adapter of this name is installed, and that the daemon can load it."""
    adapter = installed().get(name)
    assert adapter is not None, f"no entry point {name} in the group {GROUP}"
    fault = Adapted(adapter, (), limits=Limits()).fault
    assert fault is None, fault


class SourceContract:
    """Tests of every source. `keeps` is how its agent keeps sessions."""

    keeps: ClassVar[type[Keeper]]

    @pytest.fixture
    def keeper(self, tmp_path: Path) -> Keeper:
        """Make what writes sessions below a folder of the test."""
        return self.keeps(tmp_path)

    def test_a_session_is_listed_and_read_as_it_was_written(self, keeper: Keeper) -> None:
        keeper.write(2)
        source = keeper.source()
        found = found_by(source, keeper)
        session = session_of(source, found.unit)

        assert spoken(session) == said_in(2)
        assert (session.unit, session.format) == (found.unit, source.name)
        assert found.stamp == source.look(found.unit).stamp
        assert source.size_of(found.unit) > 0

    def test_every_value_is_of_the_type_of_its_field(self, keeper: Keeper) -> None:
        keeper.write(2)
        source = keeper.source()
        session = session_of(source, found_by(source, keeper).unit)

        assert anew(session, session.unit, Limits()) == session

    def test_what_it_says_is_not_known_is_not_said(self, keeper: Keeper) -> None:
        keeper.write(1)
        source = keeper.source()
        session = session_of(source, found_by(source, keeper).unit)
        empty = Session(session_id="", file="", format="", messages=())

        fields = {field.name for field in msgspec.structs.fields(Session)} & source.unknown
        assert {name: getattr(session, name) for name in fields} == {name: getattr(empty, name) for name in fields}
        of_messages = {field.name for field in msgspec.structs.fields(Message)} & source.unknown
        assert {getattr(message, name) for message in session.messages for name in of_messages} <= {None}

    def test_an_event_of_what_was_written_touches_the_unit(self, keeper: Keeper) -> None:
        source = keeper.source()
        keeper.write(1)

        assert source.claims(keeper.told)
        assert list(source.touched(keeper.told)) == [found_by(source, keeper).unit]

    def test_what_changed_has_another_stamp_and_digest_and_what_did_not_the_same(self, keeper: Keeper) -> None:
        keeper.write(1)
        source = keeper.source()
        before = found_by(source, keeper)
        first, again = source.read(before), source.read(source.look(before.unit))
        keeper.write(2)
        after = source.look(before.unit)
        second = source.read(after)

        assert first.digest == again.digest
        assert before.stamp != after.stamp
        assert first.digest != second.digest
        assert source.read(after, unless=second.digest).session is None
        assert before.unit in source.touched(keeper.told)

    def test_a_session_that_grew_since_it_was_found_is_read_as_it_was_or_not_at_all(self, keeper: Keeper) -> None:
        keeper.write(1)
        source = keeper.source()
        before = found_by(source, keeper)
        keeper.write(2)
        try:
            read = source.read(before).session
        except ChangingFileError:
            return

        assert isinstance(read, Session)
        assert spoken(read) == said_in(1)

    def test_a_session_that_is_gone_is_not_there(self, keeper: Keeper) -> None:
        keeper.write(1)
        source = keeper.source()
        found = found_by(source, keeper)
        keeper.delete()

        assert [each.unit for each in source.walk(str(keeper.root))] == []
        with pytest.raises(VanishedFileError):
            source.look(found.unit)
        with pytest.raises(VanishedFileError):
            source.read(found)
        source.touched(keeper.told)

    def test_another_process_reads_the_same(self, keeper: Keeper) -> None:
        keeper.write(2)
        source = keeper.source()
        found = found_by(source, keeper)
        source.touched(keeper.told)
        other: Source = pickle.loads(pickle.dumps(source))

        assert other.look(found.unit).stamp == found.stamp
        assert other.read(found) == source.read(found)

    def test_two_that_read_while_a_third_writes_see_whole_turns(self, keeper: Keeper) -> None:
        keeper.write(1)
        unit = found_by(keeper.source(), keeper).unit
        done = threading.Event()
        wrong: list[object] = []

        def look_on(source: Source) -> None:
            while not done.is_set():
                try:
                    read = source.read(source.look(unit)).session
                except (ReadError, UnfinishedFileError):
                    continue
                if not isinstance(read, Session) or spoken(read) != said_in(20)[: len(read.messages)]:
                    wrong.append(read)

        readers = [threading.Thread(target=look_on, args=(keeper.source(),)) for _ in range(2)]
        for reader in readers:
            reader.start()
        try:
            for turns in range(2, 21):
                keeper.write(turns)
        finally:
            done.set()
            for reader in readers:
                reader.join()

        assert wrong == []
        assert spoken(session_of(keeper.source(), unit)) == said_in(20)


class FilesContract(SourceContract):
    """Tests of sources whose sessions lie in a file each."""

    def test_a_file_cut_anywhere_in_its_last_turn_gives_what_is_whole_or_says_why_not(self, keeper: Keeper) -> None:
        keeper.write(1)
        first = len(keeper.file.read_bytes())
        keeper.write(2)
        whole = keeper.file.read_bytes()
        source = keeper.source()
        unit = found_by(source, keeper).unit
        for cut in range(min(first, len(whole) - 400), len(whole)):
            keeper.put(whole[:cut])
            try:
                read = source.read(source.look(unit)).session
            except (UnfinishedFileError, ParseError):
                continue
            if isinstance(read, Session):
                assert spoken(read) == said_in(2)[: len(read.messages)], cut

    @pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
    def test_hostile_content_is_a_session_or_one_line_that_says_why_not(self, keeper: Keeper, content: bytes) -> None:
        keeper.put(content)
        source = keeper.source()
        unit = Unit(source.name, str(keeper.file))
        source.recognizes(str(keeper.file), content[:4_096])
        source.touched(keeper.told)
        try:
            read: object = source.read(source.look(unit)).session
        except (ReadError, ParseError) as error:
            read = str(error)

        assert isinstance(read, Session | Skipped) or (read and "\n" not in str(read))

    def test_a_byte_order_mark_before_a_session_says_nothing(self, keeper: Keeper) -> None:
        keeper.write(2)
        keeper.put(b"\xef\xbb\xbf" + keeper.file.read_bytes())
        source = keeper.source()

        assert spoken(session_of(source, found_by(source, keeper).unit)) == said_in(2)

    def test_a_copy_is_told_by_its_digest_and_its_session(self, keeper: Keeper) -> None:
        keeper.write(1)
        source = keeper.source()
        found = found_by(source, keeper)
        copied = keeper.file.with_name("copied-" + keeper.file.name)
        shutil.copy(keeper.file, copied)
        unit = Unit(source.name, str(copied))

        copy, read = source.read(source.look(unit)), source.read(found)
        assert isinstance(copy.session, Session)
        assert isinstance(read.session, Session)
        assert copy.digest == read.digest
        assert spoken(copy.session) == spoken(read.session)

    def test_no_link_is_followed_below_a_root(self, keeper: Keeper, tmp_path_factory: pytest.TempPathFactory) -> None:
        keeper.write(1)
        elsewhere = tmp_path_factory.mktemp("elsewhere") / "secret"
        shutil.move(keeper.file, elsewhere)
        keeper.file.symlink_to(elsewhere)
        source = keeper.source()
        unit = Unit(source.name, str(keeper.file))
        try:
            read = source.read(source.look(unit)).session
        except (ReadError, ParseError):
            return
        assert isinstance(read, Skipped)


class LinesContract(FilesContract):
    """Tests of sources whose files are written line by line."""

    def test_a_hostile_line_among_good_ones_costs_no_good_one(self, keeper: Keeper) -> None:
        """Only where sessions are written line by line, which later versions add kinds of lines to."""
        keeper.write(2)
        lines = keeper.file.read_bytes().split(b"\n")
        news = [b'{"type":"news","message":{"role":"user","content":"no"}}', b"{broken", b'{"type":"\xff"}', b"[]"]
        keeper.put(b"\n".join([lines[0], *news, *lines[1:]]))
        source = keeper.source()
        read = source.read(source.look(found_by(source, keeper).unit))

        assert isinstance(read.session, Session)
        assert spoken(read.session) == said_in(2)
        assert read.unknown is not None
        assert len(read.unknown.kinds) + read.unknown.broken in (len(news) - 1, len(news))  # two may be of one kind


__all__ = ["FilesContract", "Keeper", "LinesContract", "SourceContract", "answered", "asked", "check_installed"]
