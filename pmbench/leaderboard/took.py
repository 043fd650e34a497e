"""What the answers of a system cost and how long one took, from the usage in its results.

These are no metrics: no interval is drawn and no test is made of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from pmbench.leaderboard.table import Sum, SystemRow, Took
from pmbench.leaderboard.wording import DASH
from pmbench.running.results import Results, UsageTotal

PER = 1000
"""Instances that costs are shown of."""


def took(results: Results) -> Took:
    """Costs for 1,000 instances, all their samples together, and seconds of one response."""
    counts, model = results.counts, results.usage.get("model", UsageTotal())
    each = counts.samples / counts.instances if counts.instances else 1.0
    return Took(
        cost=_cost(model, (counts.responded + counts.failed) / each),
        judges=_cost(results.usage.get("judges", UsageTotal()), (counts.scored + counts.missing) / each),
        median=model.latency_median,
        p95=model.latency_p95,
        median_text=_seconds(model.latency_median),
        p95_text=_seconds(model.latency_p95),
    )


def cost_columns(rows: Sequence[SystemRow]) -> list[tuple[str, list[str]]]:
    """The columns of the table of cost and time: a heading and a cell for each row. None where there is nothing.

    Judges have a column only where one of them has a price, and so has the model.
    """
    times = [[row.took.median_text, row.took.p95_text] for row in rows]
    found = [
        ("Cost ($ per 1,000 instances)", [row.took.cost.text for row in rows]),
        ("Cost of judges ($ per 1,000 instances)", [row.took.judges.text for row in rows]),
    ]
    found = [(heading, cells) for heading, cells in found if any(cell != DASH for cell in cells)]
    if any(cell != DASH for cells in times for cell in cells):
        found.append(("Seconds per response, median", [cells[0] for cells in times]))
        found.append(("Seconds per response, 95th percentile", [cells[1] for cells in times]))
    return found


def cost_notes(rows: Sequence[SystemRow]) -> list[str]:
    """What a reader of that table has to know."""
    told = []
    sums = [one for row in rows for one in (row.took.cost, row.took.judges)]
    if any(one.dollars is not None for one in sums):
        told.append(
            "Costs are US dollars at the prices that held when the answers were asked for; a dash stands where no"
            " price is known, as of models on a machine of one's own."
        )
    if any(not one.whole for one in sums):
        told.append("After ≥ stands a cost without the calls whose price is not known: it was more.")
    if any(row.took.median is not None for row in rows):
        told.append(
            "Seconds are of one response, its calls added up, as they were measured when they were asked; the"
            " machine, the server and what else it had to do decide them too."
        )
    return told


def _cost(usage: UsageTotal, instances: float) -> Sum:
    """A cost for 1,000 instances; unknown where no call that used tokens has a price."""
    nothing = not (usage.prompt_tokens or usage.completion_tokens) or usage.unpriced >= usage.calls
    if nothing or instances <= 0:
        return Sum(None, True, DASH)
    dollars = usage.cost / instances * PER
    whole = not usage.unpriced
    return Sum(dollars, whole, f"{'' if whole else '≥ '}{_money(dollars)}")


def _money(dollars: float) -> str:
    """Cents; of less than ten of them so many decimals as show two digits, six at most."""
    if dollars >= 0.1 or not dollars:
        return f"{dollars:,.2f}"
    return f"{dollars:.{min(6, 1 - math.floor(math.log10(dollars)))}f}"


def _seconds(value: float | None) -> str:
    """Two decimals, fewer of long times."""
    if value is None:
        return DASH
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"
