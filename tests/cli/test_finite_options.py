"""NaN and infinities are no numbers of an option."""

import math

import click
import pytest
from click.testing import CliRunner

from pmbench.cli.compare import compare
from pmbench.cli.finite import Finite, FiniteRange
from pmbench.cli.leaderboard import leaderboard
from pmbench.cli.power import power
from pmbench.cli.run import run
from pmbench.cli.score import score

COMMANDS = (compare, leaderboard, power, run, score)
FLOATS = [
    (command, option.opts[0])
    for command in COMMANDS
    for option in command.params
    if isinstance(option.type, click.types.FloatParamType | click.FloatRange)
]


def test_every_command_with_such_an_option_is_there() -> None:
    names = {name for _, name in FLOATS}
    assert {"--max-missing", "--margin", "--difference", "--power", "--level", "--temperature"} <= names


@pytest.mark.parametrize(("command", "option"), FLOATS, ids=lambda one: getattr(one, "name", one))
@pytest.mark.parametrize("given", ["nan", "inf", "-inf", "NaN", "1e999"])
def test_it_is_refused(command: click.Command, option: str, given: str) -> None:
    done = CliRunner().invoke(command, [f"{option}={given}"])
    assert done.exit_code == 2
    if command is not compare and command is not power:  # these ask for their other arguments first
        assert option in done.output
    [kind] = [one.type for one in command.params if option in one.opts]
    with pytest.raises(click.BadParameter, match=r"finite|range"):
        kind.convert(given, None, None)


def test_numbers_pass() -> None:
    assert Finite().convert("-0.5", None, None) == -0.5
    assert FiniteRange(0, 1).convert("1", None, None) == 1.0
    assert math.isfinite(Finite().convert("1e308", None, None))
