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

# A thread that was stopped in a system call of aarch64 stands at the call's instruction ("svc"), which it makes
# again afterwards; before the stop it was behind it.
def before_the_stop(pc):
    if not gdb.newest_frame().architecture().name().startswith("aarch64"):
        return pc
    code = bytes(gdb.selected_inferior().read_memory(pc, 4))
    return pc + 4 if code == bytes.fromhex("010000d4") else pc

for thread in gdb.selected_inferior().threads():
    thread.switch()
    pcs = list(physical(gdb.newest_frame()))
    pcs[0] = pcs[0] if WAS_STOPPED else before_the_stop(pcs[0])
    gdb.write("oracle %d %s\\n" % (thread.ptid[1], " ".join("%x" % pc for pc in pcs)))
"""


def why_not():
    """Returns a reason not to use gdb, or None."""
    if shutil.which("gdb") is None:
        return "gdb is not installed"
    probe = subprocess.run(["gdb", "-batch", "-nx", "-ex", "python print('fine')"],
                           capture_output=True, text=True, timeout=60, check=False)
    return None if "fine" in probe.stdout else "this gdb has no Python"


def frames(pid, timeout=240, was_stopped=False):
    """Returns {tid: [pc, ...]} of all threads, innermost first. gdb stops the process while it reads; the
    addresses are those of before. `was_stopped`: it had been stopped by a signal already."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
        script.write(f"WAS_STOPPED = {was_stopped}\n{SCRIPT}")
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
