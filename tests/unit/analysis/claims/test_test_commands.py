from __future__ import annotations

import pytest

from grader_daemon.analysis.claims.evidence import ToolRun
from grader_daemon.analysis.claims.test_commands import is_test_run
from grader_daemon.analysis.tool_calls import CallView
from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.session import Message

_RUNS = """
pytest
uv run pytest -q
poetry run pytest tests/
cd /x && FOO=1 timeout 60 python3 -m pytest -q 2>&1 | tail -5
nice -n 5 .venv/bin/python -m pytest -q
coverage run -m pytest
tox -e py311
npm test
npm t
npm run test:unit
pnpm --filter web test
pnpm exec vitest run
yarn workspace web test
yarn jest
bun test
npx jest src/a.test.ts
npx playwright test
npx cypress run
node --test
turbo run test
nx test web
go test ./...
cargo +nightly test
cargo nextest run
mvn -q test
./mvnw verify
./gradlew :app:testDebugUnitTest
gradle check
dotnet test
bundle exec rspec
bin/rails test
vendor/bin/phpunit
php artisan test
python manage.py test
ctest --test-dir build
make -C x check
bazel test //...
swift test
mix test
deno test
just test
xvfb-run -a npm test
docker compose run --rm web pytest
docker exec app npm test
ssh host "cd x && make test"
bash -c "cd x && pytest"
./run_tests.sh
bash scripts/run-tests.sh
python /tmp/test_fix.py
python simple_test.py
""".strip().splitlines()

_OTHERS = """
npm install test-lib
cat tests/test_a.py
grep -rn pytest .
git commit -m "run npm test"
echo "npm test"
pip install pytest
pytest --collect-only
python tests/runtests.py --help
npm run build
npm
cargo build --tests
python manage.py migrate
python
npx create-next-app test
node latest.js
python contest.py
chmod +x run_tests.sh
rm test_a.py
docker build -t test .
node server.js --test-mode
""".strip().splitlines()


def _is_run(command: str) -> bool:
    view = CallView("terminal", {"command": command})
    note = (1, view, CallStatus.SUCCESS)
    return is_test_run(ToolRun(note, Message(role="tool", content=""), is_reported=False))


@pytest.mark.parametrize("command", _RUNS)
def test_it_runs_tests(command: str) -> None:
    assert _is_run(command)


@pytest.mark.parametrize("command", _OTHERS)
def test_it_runs_none(command: str) -> None:
    assert not _is_run(command)


def test_a_file_of_tests_that_is_only_written_is_no_run() -> None:
    assert not _is_run("cat > test_a.py <<'EOF'\nimport pytest\nEOF")


def test_code_that_asserts_is_a_run() -> None:
    note = (1, CallView("execute_code", {"code": "assert add(1, 2) == 3"}), CallStatus.SUCCESS)

    assert is_test_run(ToolRun(note, Message(role="tool", content=""), is_reported=False))
