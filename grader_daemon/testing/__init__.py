"""Contract tests for third-party packages; only their tests import them."""

import pytest

pytest.register_assert_rewrite(f"{__name__}.source_contract")  # else a failure says nothing but that it is one
