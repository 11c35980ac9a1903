#!/usr/bin/env python3
"""Prints what run.sh measured as one text table and writes table.csv and, with matplotlib,
bench.png and bench.svg beside it.

    report.py OUT    OUT: the folder with raw.jsonl

Each figure is the median over the rounds. NOTES.md says what the figures mean and what the aims are.
"""
import collections
import csv
import json
import pathlib
import statistics
import sys

PATTERNS = ["independent", "chain", "stencil", "wavefront", "fanout"]

# How a program gets its edges; the order is that of the table.
KINDS = {
    "norn": "edges from accesses, one task at a time",
    "omp_gcc": "edges from accesses, one task at a time",
    "omp_clang": "edges from accesses, one task at a time",
    "starpu": "edges from accesses, one task at a time",
    "tbb_task_group": "no edges, one task at a time",
    "tbb_flow": "explicit edges, whole graph built, run, destroyed",
    "tbb_flow_rerun": "explicit edges, graph built before: static, not a rival",
    "floor": "calls through a function pointer, no runtime",
}
RIVALS = ["omp_gcc", "omp_clang", "starpu", "tbb_task_group", "tbb_flow"]

# (workers, pattern): ns a task, empty bodies, 65 536 tasks.
AIMS = {
    (1, "independent"): 25, (1, "chain"): 35, (1, "stencil"): 50, (1, "wavefront"): 35, (1, "fanout"): 35,
    (2, "independent"): 25, (2, "chain"): 45, (2, "stencil"): 75, (2, "wavefront"): 65, (2, "fanout"): 60,
}


class Figures:
    def __init__(self, folder):
        self.machine, self.duration, self.failed, self.load = {}, {}, [], []
        self.rows = collections.defaultdict(list)
        for line in open(folder / "raw.jsonl"):
            row = json.loads(line)
            measure = row["measure"]
            if measure == "machine":
                self.machine = row
            elif measure == "duration":
                self.duration = row
            elif measure == "failed":
                self.failed.append(row)
            else:
                self.load.append((row["other_load"], row["seconds"]))
                self.rows[self.key(row)].append(row)

    @staticmethod
    def key(row):
        measure = row["measure"]
        if measure == "time" and row["pattern"] == "accesses":
            return ("accesses", row["program"], row["workers"], row["accesses"])
        if measure == "time" and row["window"]:
            return ("tasks", row["program"], row["workers"], row["tasks"])
        if measure == "time":
            return ("table", row["program"], row["workers"], row["pattern"])
        if measure == "held":
            return ("held", row["program"], row["pattern"], row["tasks"])
        return (measure, row["program"], row["workers"], None)

    def get(self, key, field="ns"):
        values = [row[field] for row in self.rows.get(key, []) if row.get(field) is not None]
        return statistics.median(values) if values else None

    def undeferred(self, key):
        """Whether the tasks of this cell ran inside their submission. A function call is not a task."""
        share = self.get(key, "undeferred")
        return share is not None and share > 0.5

    def workers(self):
        return sorted({key[2] for key in self.rows if key[0] in ("table", "metg")})

    def programs(self):
        seen = {key[1] for key in self.rows}
        return [program for program in KINDS if program in seen]

    def curve(self, measure, program, third=2):
        return sorted((key[3], key) for key in self.rows if key[0] == measure and key[1] == program and key[2] == third)


def number(value, width=11):
    if value is None:
        return f"{'-':>{width}}"
    digits = 1 if value < 1000 else 0
    return f"{value:>{width},.{digits}f}".replace(",", " ")


def heading(text):
    print(f"\n{text}\n{'-' * len(text)}")


def table(figures, workers):
    heading(f"ns a task, empty bodies, {workers} worker{'s' if workers > 1 else ''}")
    print(f"{'':18}" + "".join(f"{pattern:>13}" for pattern in PATTERNS))
    apart, cells = {}, {}
    usual = max((figures.rows[key][0]["tasks"] for key in figures.rows if key[:2] == ("table", "norn")), default=0)
    for program in figures.programs():
        shown = {}
        for pattern in PATTERNS:
            key = ("table", program, 1 if program == "floor" else workers, pattern)
            value = figures.get(key)
            if value is None:
                continue
            count = figures.rows[key][0]["tasks"]
            if program != "floor" and figures.undeferred(key):
                apart.setdefault(program, {})[pattern] = value
            else:
                shown[pattern] = cells[program, pattern] = (value, count)
        if shown:
            few = {count for _, count in shown.values() if count < 0.9 * usual}
            print(f"{program:18}" + "".join(number(shown[p][0] if p in shown else None, 13) for p in PATTERNS)
                  + (f"   fewer tasks: {', '.join(map(str, sorted(few)))}" if few else ""))
    least = [min((row["ns_min"] for row in figures.rows.get(("table", "norn", workers, p), [])), default=None) for p in PATTERNS]
    print(f"{'norn, least':18}" + "".join(number(value, 13) for value in least))
    for title, base in (("norn / floor", "floor"), ("norn / best peer", None)):
        line, names = [], []
        for pattern in PATTERNS:
            rivals = [base] if base else RIVALS
            found = [(cells[r, pattern][0], r) for r in rivals if (r, pattern) in cells]
            mine = cells.get(("norn", pattern))
            line.append(f"{mine[0] / min(found)[0]:13.2f}" if found and mine else f"{'-':>13}")
            names.append(min(found)[1].replace("tbb_task_group", "task_group") if found else "-")
        print(f"{title:18}" + "".join(line))
        if not base:
            print(f"{'  which is':18}" + "".join(f"{n[:12]:>13}" for n in names))
    if apart:
        print("apart, because they ran the tasks inside the submission, as calls:")
        for program, shown in apart.items():
            print(f"  {program:16}" + "".join(number(shown.get(p), 13) for p in PATTERNS))


