"""Checks for packages of others that work with this one; only their tests import them."""

import pytest

pytest.register_assert_rewrite(f"{__name__}.source_contract")  # else a failure says nothing but that it is one
