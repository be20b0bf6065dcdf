"""Loading of modules without what libraries import and we never use: half of a short command, and of memory at rest."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final

_PLUGINS: Final = "PYDANTIC_DISABLE_PLUGINS"
_LATER: Final = "asyncio"
"""structlog and pydantic-settings import it for programs that await them; OpenSSL comes with it."""

_NEVER: Final = ("better_exceptions", "greenlet", "rich", "twisted")
"""What structlog takes up where it happens to be installed: colours for lines that it does not write for us."""


@contextmanager
def loading() -> Iterator[None]:
    """Load modules without looking for rubbish, nor later in what they made, which stays, nor for plugins of pydantic.

    Plugins that other packages bring would be handed every setting, secrets too. Each look is a twentieth of a command.
    """
    before = os.environ.get(_PLUGINS)
    os.environ[_PLUGINS] = "__all__"
    hidden = [name for name in _NEVER if name not in sys.modules]
    for name in hidden:
        sys.modules[name] = None  # type: ignore[assignment]  # it cannot be imported
    _put_off(_LATER)
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
        for name in hidden:
            sys.modules.pop(name, None)
        if before is None:
            del os.environ[_PLUGINS]
        else:
            os.environ[_PLUGINS] = before


def _put_off(name: str) -> None:
    """Have a package loaded when something in it is asked for, and not when it is imported.

    `importlib.util.LazyLoader` loads it as soon as a second module imports it.
    """
    from importlib.util import find_spec, module_from_spec  # `--help` must not wait for it

    spec = None if name in sys.modules else find_spec(name)
    if spec is None or spec.loader is None:
        return
    module, loader = module_from_spec(spec), spec.loader

    def load(attribute: str) -> Any:
        if find_spec(f"{name}.{attribute}") is not None:  # one of its modules, which may be asked for before it
            return import_module(f"{name}.{attribute}")
        vars(module).pop("__getattr__", None)
        loader.exec_module(module)
        return getattr(module, attribute)

    vars(module)["__getattr__"] = load
    sys.modules[name] = module