def metg(figures):
    if not any(key[0] == "metg" for key in figures.rows):
        return
    heading("METG(50 %), stencil: smallest grain of a body, ns, at which half of the processor time is body")
    workers = figures.workers()
    print(f"{'':18}" + "".join(f"{w:>9} w." for w in workers))
    for program in figures.programs():
        keys = [("metg", program, w, None) for w in workers]
        if not any(key in figures.rows for key in keys):
            continue
        shown = []
        for key in keys:
            value = figures.get(key, "metg")
            shown.append(f"{'not found':>11}" if key in figures.rows and value is None else number(value, 11))
        one = figures.undeferred(("table", program, 1, "stencil"))
        print(f"{program:18}" + "".join(shown) + ("   with 1 worker the tasks ran as calls" if one else ""))


def curves(figures):
    names = figures.programs()
    for title, measure, third, unit in (
            ("ns a task against the number of tasks, stencil, 2 workers, at most 1000 live", "tasks", 2, "tasks"),
            ("ns a task against accesses a task, 2 workers, 4096 tasks", "accesses", 2, "accesses")):
        columns = sorted({key[3] for key in figures.rows if key[0] == measure})
        if not columns:
            continue
        heading(title)
        starred = False
        print(f"{'':18}" + "".join(f"{column:>11}" for column in columns) + (f"{'spread':>9}" if measure == "tasks" else ""))
        for program in names:
            values = [figures.get((measure, program, third, column)) for column in columns]
            known = [v for v in values if v]
            if known:
                spread = f"{max(known) / min(known) - 1:9.0%}" if measure == "tasks" else ""
                marks = ["*" if figures.undeferred((measure, program, third, column)) else "" for column in columns]
                starred = starred or "*" in marks
                print(f"{program:18}" + "".join(f"{number(v, 0).strip() + m:>11}" for v, m in zip(values, marks)) + spread)
        if starred:
            print("* ran the tasks inside the submission, as calls")
    for pattern in ("stencil", "independent"):
        columns = sorted({key[3] for key in figures.rows if key[0] == "held" and key[2] == pattern})
        if not columns:
            continue
        heading(f"all tasks waiting at a gate, {pattern}, 2 workers: ns a task, of it page faults, bytes a live task")
        print(f"{'':18}" + "".join(f"{column:>26}" for column in columns))
        for program in names:
            cells = []
            for column in columns:
                key = ("held", program, pattern, column)
                ns = figures.get(key)
                cells.append(f"{'-':>26}" if ns is None else number(ns, 11)
                             + f"{figures.get(key, 'ns_page_faults'):7.0f}{figures.get(key, 'bytes'):6.0f} B")
            if any(c.strip() != "-" for c in cells):
                print(f"{program:18}" + "".join(cells))


def singles(figures):
    names = figures.programs()
    rows = [p for p in names if ("idle", p, 2, None) in figures.rows or ("wake", p, 2, None) in figures.rows]
    if rows:
        heading("an idle runtime with 2 workers; wake-up of the other worker for one task")
        print(f"{'':18}{'CPU %':>11}{'wake ns':>11}{'futex ns':>11}{'ratio':>11}")
        for program in rows:
            wake = ("wake", program, 2, None)
            idle = figures.get(("idle", program, 2, None), "cpu_percent")
            print(f"{program:18}{'-' if idle is None else f'{idle:.4f}':>11}" + number(figures.get(wake))
                  + number(figures.get(wake, "ns_futex"))
                  + (f"{figures.get(wake, 'ratio'):11.2f}" if wake in figures.rows else f"{'-':>11}"))
    rows = sorted((key[2], list(KINDS).index(key[1]), key) for key in figures.rows if key[0] == "cholesky")
    if rows:
        size = figures.rows[rows[0][2]][0]
        heading(f"tiled Cholesky, n = {size['n']}, tile {size['tile']}, the same OpenBLAS kernels")
        print(f"{'':18}{'workers':>9}{'Gflop/s':>11}{'loop':>11}{'share':>11}{'ceiling':>11}")
        for workers, _, key in rows:
            print(f"{key[1]:18}{workers:>9}" + number(figures.get(key, "gflops")) + number(figures.get(key, "gflops_loop"))
                  + f"{figures.get(key, 'share'):11.3f}{figures.get(key, 'ceiling'):11.3f}")
        print("share: rate / (workers x the loop's rate in the same process); ceiling: the same for plain loops side by side")


