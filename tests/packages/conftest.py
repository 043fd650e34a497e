"""The tests of these packages run where the packages are installed: see `tests/cli/test_plugin_suite.py`."""

collect_ignore_glob = ["*/tests/*"]
