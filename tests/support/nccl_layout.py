"""Finds where NCCL keeps the data that its RAS service needs, from the symbols and debug
information of a real libnccl.so.2: the addresses of two internal functions and the offsets of a few
fields.

    nccl_layout.py LIBRARY        prints them as JSON

Needs nm and gdb. The libraries in NVIDIA's wheels have both symbols and debug information.
"""

import glob
import json
import mmap
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FUNCTIONS = {"comm_init": "ncclRasCommInit", "add_ranks": "ncclRasAddRanks",
             "version": "pncclGetVersion"}
COMM = ("startMagic", "endMagic", "magic", "commHash", "rank", "nRanks", "cudaDev", "nvmlDev",
        "peerInfo", "peerInfoValid", "abortFlag", "seqNumber", "initState")
PEER = ("rank", "cudaDev", "nvmlDev", "hostHash", "pidHash")


def find_libraries():
    """Returns real libraries, oldest version first: those in ODDRANK_NCCL (paths, separated by ':'), or
    else those of NVIDIA's wheels in the repository's environment."""
    named = os.environ.get("ODDRANK_NCCL")
    paths = named.split(":") if named else glob.glob(
        f"{ROOT}/.venv/lib/python3*/site-packages/nvidia/nccl/lib/libnccl.so.2")
    return sorted(path for path in paths if os.path.exists(path))


def version(library):
    """Returns "2.28.9"."""
    with open(library, "rb") as file, \
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as contents:
        match = re.search(rb"NCCL version (\d+\.\d+\.\d+)\+", contents)
        if match is None:
            raise LookupError(f"{library} does not say its version")
        return match.group(1).decode()


def table_row(version_code, struct, table):
    """Returns a row of the product's tables by the names of the struct's members."""
    source = f"{ROOT}/collectives/nccl/nccl_layout"
    with open(f"{source}.h", encoding="utf-8") as file:
        members = re.search(rf"struct {struct} \{{(.*?)\n\}};", file.read(), re.DOTALL).group(1)
    names = re.findall(r"^  (?:int|std::u?int32_t) (\w+) = -?\d+;", members, re.MULTILINE)
    with open(f"{source}.cc", encoding="utf-8") as file:
        rows = file.read().split(table, 1)[1]
    row = re.search(rf"\{{({version_code}, [-\d, ]+)\}}", rows).group(1)
    return dict(zip(names, map(int, row.split(", ")), strict=True))


def function_addresses(library):
    found = {}
    lines = subprocess.run(["nm", library], capture_output=True, text=True, timeout=60,
                           check=True).stdout
    for key, name in FUNCTIONS.items():
        match = re.search(rf"^([0-9a-f]+) [tT] (?:_Z\d+)?{name}(?:P8ncclCommP11rasRankInit|"
                          r"P11rasRankIniti)?$", lines, re.MULTILINE)
        if match is None:
            raise LookupError(f"{library} has no symbol {name}")
        found[key] = int(match.group(1), 16)
    return found


def ask_gdb(library, expressions):
    """Evaluates each expression with the library's debug information; None if it is not a number."""
    command = ["gdb", "-batch", "-nx", "-iex", "set debuginfod enabled off"]
    for at, expression in enumerate(expressions):
        command += ["-ex", f"echo {at}:", "-ex", f"output {expression}", "-ex", "echo \\n"]
    answer = subprocess.run([*command, library], capture_output=True, text=True, timeout=300,
                            check=True).stdout
    numbers = dict(re.findall(r"^(\d+):(\d+)$", answer, re.MULTILINE))
    if expressions and not numbers:
        raise LookupError(f"{library} has no debug information")
    return [int(numbers[str(at)]) if str(at) in numbers else None for at in range(len(expressions))]


def offset(struct, member):
    return f"(long)&((struct {struct}*)0)->{member}"


def offsets(library):
    """Returns the offsets of the members; None for a member that the version lacks."""
    values = ask_gdb(library, ["sizeof(struct ncclComm)", "sizeof(struct ncclPeerInfo)",
                               *(offset("ncclComm", name) for name in COMM),
                               *(offset("ncclPeerInfo", name) for name in PEER)])
    return {"comm_size": values[0], "peer_size": values[1],
            "comm": dict(zip(COMM, values[2:])), "peer": dict(zip(PEER, values[2 + len(COMM):]))}


def layout(library):
    return {"library": os.path.abspath(library), **function_addresses(library), **offsets(library)}


if __name__ == "__main__":
    print(json.dumps(layout(sys.argv[1]), indent=1))