def aims(figures):
    """Aim, what was measured, whether it is met. An aim that was not measured is not met."""
    lines = []

    def add(name, aim, value, met=None):
        lines.append((name, aim, value, value is not None and (value <= aim if met is None else met)))

    for (workers, pattern), aim in AIMS.items():
        add(f"{pattern}, {workers} worker{'s' if workers > 1 else ''}, ns a task", aim,
            figures.get(("table", "norn", workers, pattern)))
    add("METG(50 %), stencil, 2 workers, ns of grain", 150, figures.get(("metg", "norn", 2, None), "metg"))
    for pattern in ("independent", "stencil"):
        held = figures.curve("held", "norn", pattern)
        large = [key for count, key in held if count > 500000]
        add(f"bytes a live task, {pattern}", 160, figures.get(large[0], "bytes") if large else None)
    values = [figures.get(key) for _, key in figures.curve("tasks", "norn")]
    add("cost against tasks run: most over least", 1.2, max(values) / min(values) if values else None)
    held = figures.curve("held", "norn", "stencil")
    if held and values:
        top = held[-1][1]
        add(f"{top[3]} tasks waiting, less page faults, over the cost at bounded live tasks", 2.0,
            (figures.get(top) - figures.get(top, "ns_page_faults")) / statistics.median(values))
    add("idle runtime, % of a core", 0.1, figures.get(("idle", "norn", 2, None), "cpu_percent"))
    add("wake-up over a bare futex wake", 1.3, figures.get(("wake", "norn", 2, None), "ratio"))
    share = figures.get(("cholesky", "norn", 2, None), "share")
    add("Cholesky: share of twice the loop (at least)", 0.95, share, share is not None and share >= 0.95)
    rivals = [figures.get(("cholesky", p, 2, None), "gflops") for p in ("omp_gcc", "omp_clang", "starpu")]
    mine, rivals = figures.get(("cholesky", "norn", 2, None), "gflops"), [r for r in rivals if r]
    if mine and rivals:
        add("Cholesky: rate over the best peer's (at least)", 1.0, mine / max(rivals), mine > max(rivals))
    heading("norn's aims")
    for name, aim, value, met in lines:
        shown = "not measured" if value is None else f"{value:.3g}" if value < 100 else f"{value:.0f}"
        print(f"{name:72}{aim:>8}{shown:>14}  {'met' if met else 'NOT met'}")


def write_csv(figures, path):
    rows = [row for group in figures.rows.values() for row in group]
    fields = list(dict.fromkeys(field for row in rows for field in row))
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, fields)
        writer.writeheader()
        writer.writerows(rows)


