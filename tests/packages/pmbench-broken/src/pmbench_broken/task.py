"""Needs what nobody has."""

import a_module_that_is_not_there  # noqa: F401
