"""Loading of modules without what libraries import and we never use: half of a short command, and of memory at rest."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any, Final

_PLUGINS: Final = "PYDANTIC_DISABLE_PLUGINS"
_LATER: Final[Mapping[str, tuple[str, ...]]] = {"asyncio": (), "importlib.metadata": ("entry_points",), "secrets": ()}
"""structlog and pydantic-settings import the first for programs that await them, pydantic the second for its plugins
and the third for a password that nobody asks for; OpenSSL and email come with them. Functions that are imported from
one are put off, too."""

_NEVER: Final = ("better_exceptions", "greenlet", "rich", "twisted")
"""What structlog takes up where it happens to be installed: colours for lines that it does not write for us."""


_NOT_FOR_MSGSPEC: Final = ("typing_extensions",)
"""msgspec takes from there what `typing` has since Python 3.11; pydantic needs more of it."""


@contextmanager
def loading() -> Iterator[None]:
    """Load modules without looking for rubbish, nor later in what they made, which stays, nor for plugins of pydantic.

    Plugins that other packages bring would be handed every setting, secrets too. Each look is a twentieth of a command.
    """
    before = os.environ.get(_PLUGINS)
    os.environ[_PLUGINS] = "__all__"
    for name, functions in _LATER.items():
        _put_off(name, functions)
    try:
        with _loading_without(_NEVER):
            yield
    finally:
        if before is None:
            del os.environ[_PLUGINS]
        else:
            os.environ[_PLUGINS] = before


@contextmanager
def loading_little() -> Iterator[None]:
    """Load modules that need neither settings nor log, only msgspec and the database: for who waits for all of it."""
    with _loading_without(_NOT_FOR_MSGSPEC):
        yield


@contextmanager
def _loading_without(names: Sequence[str]) -> Iterator[None]:
    """Load modules without looking for rubbish, and as if others were not installed that are not loaded yet."""
    hidden = [name for name in names if name not in sys.modules]
    for name in hidden:
        sys.modules[name] = None  # type: ignore[assignment]  # it cannot be imported
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
        for name in hidden:
            sys.modules.pop(name, None)


def _put_off(name: str, functions: Sequence[str]) -> None:
    """Have a module loaded when something in it is asked for, and not when it is imported.

    Of its `functions`, each is asked for when it is called. `importlib.util.LazyLoader` loads it as soon as a second
    module imports it.
    """
    from importlib.util import find_spec, module_from_spec  # `--help` must not wait for it

    spec = None if name in sys.modules else find_spec(name)
    if spec is None or spec.loader is None:
        return
    module, loader = module_from_spec(spec), spec.loader

    def load(attribute: str) -> Any:
        if spec.submodule_search_locations and find_spec(f"{name}.{attribute}") is not None:
            return import_module(f"{name}.{attribute}")  # one of its modules, which may be asked for before it
        vars(module).pop("__getattr__", None)
        loader.exec_module(module)
        return getattr(module, attribute)

    def call(attribute: str, /, *values: Any, **named: Any) -> Any:
        return (vars(module).get(attribute) or load(attribute))(*values, **named)

    def find(attribute: str) -> Any:
        return partial(call, attribute) if attribute in functions else load(attribute)

    vars(module)["__getattr__"] = find
    sys.modules[name] = module
    above, _, below = name.rpartition(".")
    if above:
        setattr(sys.modules[above], below, module)