def plot(figures, folder):
    try:
        import matplotlib
        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print("\nno plot: python3-matplotlib is not installed", file=sys.stderr)
        return []
    names = [p for p in figures.programs() if p != "floor"]
    colours = {p: f"C{i}" for i, p in enumerate(KINDS)}
    colours["norn"] = "black"
    workers = figures.workers()
    most = max(workers, default=1)
    figure, axes = plt.subplots(2, 3, figsize=(16, 9))
    panels = iter(axes.flat)

    axis = next(panels)
    width = 0.8 / max(1, len(names))
    for index, program in enumerate(names):
        for place, pattern in enumerate(PATTERNS):
            key = ("table", program, most, pattern)
            value = figures.get(key)
            if value:
                axis.bar(place + index * width, value, width, color=colours[program],
                         alpha=0.35 if figures.undeferred(key) else 1)
    for place, pattern in enumerate(PATTERNS):
        if (most, pattern) in AIMS and axis.patches:
            axis.hlines(AIMS[most, pattern], place - width, place + 0.8, "red", linestyles="dotted")
    axis.set(yscale="log", ylabel="ns a task", xticks=[i + 0.4 for i in range(5)], xticklabels=PATTERNS,
             title=f"empty bodies, {most} worker(s) (faint: run as calls; dotted: aim)")

    axis = next(panels)
    for program in names:
        if len(workers) > 2:
            points = [(w, figures.get(("table", program, w, "stencil"))) for w in workers]
            points = [(w, v) for w, v in points if v and not figures.undeferred(("table", program, w, "stencil"))]
            axis.plot(*zip(*points), "o-", color=colours[program]) if points else None
        else:
            value = figures.get(("metg", program, most, None), "metg")
            if value:
                axis.barh(program, value, color=colours[program])
    if len(workers) > 2:
        axis.set(xscale="log", yscale="log", xlabel="workers", ylabel="ns a task", title="stencil against workers")
        axis.set_xticks(workers, [str(w) for w in workers])
    else:
        axis.set(xscale="log", xlabel="ns of grain", title=f"METG(50 %), stencil, {most} worker(s)")
        axis.invert_yaxis()

    for measure, title, label in (("tasks", "stencil, at most 1000 live (solid), all waiting (dashed)", "tasks"),
                                  ("accesses", "4096 tasks against accesses", "accesses a task")):
        axis = next(panels)
        for program in names:
            points = [(x, figures.get(key)) for x, key in figures.curve(measure, program) if not figures.undeferred(key)]
            if points:
                axis.plot(*zip(*points), "o-", color=colours[program])
            if measure == "tasks":
                points = [(x, figures.get(key)) for x, key in figures.curve("held", program, "stencil")]
                if points:
                    axis.plot(*zip(*points), "x--", color=colours[program])
        axis.set(yscale="log", xlabel=label, ylabel="ns a task", title=title)
        if measure == "tasks":
            axis.set_xscale("log")
        else:
            ticks = sorted({key[3] for key in figures.rows if key[0] == "accesses"})
            axis.set_xscale("symlog", linthresh=1)
            axis.set(xlim=(-0.2, 80), xticks=ticks, xticklabels=ticks)
            axis.minorticks_off()

    axis = next(panels)
    for program in names:
        points = [(x, key) for x, key in figures.curve("held", program, "stencil") if x > 9000]
        if points:
            value = figures.get(points[-1][1], "bytes")
            axis.barh(program, value, color=colours[program])
            axis.text(value, program, f" {value:.0f}", va="center")
    axis.axvline(160, color="red", linestyle="dotted")
    axis.set(xscale="log", xlim=(10, 10000), xlabel="bytes", title="memory a waiting stencil task (dotted: aim)")
    axis.invert_yaxis()

    axis = next(panels)
    for program in names:
        points = sorted((key[2], figures.get(key, "share")) for key in figures.rows if key[0] == "cholesky" and key[1] == program)
        if len(points) > 1:
            axis.plot(*zip(*points), "o-", color=colours[program])
        elif points:
            axis.barh(program, points[0][1], color=colours[program])
    axis.set(title="Cholesky: rate / (workers x the loop's)")
    if not axis.lines and axis.patches:
        axis.axvline(0.95, color="red", linestyle="dotted")
        axis.invert_yaxis()

    figure.legend(handles=[plt.Line2D([], [], color=colours[p], marker="o", label=p) for p in names],
                  loc="lower center", ncols=len(names))
    figure.suptitle(f"norn and peers, {figures.machine.get('processor', '')}, {figures.machine.get('cpus', '?')} CPUs, "
                    f"{figures.machine.get('date', '')}")
    for axis in axes.flat:
        if not axis.has_data():
            axis.set_axis_off()
    figure.subplots_adjust(left=0.06, right=0.98, top=0.92, bottom=0.11, wspace=0.25, hspace=0.28)
    paths = [folder / "bench.png", folder / "bench.svg"]
    for path in paths:
        figure.savefig(path, dpi=110)
    return paths


def main():
    folder = pathlib.Path(sys.argv[1])
    figures = Figures(folder)
    machine = figures.machine
    print(f"{machine.get('processor')}, {machine.get('cpus')} CPUs, Linux {machine.get('kernel')}, {machine.get('date')}")
    versions = folder / "versions.txt"
    if versions.exists():
        print("; ".join(versions.read_text().split("\n")).strip("; "))
    for program in figures.programs():
        print(f"  {program:16}{KINDS[program]}")
    for workers in figures.workers():
        table(figures, workers)
    metg(figures)
    curves(figures)
    singles(figures)
    aims(figures)
    if figures.failed:
        heading("not done")
        for text in sorted({f"{row['program']} {row['arguments']}: {row['why']}" for row in figures.failed}):
            print(text)
    seconds = sum(seconds for _, seconds in figures.load) or 1
    load = sum(load * seconds for load, seconds in figures.load) / seconds
    print(f"\n{len(figures.load)} processes in {figures.duration.get('seconds', '?')} s"
          + (", cut short: the time given was over" if figures.duration.get("cut_short") else "")
          + f"; other load on the machine: {load:.2f} cores on average"
          + ("\nTHE MACHINE WAS NOT QUIET: measure again before believing any of this." if load > 0.1 else ""))
    write_csv(figures, folder / "table.csv")
    for path in plot(figures, folder):
        print(path)


if __name__ == "__main__":
    main()
