"""A process whose library has two million symbols, as CUDA's libraries together have."""

import os
import subprocess
import sys

from compare import Candidate, alternate
from result import Result

SYMBOLS = 2_000_000
HELD = """
import ctypes, sys
ctypes.CDLL(None).prctl(1, 9)
library = ctypes.CDLL(sys.argv[1])
print("ready", flush=True)
library.hold()
"""


def measure(bench):
    library = os.path.join(bench.out, "symbols", "libmany.so")
    if not os.path.exists(library):
        bench.say(f"symbols: makes a library of {SYMBOLS:,} symbols")
        _make(library)
    result = Result("symbols", "A library with two million symbols", """A Python process hangs in a generated library with {count:,} functions ({size:.0f} MB).
`cold`: before each round, the library's file is dropped from the page cache, except what the process maps.""".format(count=SYMBOLS, size=os.path.getsize(library) / 1e6))
    result.versions = bench.peers.versions()
    victim = subprocess.Popen([sys.executable, "-c", HELD, library], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, text=True)
    try:
        if victim.stdout.readline() != "ready\n":
            sys.exit("the process ended")
        candidates = []
        bench.say("symbols: warm and cold")
        for state, before in (("warm", None), ("cold", lambda: _drop(library))):
            ways = [("oddrank", [[bench.oddrank, "node", "--samples", "1", str(victim.pid)]])]
            ways += [(name, commands) for name, commands in bench.peers.commands([victim.pid])
                     if name != "py-spy dump"]
            for name, commands in ways:
                every = 1 if name == "oddrank" else bench.rounds
                candidates.append(Candidate(f"{name}, {state}", commands, every=every, before=before,
                                            fails=name != "oddrank"))
        alternate(candidates, bench.rounds)
    finally:
        victim.kill()
        victim.communicate()
    result.candidates(candidates)
    warm, cold = candidates[:len(candidates) // 2], candidates[len(candidates) // 2:]
    result.bars("symbols", "wall time with a cold cache, ms", [each.name for each in cold],
                [each.median * 1e3 for each in cold])
    for group in (warm, cold):
        for each in group[1:]:
            if not each.failed and each.median < group[0].median:
                result.ahead.append(f"`{each.name}` is ahead: {each.median * 1e3:.0f} ms where {group[0].name} "
                                    f"takes {group[0].median * 1e3:.0f} ms.")
    return result


def _make(library):
    """Writes the assembler's source piece by piece: the assembler wants 400 bytes a symbol."""
    folder = os.path.dirname(library)
    os.makedirs(folder, exist_ok=True)
    pieces = 8
    objects = []
    for piece in range(pieces):
        source = os.path.join(folder, f"piece{piece}.s")
        with open(source, "w", encoding="ascii") as file:
            file.write(".section .note.GNU-stack,\"\",@progbits\n.text\n")
            for number in range(piece, SYMBOLS, pieces):
                name = f"_ZN7kernels4gemm12tile_{number:07d}IfLi{number % 64 + 64}EEEvPKfPfi"
                file.write(f".globl {name}\n.type {name},@function\n{name}: ret\n.p2align 4\n"
                           f".size {name},16\n")
        objects.append(source[:-1] + "o")
        subprocess.run(["as", "-o", objects[-1], source], check=True)
        os.unlink(source)
    hold = os.path.join(folder, "hold.c")
    with open(hold, "w", encoding="ascii") as file:
        file.write("#include <unistd.h>\nstatic int wait_here(int n) { "
                   "return n ? wait_here(n - 1) + 1 : pause(); }\nint hold(void) { return wait_here(12); }\n")
    subprocess.run(["gcc", "-O0", "-fPIC", "-shared", "-o", library + ".new", hold, *objects], check=True)
    for path in [*objects, hold]:
        os.unlink(path)
    os.sync()  # pages that are not written yet cannot be dropped
    os.rename(library + ".new", library)


def _drop(path):
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
