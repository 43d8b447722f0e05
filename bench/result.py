"""What a benchmark has found: tables, plots, sentences and goals, as they go into JSON and docs/benchmarks.md."""

import json
import os
import platform
import time


def machine():
    """Returns what a reader needs to know about this machine."""
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        model = next((line.split(":")[1].strip() for line in lines if "model name" in line), "?")
    with open("/proc/meminfo", encoding="utf-8") as lines:
        memory = int(next(lines).split()[1]) / 2**20
    return {"cpu": model, "cores": os.cpu_count(), "memory_gib": round(memory),
            "kernel": platform.release(), "load": os.getloadavg()[0]}


class Result:
    def __init__(self, name, title, about):
        self.name, self.title, self.about = name, title, about
        self.tables, self.plots, self.notes, self.ahead, self.goals = [], [], [], [], []
        self.versions, self.raw = {}, {}
        self.load = os.getloadavg()[0]  # before our own work

    def table(self, columns, rows):
        self.tables.append({"columns": columns, "rows": [[str(cell) for cell in row] for row in rows]})

    def bars(self, name, unit, labels, values):
        """A plot of one value a label; the first is ours."""
        self.plots.append({"kind": "bars", "name": name, "unit": unit, "labels": labels,
                           "values": values})

    def lines(self, name, x_title, unit, x, series):
        """A plot of several series over the same x: {label: values}; both axes are logarithmic."""
        self.plots.append({"kind": "lines", "name": name, "unit": unit, "x_title": x_title, "x": x,
                           "series": series})

    def goal(self, what, limit, measured, unit, at_least=False):
        reached = measured >= limit if at_least else measured <= limit
        self.goals.append({"what": what, "limit": limit, "measured": measured, "unit": unit,
                           "at_least": at_least, "reached": bool(reached)})

    def candidates(self, candidates, baseline=None):
        """The usual table of commands that ran in turn."""
        baseline = baseline or candidates[0]
        self.table(["", "rounds", "CPU time, ms", "wall time, ms", "peak memory, MiB", "CPU time, ratio"],
                   [[each.name + (" (exits with an error)" if each.failed else ""), len(each.seconds), f"{each.cpu_ms:.1f}", f"{each.median * 1e3:.1f}",
                     f"{each.peak_kib / 1024:.1f}", f"{each.cpu_ms / baseline.cpu_ms:.1f}"]
                    for each in candidates])
        self.raw["candidates"] = [{"name": each.name, "seconds": each.seconds, "cpu": each.cpu,
                                   "peak_kib": each.peak_kib} for each in candidates]

    def text(self):
        """The result for a terminal."""
        lines = [self.title]
        for table in self.tables:
            rows = [table["columns"], *table["rows"]]
            widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
            lines += ["  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                                for i, (cell, width) in enumerate(zip(row, widths))) for row in rows]
        lines += self.notes + self.ahead
        lines += [("reached: " if goal["reached"] else "MISSED:  ") + goal_text(goal)
                  for goal in self.goals]
        return "\n".join(lines)

    def keep(self, folder):
        with open(os.path.join(folder, self.name + ".json"), "w", encoding="utf-8") as file:
            json.dump({**self.__dict__, "at": time.strftime("%Y-%m-%d"),
                       "machine": {**machine(), "load": self.load}}, file, indent=1)


def goal_text(goal):
    return (f"{goal['what']} {'≥' if goal['at_least'] else '≤'} {goal['limit']:g}{goal['unit']}: "
            f"{number(goal['measured'])}{goal['unit']}")


def number(value):
    """Three significant digits, without an exponent."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
