#!/usr/bin/env python3
"""Writes the table of docs/support.md from the results of scripts/vm, or checks one machine's results.

    write_table.py RESULTS DOCUMENT
    write_table.py --check RESULTS/MACHINE     prints what was not right; exit status 1 if something was not
"""

import json
import os
import re
import sys

BEGIN, END = "<!-- made by scripts/vm --write: begin -->", "<!-- end -->"
ORDER = ["5.10", "6.1", "6.12", "sid", "arm64"]
MARKS = {"right": "yes", "failed": "**no**", "not run": "–"}


def lines_of(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.readlines()
    except OSError:
        return []


def load(folder):
    """Returns (facts of the machine, {name: row}, whether the run came to its end)."""
    facts, rows, ended = {}, {}, False
    for name in ("before", "cases"):
        ended = False
        for line in lines_of(os.path.join(folder, name)):
            row = json.loads(line)
            if "case" in row:
                rows[row["case"]] = row
            elif "end" in row:
                ended = True
            else:
                facts.update(row)
    try:
        with open(os.path.join(folder, "seconds"), encoding="utf-8") as file:
            facts["seconds"] = int(file.read())
    except (OSError, ValueError):
        pass
    return facts, rows, ended


def check(folder):
    _, rows, ended = load(folder)
    for name, row in rows.items():
        if row["result"] != "right":
            print(f"{name} ({row['sentence']}): {row['result']}: {row['saw']}")
    if not ended:
        print(f"the machine did not come to its end; see {folder}/console")
    right = sum(row["result"] == "right" for row in rows.values())
    print(f"{right} of {len(rows)} cases right")
    return 0 if ended and all(row["result"] != "failed" for row in rows.values()) else 1


def cell(text):
    """Returns the text for a cell, without the numbers that differ in each run."""
    text = re.sub(r"(?<=pid )\d+|(?<=/proc/)\d+(?=/)|(?<=/task/)\d+(?=/)", "N", " ".join(text.split()))
    return re.sub(r"(/tmp/[a-z]+)-\d+", r"\1", text).replace("|", "\\|")


def minutes(seconds):
    return f"{round(seconds / 60)} min"


def title(name, facts):
    machine = facts.get("machine", "x86_64")
    return facts.get("kernel", name) + ("" if machine == "x86_64" else f" {machine}")


def table(results):
    found = [name for name in os.listdir(results) if os.path.isdir(os.path.join(results, name))]
    machines = sorted(found, key=lambda name: (name not in ORDER, ORDER.index(name) if name in ORDER else name))
    loaded = {name: load(os.path.join(results, name)) for name in machines}
    heads = [title(name, loaded[name][0]) for name in machines]
    lines = ["| case | " + " | ".join(heads) + " | what was seen |", "| --- |" + " --- |" * (len(machines) + 1)]
    names = list(dict.fromkeys(case for name in machines for case in loaded[name][1]))
    for case in names:
        rows = {name: loaded[name][1].get(case) for name in machines}
        sample = next(row for row in reversed(list(rows.values())) if row)
        right = [row for row in rows.values() if row and row["result"] == "right"]
        seen = right[-1]["saw"] if right else ""
        notes = [f"({head}: {cell(row['saw'])})" for head, row in zip(heads, rows.values())
                 if row and row["result"] == "not run"]
        marks = [MARKS[row["result"]] if row else "" for row in rows.values()]
        lines.append("| " + " | ".join([cell(sample["sentence"]), *marks,
                                        " ".join([cell(seen), *notes]).strip()]) + " |")
    times = ", ".join(f"{head} {minutes(loaded[name][0].get('seconds', 0))}"
                      for head, name in zip(heads, machines))
    return "\n".join(lines) + f"\n\nThe machines took: {times} (emulated processors on a busy machine of two).\n"


def main():
    if sys.argv[1] == "--check":
        return check(sys.argv[2])
    results, document = sys.argv[1:]
    with open(document, encoding="utf-8") as file:
        text = file.read()
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    with open(document, "w", encoding="utf-8") as file:
        file.write(f"{head}{BEGIN}\n\n{table(results)}\n{END}{tail}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
