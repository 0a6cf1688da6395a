"""All benchmarks in one table; `make bench` runs it.

Every figure is measured on one thread. Goals are for ratios within one run, as machines differ; a goal that is missed
is named at the end, but is no failure.
"""

import time

from rich.console import Console
from rich.table import Table

import explain
import linear
import networks
import rivals
import rivals_gradients
import rivals_robx
import slow_path
import startup
import tables
import trees
from timing import Record

BENCHMARKS = {
    "startup": startup.run,
    "linear": linear.run,
    "networks": networks.run,
    "trees": trees.run,
    "tables": tables.run,
    "explain": explain.run,
    "slow path": slow_path.run,
    "rivals": rivals.run,
    "RobX and T-Rex": rivals_robx.run,
    "rivals by gradients": rivals_gradients.run,
}


def measure(console: Console) -> list[Record]:
    """Run everything, and say what was found as it is found."""
    records = []
    start = time.perf_counter()
    for place, (name, run) in enumerate(BENCHMARKS.items(), start=1):
        console.print(f"[{place}/{len(BENCHMARKS)}] {name} ...", markup=False)
        for record in run():
            records.append(record)
            console.print(f"  {time.perf_counter() - start:4.0f} s  {record.name}: {summary(record)}", markup=False)
    return records


def summary(record: Record) -> str:
    return amount(record.ours, record.unit) if record.ratio is None else times(record.ratio)


def amount(value: float, unit: str) -> str:
    return f"{value * 1000:.2f} ms" if unit == "s" and value < 0.1 else f"{value:.2f} {unit}"


def times(ratio: float) -> str:
    return f"{ratio:,.0f}x" if ratio >= 100 else f"{ratio:.1f}x"


def table(records: list[Record]) -> Table:
    """Set one row per figure."""
    view = Table(title="betarce, one thread", caption="ratio: baseline / ours")
    for title in ("name", "baseline", "ours", "ratio", "goal", "ok"):
        view.add_column(title, justify="left" if title in ("name", "ok") else "right", no_wrap=title != "name")
    for record in records:
        view.add_row(
            record.name,
            "" if record.baseline is None else amount(record.baseline, record.unit),
            amount(record.ours, record.unit),
            "" if record.ratio is None else times(record.ratio),
            record.goal,
            {True: "[green]yes[/green]", False: "[bold red]MISSED[/bold red]", None: ""}[record.met],
        )
    return view


def main() -> None:
    """Measure, show the table, and name the goals that were missed."""
    records = measure(Console(stderr=True, highlight=False))
    console = Console(highlight=False)
    console.print(table(records))
    missed = [record for record in records if record.met is False]
    n_goals = sum(record.met is not None for record in records)
    if not missed:
        console.print(f"[green]All {n_goals} goals met.[/green]")
        return
    console.print(f"[bold red]{len(missed)} of {n_goals} goals missed on this machine:[/bold red]")
    for record in missed:
        console.print(f"  {record.name}: {summary(record)}, goal {record.goal}", markup=False)


if __name__ == "__main__":
    main()
