"""`pipeline size`: the plan for a load, the measurement behind it, and the check of both."""

from pathlib import Path
from typing import Any

from lab.size.check import Checked, check
from lab.size.constants import FILE, Constants, read_constants, write_constants
from lab.size.demand import ORDERS, RETENTION, Demand, require
from lab.size.measure import measure
from lab.size.plan import Plan
from lab.size.reasons import lines
from lab.size.setup import read_setup
from ops.settings import Settings
from ops.stack.stack import Step

MEASURED_ORDERS = 40_000  # a minute, and two for the lake


def plan_for(
    orders_per_second: float | None,
    days: float | None,
    peak_factor: float,
    outage_hours: float,
    file: Path | None,
) -> Plan:
    """Return the plan for a load; what is missing is asked for in one sentence."""
    rate = require(ORDERS, orders_per_second)
    kept = require(RETENTION, days)
    demand = Demand(rate, kept, peak_factor, outage_hours)
    return Plan(demand, read_constants(file or FILE), read_setup())


def describe(plan: Plan) -> dict[str, Any]:
    """Return the plan for a program."""
    demand = plan.demand
    return {
        "orders_per_second": demand.orders_per_second,
        "peak_factor": demand.peak_factor,
        "retention_days": demand.days,
        "outage_hours": demand.outage_hours,
        "needs": [line._asdict() for line in lines(plan)],
        "constants": plan.constants.about.model_dump(),
    }


def measure_into(settings: Settings, step: Step, file: Path | None) -> Constants:
    """Measure the constants here, and write them to the file."""
    constants = measure(settings, step, MEASURED_ORDERS)
    write_constants(constants, file or FILE)
    return constants


def check_with(settings: Settings, step: Step, file: Path | None) -> Checked:
    """Compare the model with three loads here."""
    return check(settings, step, read_constants(file or FILE))


def describe_check(checked: Checked) -> dict[str, Any]:
    """Return the comparison for a program."""
    return {
        "machine": checked.machine,
        "seconds": checked.seconds,
        "compared": [
            one._asdict() | {"ratio": one.ratio, "close": one.is_close} for one in checked.found
        ],
    }
