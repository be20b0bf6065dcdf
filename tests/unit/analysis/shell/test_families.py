from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from grader_daemon.analysis.shell import EXAMINED_CHARACTERS
from tests.calls import Arguments, family_in
from tests.strategies import texts
from tests.tables import for_each
from tests.timing import is_done_within

HERE_DOCUMENT = "cat > job.py <<'EOF'\nimport os\nos.system('rm -r x'); curl\nEOF\npython job.py --once"

# By what is special about them: the command and its family.
PROGRAMS = {
    "a-program": ("make -j8", "make"),
    "path": ("/usr/local/bin/terraform-docs .", "terraform-docs"),
    "script-of-its-own": ("./deploy.sh --now", "deploy.sh"),
    "script-run-by-a-shell": ("bash -x scripts/deploy.sh --now", "deploy.sh"),
    "script-of-python": ("python script.py", "python"),
    "python-version": ("/usr/bin/python3.11 -u script.py", "python"),
    "pip-version": ("pip3 install requests", "pip install"),
    "compiler-version": ("gcc-12 -o a a.c", "gcc"),
    "name-with-digits": ("sqlite3 app.db .schema", "sqlite3"),
    "windows-path": (r"C:\Python312\python.exe -m pip list", "pip list"),
    "quoted-windows-path": (r'"C:\Program Files\Git\git.exe" status', "git status"),
    "variable-as-program": ("$PYTHON run.py", "$PYTHON"),
    "variable-as-folder": ("${BIN}/tool x", "tool"),
    "sql": ("SELECT name FROM users WHERE id = 3", "select"),
    "word-of-an-editor": ("view", "view"),
    "escaped-space": (r"./my\ tool --x", "my tool"),
    "escape-at-the-end": ("ls \\", "ls"),
    "quoted-program": ("'curl' -s x", "curl"),
    "slash-alone": ("/", "/"),
}
SUBCOMMANDS = {
    "git": ("git push origin main", "git push"),
    "options-before": ("git -C /repo -c user.name='A B' --no-pager push", "git push"),
    "double-dash": ("git -- push", "git push"),
    "option-alone": ("git --version", "git"),
    "no-subcommand": ("git", "git"),
    "argument-that-is-no-word": ("docker ./x", "docker"),
    "npm-run": ("npm run build", "npm run"),
    "npm-short": ("npm i left-pad", "npm install"),
    "compose": ("docker compose up -d", "docker compose"),
    "old-compose": ("docker-compose -f x.yml up", "docker compose"),
    "apt-get": ("apt-get install -y jq", "apt install"),
    "kubectl-namespace": ("kubectl -n prod get pods", "kubectl get"),
    "toolchain": ("cargo +nightly test", "cargo test"),
    "systemctl": ("systemctl --user restart web", "systemctl restart"),
}
WRAPPERS = {
    "sudo": ("sudo -E FOO=1 apt install x", "apt install"),
    "sudo-user": ("sudo -u postgres psql -c 'select 1'", "psql"),
    "sudo-alone": ("sudo -i", "sudo"),
    "environment": ("env -i PATH=/bin LANG=C ls", "ls"),
    "assignments": ("A=1 B='x y' C=$D make", "make"),
    "timeout": ("timeout -k 5 30 curl -s https://x.example", "curl"),
    "timeout-alone": ("timeout 30", "timeout"),
    "time-and-nice": ("time nice -n 5 make", "make"),
    "nohup": ("nohup ./run.sh > out.log 2>&1 &", "run.sh"),
    "xargs": ("xargs -n 1 -P 4 wget -q", "wget"),
    "uv-run": ("uv run --with rich pytest -q", "pytest"),
    "uv-other": ("uv sync --frozen", "uv sync"),
    "poetry-run-python": ("poetry run python -m mypy src", "mypy"),
    "conda-run": ("conda run -n env python train.py", "python"),
    "npx": ("npx --yes tsc --noEmit", "tsc"),
    "bundle-exec": ("bundle exec rspec spec/a.rb", "rspec"),
    "python-module": ("python3 -m pytest -q tests/x.py", "pytest"),
    "python-module-with-subcommand": ("python -m pip install x", "pip install"),
    "python-code": ("python -c 'import x' -m y", "python"),
    "python-options": ("python -u -W ignore x.py", "python"),
    "python-modules-without-end": ("python -m " * 200 + "x", "python"),
    "shell": ('bash -lc "cd /w && git push"', "git push"),
    "shell-in-shell": ("""sh -c 'bash -c "npm test"'""", "npm test"),
    "shells-too-deep": ("bash -c " * 9 + "ls", "bash"),
    "shell-of-a-user": ('su - postgres -c "psql -l"', "psql"),
    "shell-of-a-user-alone": ("su postgres", "su"),
    "shell-alone": ("bash", "bash"),
    "empty-shell": ("bash -c ''", "bash"),
    "windows-shells": ('cmd /c "dir C:\\"', "dir"),
    "powershell": ('powershell -Command "Get-ChildItem x"', "Get-ChildItem"),
    "eval": ('eval "git push"', "git push"),
    "eval-of-output": ('eval "$(conda shell.bash hook)" && pytest', "conda"),
}
LISTS = {
    "folder-first": ("cd /x && sudo -E FOO=1 git -C /repo push origin main 2>&1 | tail -5", "git push"),
    "first-that-works": ("pytest -q || ruff check .", "pytest"),
    "preparations": ("export A=1; source .venv/bin/activate; mkdir -p out; sleep 2; pytest", "pytest"),
    "preparations-alone": ("cd /x && mkdir out", "mkdir"),
    "settings-alone": ("cd /x; export A=1", "cd"),
    "index-then-install": ("apt-get update && apt-get install -y jq", "apt install"),
    "stage-then-commit": ("git add -A && git commit -m 'a; b'", "git commit"),
    "feeder": ("cat a.txt | grep x | head -3", "grep"),
    "feeders-only": ("cat a.txt | head -3", "cat"),
    "greeting": ("echo hello", "echo"),
    "written-file": ("cat > a.txt << X\nhello\nX", "cat"),
    "here-document": (HERE_DOCUMENT, "python"),
    "here-document-that-was-cut": ("cat > a.py <<'EOF'\nimport os\nls", "cat"),
    "here-string": ("grep x <<< 'a b'", "grep"),
    "comment": ("# build it\nmake # all\n", "make"),
    "comment-alone": ("# nothing", None),
    "lines-joined": ("docker \\\n  run x", "docker run"),
    "loop": ("for f in *.txt; do wc -l $f; done", "wc"),
    "condition": ("if [ -f x ]; then make x; fi", "make"),
    "case": ("case $x in a) ls;; esac", "ls"),
    "negation": ("! grep -q x y", "grep"),
    "output-of-a-command": ("files=$(git ls-files) && echo $files", "git ls-files"),
    "arithmetic": ("n=$((n+1)); test $((n % 2)) -eq 0 && make", "make"),
    "redirections": ("2>/dev/null >out <in &>all wc", "wc"),
    "group": ("{ make; } 2>&1", "make"),
    "function": ("go() { ls; }; go", "go"),
    "assignment-alone": ("A=1", None),
    "empty": ("  \n", None),
    "only-marks": (";;&&||", None),
}


