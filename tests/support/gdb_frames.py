"""Reads the native stacks of a process with gdb, as bare addresses. Physical frames only: no inlined or
tail-call frames, which gdb makes up from debug information."""

import shutil
import subprocess
import tempfile

SCRIPT = """
import gdb

def physical(frame):
    while frame is not None:
        if frame.type() in (gdb.NORMAL_FRAME, gdb.SIGTRAMP_FRAME):
            yield frame.pc()
        try:
            frame = frame.older()
        except gdb.error:
            return

for thread in gdb.selected_inferior().threads():
    thread.switch()
    pcs = " ".join("%x" % pc for pc in physical(gdb.newest_frame()))
    gdb.write("oracle %d %s\\n" % (thread.ptid[1], pcs))
"""


def why_not():
    """Returns a reason not to use gdb, or None."""
    if shutil.which("gdb") is None:
        return "gdb is not installed"
    probe = subprocess.run(["gdb", "-batch", "-nx", "-ex", "python print('fine')"],
                           capture_output=True, text=True, timeout=60, check=False)
    return None if "fine" in probe.stdout else "this gdb has no Python"


def frames(pid, timeout=240):
    """Returns {tid: [pc, ...]} of all threads, innermost first. gdb stops the process while it reads."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
        script.write(SCRIPT)
        script.flush()
        result = subprocess.run(
            ["gdb", "-batch", "-nx", "-p", str(pid), "-iex", "set debuginfod enabled off",
             "-iex", "set backtrace past-main on", "-iex", "set backtrace past-entry on",
             "-iex", "set backtrace limit unlimited", "-x", script.name],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout, check=False)
    rows = (line.split() for line in result.stdout.splitlines() if line.startswith("oracle "))
    found = {int(row[1]): [int(pc, 16) for pc in row[2:]] for row in rows}
    if not found:
        raise RuntimeError(f"gdb read nothing of {pid}:\n{result.stdout}\n{result.stderr}")
    return found
