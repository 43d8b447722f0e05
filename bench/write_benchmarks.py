#!/usr/bin/env python3
"""Makes docs/benchmarks.md and its plots of the JSON files of bench/run.

    write_benchmarks.py RESULTS DOCS        (run by bench/run --write; needs matplotlib)
"""

import json
import os
import statistics
import sys

import matplotlib
matplotlib.use("svg")
# pylint: disable=wrong-import-position
import matplotlib.pyplot as plt

TITLES = {"one": "One rank", "node": "Eight ranks of a node", "threads": "5,000 threads",
          "ranks": "200 small Python ranks", "scale": "Reports of many ranks",
          "start": "Start of the program"}


def median_ms(candidate, key):
    return statistics.median(candidate[key]) * 1e3


def plot(result, path):
    names = [each["name"] for each in result["candidates"]]
    times = [median_ms(each, "cpu") for each in result["candidates"]]
    figure, axes = plt.subplots(figsize=(7, 0.5 + 0.4 * len(names)))
    axes.barh(names, times, color=["#2a6fb0"] + ["#9aa5b1"] * (len(names) - 1))
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("CPU time, ms (median; logarithmic)")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def section(result, docs):
    name, candidates = result["name"], result["candidates"]
    machine = result["machine"]
    lines = [f"## {TITLES[name]}", "",
             f"{result['at']}: {machine['cpu']}, {machine['cores']} cores, kernel {machine['kernel']}, "
             f"load {machine['load']:.0f}."]
    if result["versions"]:
        lines.append("Versions: " + ", ".join(f"{peer} {version}" for peer, version
                                               in sorted(result["versions"].items())) + ".")
    lines += ["", "| | runs | CPU time, ms | wall time, ms | peak memory, MiB |", "|---|--:|--:|--:|--:|"]
    for each in candidates:
        lines.append(f"| {each['name']} | {len(each['seconds'])} | {median_ms(each, 'cpu'):.1f} | "
                     f"{median_ms(each, 'seconds'):.1f} | {each['peak_kib'] / 1024:.1f} |")
    ahead = [each["name"] for each in candidates[1:]
             if name in ("one", "node") and median_ms(each, "cpu") < median_ms(candidates[0], "cpu")]
    if ahead:
        lines += ["", f"Less CPU time than oddrank is needed by: {', '.join(ahead)}."]
    if len(candidates) > 1:
        plot(result, os.path.join(docs, "benchmarks", name + ".svg"))
        lines += ["", f"![{TITLES[name]}](benchmarks/{name}.svg)"]
    return lines + [""]


def main():
    results, docs = sys.argv[1:3]
    os.makedirs(os.path.join(docs, "benchmarks"), exist_ok=True)
    lines = ["# Benchmarks", "",
             "Made by `bench/run --write`, which measures again on your machine. Medians; the candidates of",
             "one table ran in turn. CPU time is that of all processes of a command: it says more than wall",
             "time if the machine had other work (`load`). oddrank reads native and Python frames, merges",
             "them, joins waits and finds a verdict; the others print stacks, `py-spy dump` Python's only.", ""]
    for name in TITLES:
        path = os.path.join(results, name + ".json")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                lines += section(json.load(file), docs)
    with open(os.path.join(docs, "benchmarks.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines).rstrip() + "\n")


if __name__ == "__main__":
    main()
