#!/usr/bin/env python3
"""Writes the list of docs/support.md from the results of scripts/vm, or checks one machine's results.

    write_table.py RESULTS DOCUMENT
    write_table.py --check RESULTS/MACHINE     prints what was not right; exit status 1 if something was not
"""

import json
import os
import re
import sys
import textwrap

BEGIN, END = "<!-- made by scripts/vm --write: begin -->", "<!-- end -->"
ORDER = ["5.10", "6.1", "6.12", "sid", "arm64"]
MARKS = {"failed": "**not right**", "not run": "not run"}
ABOUT = {"yama": "Yama", "limits": "cgroups and memory", "hidden": "/proc", "namespaces": "User namespaces",
         "confined": "AppArmor", "containers": "podman and seccomp", "dead_disks": "Storage that does not answer",
         "devices": "Network adapters", "clocks": "Clocks", "addresses": "Addresses", "torch_job": "A whole job",
         "native": "Tests in C++"}
# What was seen is not repeated if it is longer, or says no more than that the case was right.
MAX_SEEN = 220
NOTHING_NEW = re.compile(r"^Python stack read|^the watcher read|^\d+ tests|^no alarm|hint:|^stack at|Yama's ptrace_scope")


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


def without_numbers(text):
    """Returns the text without the numbers that differ in each run."""
    text = re.sub(r"(?<=pid )\d+|(?<=/proc/)\d+(?=/)|(?<=/task/)\d+(?=/)", "N", " ".join(text.split()))
    return re.sub(r"(/tmp/[a-z]+)-\d+", r"\1", text)


def title(name, facts):
    machine = facts.get("machine", "x86_64")
    return facts.get("kernel", name) + ("" if machine == "x86_64" else f" {machine}")


def exception(head, row):
    """Returns what a line says of a machine on which the case was not right, or nothing."""
    if not row:
        return f"not tried on {head}"
    return "" if row["result"] == "right" else f"{MARKS[row['result']]} on {head}: {without_numbers(row['saw'])}"


def item(rows):
    """Returns the lines of a case: its sentence, where it was not right, and what was seen on the newest kernel."""
    sample = next(row for row in reversed(list(rows.values())) if row)
    right = [row for row in rows.values() if row and row["result"] == "right"]
    seen = without_numbers(right[-1]["saw"]).partition("; hint:")[0] if right else ""
    text = "; ".join(filter(None, [without_numbers(sample["sentence"]), *(exception(*row) for row in rows.items())]))
    if seen and len(seen) <= MAX_SEEN and not NOTHING_NEW.search(seen):
        text += f": *{seen}*"
    return textwrap.fill(text, 112, initial_indent="- ", subsequent_indent="  ", break_long_words=False,
                         break_on_hyphens=False)


def listing(results):
    found = [name for name in os.listdir(results) if os.path.isdir(os.path.join(results, name))]
    machines = sorted(found, key=lambda name: (name not in ORDER, ORDER.index(name) if name in ORDER else name))
    loaded = {name: load(os.path.join(results, name)) for name in machines}
    heads = {name: title(name, loaded[name][0]) for name in machines}
    cases = list(dict.fromkeys(case for name in machines for case in loaded[name][1]))
    lines = [f"Right on {', '.join(heads.values())}, unless a line says otherwise:"]
    for module, about in ABOUT.items():
        items = [item({heads[name]: loaded[name][1].get(case) for name in machines})
                 for case in cases if case.partition(".")[0] == module]
        lines += ["", f"**{about}**", "", *items] if items else []
    return "\n".join(lines) + "\n"


def main():
    if sys.argv[1] == "--check":
        return check(sys.argv[2])
    results, document = sys.argv[1:]
    with open(document, encoding="utf-8") as file:
        text = file.read()
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    with open(document, "w", encoding="utf-8") as file:
        file.write(f"{head}{BEGIN}\n\n{listing(results)}\n{END}{tail}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
