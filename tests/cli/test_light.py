"""Starting is light: the overview and the list of tasks import nothing that is not needed for them."""

import subprocess
import sys

import pytest

HEAVY = (
    "torch",
    "transformers",
    "datasets",
    "numpy",
    "pandas",
    "onnxruntime",
    "matplotlib",
    "tokenizers",
    "xllamacpp",
    "pyarrow",
    "jinja2",
    "rich",
    "numba",
    "scipy",
)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["tasks"],
        ["tasks", "syppm-editf1"],
        ["--version"],
        ["models"],
        ["run", "--help"],
        ["fetch", "-h"],
    ],
)
def test_listings_and_help_import_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys; from pmbench.cli.main import run\n"
        "status = run(sys.argv[1:])\n"
        f"heavy = sorted(set({HEAVY}) & set(sys.modules))\n"
        "sys.exit(f'imported: {heavy}' if heavy else status)"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_importing_the_package_imports_no_room() -> None:
    code = "import sys, pmbench; print(sorted(m for m in sys.modules if m.startswith('pmbench.')))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def test_every_public_name_is_there() -> None:
    import pmbench

    for name in pmbench.__all__:
        assert getattr(pmbench, name) is not None, name
    with pytest.raises(AttributeError):
        pmbench.nothing_of_that_name  # noqa: B018