@for_each(
    ("command", "family"),
    [
        pytest.param(command, family, id=name)
        for table in (PROGRAMS, SUBCOMMANDS, WRAPPERS, LISTS)
        for name, (command, family) in table.items()
    ],
)
def test_family_names_the_program_that_does_the_work(command: str, family: str | None) -> None:
    assert family_in({"command": command}) == family


@pytest.mark.parametrize(
    ("arguments", "family"),
    [
        pytest.param('{"command": "git status"}', "git status", id="json"),
        pytest.param('{"cmd": "ls -l", "timeout": 3}', "ls", id="other-key"),
        pytest.param('{"cmd": ["bash", "-lc", "echo \'a b\' && git push"]}', "git push", id="list-of-words"),
        pytest.param({"command": ["ls", 3, None]}, "ls", id="list-with-other-things"),
        pytest.param('{"command": "cd /a\\ngit \\"pull\\" -q", "x', "git pull", id="json-that-was-cut"),
        pytest.param('{"command": 3, x', None, id="broken-json-without-a-command"),
        pytest.param('{"command": 3}', None, id="number"),
        pytest.param('["command"]', None, id="list-instead-of-object"),
        pytest.param('{"code": "ls"}', None, id="no-command"),
        pytest.param({"code": "ls"}, None, id="object-without-a-command"),
        pytest.param({"command": "", "cmd": "ls"}, "ls", id="empty-and-other-key"),
        pytest.param("", None, id="empty"),
        pytest.param(None, None, id="nothing"),
    ],
)
def test_command_is_found_in_the_arguments(arguments: Arguments, family: str | None) -> None:
    assert family_in(arguments) == family


def test_family_is_short_and_printable() -> None:
    assert family_in({"command": "./" + "x" * 500}) == "x" * 40
    assert family_in({"command": "./a\ud83d\x1b[31mb"}) == "a\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}[31mb"


def test_only_the_beginning_of_a_command_counts() -> None:
    spaces = " " * EXAMINED_CHARACTERS

    assert family_in({"command": spaces + "ls"}) is None


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("'" * 1_000_000, id="quotes"),
        pytest.param("\\" * 1_000_000, id="backslashes"),
        pytest.param("<<a " * 250_000, id="here-documents"),
        pytest.param("a=" * 500_000, id="assignments"),
        pytest.param("$((" * 300_000, id="arithmetic"),
        pytest.param("eval " * 200_000, id="evals"),
        pytest.param("\n" * 1_000_000, id="empty-lines"),
    ],
)
def test_long_commands_take_no_longer_than_short_ones(command: str) -> None:
    cut_off = '{"command": "' + command

    assert is_done_within(0.5, lambda: (family_in({"command": command}), family_in(cut_off)))


@given(st.none() | texts | st.dictionaries(st.sampled_from(["command", "cmd", "x"]), texts | st.lists(texts)))
@example("{" * 5_000 + '"command"')
@example('{"command": "\\ud83d"}')
def test_any_arguments_have_a_family_or_none(arguments: Arguments) -> None:
    family = family_in(arguments)

    assert family is None or (0 < len(family) <= 40 and family.isprintable())


@given(st.text(st.sampled_from("abc \n'\"\\;&|()<>{}$#=-`!"), max_size=60))
def test_any_command_has_the_same_family_in_both_forms(command: str) -> None:
    assert family_in(json.dumps({"command": command})) == family_in({"command": command})
