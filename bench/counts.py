#!/usr/bin/env python3
"""Counts the instructions of four pieces of work on recorded inputs, and fails if one takes over 5 % more than
the number in bench/counts.json says.

    bench/counts.py             builds bench/counts.cc as a release, counts, compares
    bench/counts.py --accept    writes the numbers into bench/counts.json instead
    bench/counts.py --record    makes the recording of a process anew (bench/recorded), with this Python

unwind    native stacks of the 21 threads of a recorded process, each by itself
python    its 330 Python frames
captures  1,024 captures, decoded, merged and judged
verdict   the view, verdict, text and JSON of 2,048 ranks: 131,072 at 1/64 size

Counts are of valgrind's callgrind, so other work on the machine does not change them; they do depend on the
compiler and the libraries. With others than those of bench/counts.json nothing is compared, and the reason is
printed.
"""

import argparse
import concurrent.futures
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
EXPECTED = os.path.join(HERE, "counts.json")
IMAGE = os.path.join(HERE, "recorded", "python_3_11.image.xz")
BUILD = os.path.join(ROOT, "build", "counts")
TOLERANCE = 0.05
CAPTURED_RANKS, JUDGED_RANKS = 8192, 2048
# What is linked in and takes a notable part of the instructions.
PACKAGES = ["libc6-dev", "libstdc++-12-dev", "libzstd-dev", "libunwind-dev", "nlohmann-json3-dev", "valgrind"]


def tools():
    """Returns the versions on which counts depend; an empty text for what is not there."""
    told = subprocess.run(["c++", "--version"], capture_output=True, text=True, check=False).stdout
    found = {"compiler": told.splitlines()[0].split()[-1] if told else ""}
    for package in PACKAGES:
        query = subprocess.run(["dpkg-query", "-W", "-f=${Version}", package], capture_output=True,
                               text=True, check=False)
        # Debian's own revision, which follows the last "-", changes with every security update.
        found[package] = query.stdout.rpartition("-")[0] if query.returncode == 0 else ""
    return found


def build():
    if not os.path.exists(os.path.join(BUILD, "build.ninja")):
        subprocess.run(["cmake", "--preset", "counts"], cwd=ROOT, check=True,
                       stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", BUILD, "counts"], check=True, stdout=subprocess.DEVNULL)
    return os.path.join(BUILD, "counts")


def count(program, words):
    """Returns how many instructions measured_work() takes."""
    run = subprocess.run(
        ["valgrind", "--tool=callgrind", "--toggle-collect=measured_work",
         "--callgrind-out-file=/dev/null", program, *words], capture_output=True, text=True,
        check=False, env={"PATH": os.environ["PATH"]})
    found = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode != 0 or not found or int(found.group(1)) == 0:
        sys.exit(f"counts {' '.join(words)} failed:\n{run.stdout}{run.stderr}")
    return int(found.group(1))


def count_all(program):
    with tempfile.TemporaryDirectory(prefix="oddrank-counts-") as folder:
        image = os.path.join(folder, "image")
        with lzma.open(IMAGE) as packed, open(image, "wb") as plain:
            shutil.copyfileobj(packed, plain)
        captures = os.path.join(folder, "captures")
        os.mkdir(captures)
        subprocess.run([program, "make", str(CAPTURED_RANKS), captures], check=True)
        work = {"captures": ["captures", captures], "verdict": ["verdict", str(JUDGED_RANKS)],
                "unwind": ["unwind", image], "python": ["python", image]}
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            return dict(zip(work, pool.map(lambda words: count(program, words), work.values())))


def record(program):
    """Records a Python that has nothing of this machine in its memory: no variables, no folder."""
    with open(os.path.join(HERE, "python_threads.py"), encoding="utf-8") as file:
        text = "__file__ = '/job/python_threads.py'\n" + file.read()
    with tempfile.TemporaryDirectory(prefix="oddrank-counts-") as folder, \
            subprocess.Popen(["/usr/bin/python3", "-I", "-c", text], stdin=subprocess.PIPE, env={}, cwd="/",
                             stdout=subprocess.PIPE, text=True) as victim:
        pid = victim.stdout.readline().split()[1]
        image = os.path.join(folder, "image")
        subprocess.run([program, "record", pid, image], check=True)
        victim.stdin.close()
        victim.terminate()
        with open(image, "rb") as plain, lzma.open(IMAGE, "wb", preset=9 | lzma.PRESET_EXTREME) as packed:
            shutil.copyfileobj(plain, packed)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--accept", action="store_true", help="write the numbers into bench/counts.json")
    parser.add_argument("--record", action="store_true", help="record the process anew first")
    options = parser.parse_args()
    here = tools()
    expected = {"tools": here, "counts": {}}
    if os.path.exists(EXPECTED):
        with open(EXPECTED, encoding="utf-8") as file:
            expected = json.load(file)
    other = [f"{name} {here[name] or 'missing'} instead of {version}"
             for name, version in expected["tools"].items() if here.get(name, "") != version]
    if other and not options.accept and not options.record:
        print("counts: nothing is compared, since other tools would count otherwise: " + ", ".join(other))
        return
    program = build()
    if options.record:
        record(program)
    counts = count_all(program)
    if options.accept:
        with open(EXPECTED, "w", encoding="utf-8") as file:
            json.dump({"tools": here, "counts": counts}, file, indent=1)
            file.write("\n")
    failed = False
    for name, found in counts.items():
        before = expected["counts"].get(name)
        change = f"{100 * (found - before) / before:+.1f} %" if before else "new"
        more = not before or found > before * (1 + TOLERANCE)
        failed = failed or more
        print(f"{name:9} {found:14,}  {change}{'  MORE THAN IT MAY' if more and not options.accept else ''}")
    if failed and not options.accept:
        sys.exit("if that is meant to be: bench/counts.py --accept, and say why in the commit")


if __name__ == "__main__":
    main()
