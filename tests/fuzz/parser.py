"""Fuzzing of everything that reads a session file, by hand: ``python -m tests.fuzz.parser --minutes 10``.

Needs the optional dependencies: ``pip install -e '.[test,fuzz]'``. Other arguments go to libFuzzer, whose own seeds and
findings are kept in a folder between runs (``--corpus``). An input that breaks what `tests.fuzz.examine` asserts, takes
5 seconds or a gigabyte is written to a file whose name is printed. It becomes a seed, and so a case of the tests.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
from pathlib import Path

import atheris

from tests.fuzz.mutation import mutate_json

_INPUT_BYTES = 20_000
_SECONDS = 5
_MEGABYTES = 1024


def main() -> None:
    """Prepare the corpus, then hand over to libFuzzer, which ends the process itself."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10, help="how long to go on (default: %(default)s)")
    parser.add_argument("--corpus", type=Path, default=Path(tempfile.gettempdir()) / "grader-daemon-fuzz")
    arguments, flags = parser.parse_known_args()
    with atheris.instrument_imports(include=["grader_daemon"]):
        from tests.fuzz.examine import examine
    words = _prepare(arguments.corpus / "seeds")
    found = arguments.corpus / "findings"
    found.mkdir(exist_ok=True)
    limits = (f"-max_len={_INPUT_BYTES}", f"-timeout={_SECONDS}", f"-rss_limit_mb={_MEGABYTES}", f"-dict={words}")
    total = f"-max_total_time={round(60 * arguments.minutes)}"
    program = [sys.argv[0], str(arguments.corpus / "seeds"), *limits, total, f"-artifact_prefix={found}/", *flags]
    atheris.Setup(program, lambda content: examine(content) and None, custom_mutator=_mutate)
    atheris.Fuzz()


def _mutate(content: bytes, size: int, seed: int) -> bytes:
    return mutate_json(content, size, seed=seed, mutate=atheris.Mutate)


def _prepare(folder: Path) -> Path:
    """Write the seeds, and a dictionary beside them; gives the dictionary."""
    from tests.fuzz.seeds import seeds, words

    folder.mkdir(parents=True, exist_ok=True)
    for seed in seeds():
        (folder / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)
    dictionary = folder.parent / "words.dict"
    lines = ("".join(f"\\x{byte:02x}" for byte in word.encode()) for word in words())
    dictionary.write_text("".join(f'"{line}"\n' for line in lines))
    return dictionary


if __name__ == "__main__":
    main()
