#!/usr/bin/env python3
"""Makes docs/benchmarks.md and its plots of the JSON files of bench/run.

    write_benchmarks.py RESULTS DOCS NAME...      (run by bench/run --write; needs matplotlib)
"""

import json
import os
import sys
import textwrap

import matplotlib
matplotlib.use("svg")
# pylint: disable=wrong-import-position
import matplotlib.pyplot as plt
from result import goal_text

OURS, OTHERS = "#2a6fb0", ["#9aa5b1", "#c08030", "#60a060"]
HEAD = """# Benchmarks

Made by `bench/run --write`. Values are medians unless a table says otherwise, and the candidates of a table ran in
turn. CPU time is of all processes of a command. Ratios hardly depend on the machine; seconds do. Loads are
from before a run. `bench/flame NAME` draws where the time goes (NAME: one, node, scale, fr).
"""


def plot(spec, path):
    plt.rcParams["svg.hashsalt"] = "oddrank"  # the same numbers give the same file
    if spec["kind"] == "bars":
        names = spec["labels"]
        figure, axes = plt.subplots(figsize=(7, 0.7 + 0.35 * len(names)))
        ours = [name.startswith("oddrank") for name in names]
        axes.barh(names, spec["values"], color=[OURS if own else OTHERS[0] for own in ours])
        axes.invert_yaxis()
        axes.set_xscale("log")
        axes.set_xlabel(spec["unit"] + " (logarithmic)")
    else:
        figure, axes = plt.subplots(figsize=(7, 3.2))
        for at, (label, values) in enumerate(spec["series"].items()):
            axes.plot(spec["x"], values, marker="o", label=label,
                      color=OURS if at == 0 else OTHERS[(at - 1) % len(OTHERS)])
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel(spec["x_title"])
        axes.set_ylabel(spec["unit"])
        axes.legend()
        axes.grid(True, which="major", alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def table(spec):
    lines = ["| " + " | ".join(spec["columns"]) + " |",
             "|" + "|".join("---" if at == 0 else "--:" for at in range(len(spec["columns"]))) + "|"]
    return lines + ["| " + " | ".join(row) + " |" for row in spec["rows"]]


def section(result, docs):
    machine = result["machine"]
    about = textwrap.fill(" ".join(result["about"].split()), 110, break_long_words=False, break_on_hyphens=False)
    lines = [f"## {result['title']}", "", about, ""]
    lines += [f"`bench/run {result['name']}`, {result['at']}, load {machine['load']:.1f}.", ""]
    for spec in result["tables"]:
        lines += table(spec) + [""]
    for note in result["notes"]:
        lines += [textwrap.fill(note, 110, break_on_hyphens=False), ""]
    for note in result["ahead"]:
        lines += ["**" + note + "**", ""]
    for spec in result["plots"]:
        plot(spec, os.path.join(docs, "benchmarks", spec["name"] + ".svg"))
        lines += [f"![plot](benchmarks/{spec['name']}.svg)", ""]
    return lines


def goals(results):
    rows = [[result["title"] if at == 0 else "", goal_text(goal), "reached" if goal["reached"] else "**missed**"]
            for result in results for at, goal in enumerate(result["goals"])]
    if not rows:
        return []
    return ["## Goals", "", *table({"columns": ["benchmark", "goal: measured", ""], "rows": rows}), ""]


def main():
    folder, docs, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    os.makedirs(os.path.join(docs, "benchmarks"), exist_ok=True)
    results = []
    for name in names:
        path = os.path.join(folder, name + ".json")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                results.append(json.load(file))
    if not results:
        sys.exit(f"no results in {folder}")
    machines = {(each["machine"]["cpu"], each["machine"]["cores"], each["machine"]["memory_gib"],
                 each["machine"]["kernel"]) for each in results}
    lines = [HEAD]
    for cpu, cores, memory, kernel in sorted(machines):
        lines.append(f"Machine: {cpu}, {cores} cores, {memory} GiB, kernel {kernel}.\n")
    versions = sorted({f"{name} {version}" for result in results for name, version in result["versions"].items()})
    if versions:
        lines.append(textwrap.fill(f"Versions: {', '.join(versions)}.", 110, break_on_hyphens=False) + "\n")
    lines += goals(results)
    for result in results:
        lines += section(result, docs)
    with open(os.path.join(docs, "benchmarks.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines).rstrip() + "\n")


if __name__ == "__main__":
    main()
