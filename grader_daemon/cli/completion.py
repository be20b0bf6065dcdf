"""``completion``: have a shell complete commands, options, ids, weeks and names."""

from __future__ import annotations

import click

from grader_daemon.cli import output
from grader_daemon.cli.completing import SHELLS, script

_WHERE = """\b
bash: eval "$(grader-daemon completion bash)"    in ~/.bashrc
zsh:  eval "$(grader-daemon completion zsh)"     in ~/.zshrc
fish: grader-daemon completion fish > ~/.config/fish/completions/grader-daemon.fish
"""


@click.command("completion", epilog=_WHERE)
@click.argument("shell", type=click.Choice(SHELLS))
def command(*, shell: str) -> None:
    """Print what a shell has to read so that Tab completes the words of this program."""
    output.line(script(shell))
