"""``python -m grader_daemon``: the same as the command ``grader-daemon``."""

from grader_daemon.cli import main

if __name__ == "__main__":
    main()
