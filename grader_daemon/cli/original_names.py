"""The names of the original design: ``from self_grader import SelfGrader`` and ``python -m self_grader``.

A wheel, and an editable installation, have this file as the module `self_grader`.
"""

from grader_daemon.api.grader import SelfGrader

__all__ = ["SelfGrader"]

if __name__ == "__main__":
    from grader_daemon.cli.self_grader import main  # who imports a class need not wait for the commands

    main()
