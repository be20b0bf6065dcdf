from __future__ import annotations

import pytest

from grader_daemon.analysis.claims.evidence import only_looks


@pytest.mark.parametrize(
    "command",
    [
        "ls -la",
        "cd /app && grep -rn 'a > b' . | head -5",
        "cat a.py 2>/dev/null || true",
        "pytest -q 2>&1 | tail -3",
        "git diff --stat; git -P log",
        "/usr/bin/wc -l a.py",
        "sed -n '1,5p' a.py",
        "find . -name '*.py' | xargs grep a",
        'echo "a -> b"',
        "kubectl -n web get pods",
        "cd /x && docker ps -a",
        "terraform plan -no-color | tail -1",
        "crontab -l",
        "systemctl status nginx",
        "gh pr list --state open",
        "",
    ],
)
def test_commands_that_only_look(command: str) -> None:
    assert only_looks(command)


@pytest.mark.parametrize(
    "command",
    [
        "echo 1 > a.py",
        "cat a.py >> b.py",
        "make 2> log.txt",
        "sed -i s/a/b/ a.py",
        "sed -ni s/a/b/ a.py",
        "find . -delete",
        "find . -exec rm {} +",
        "git checkout a.py",
        "git",
        "python a.py",
        "ls | tee a.txt",
        "cat <<EOF",
        "echo $(make)",
        "ls | xargs rm",
        "ls && rm a.py",
        "kubectl -n web delete pod get",
        "docker exec web ls",
        "kubectl",
        "terraform apply",
        "crontab new.txt",
        "systemctl restart nginx",
        "gh pr create --fill",
    ],
)
def test_commands_that_may_change_something(command: str) -> None:
    assert not only_looks(command)
