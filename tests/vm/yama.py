"""Yama's ptrace_scope, whose words in oddrank are checked against what the kernel does."""

import os
import time

from guest import ODDRANK, OWNER, PYTHON, check, in_state, read, wait_until, write

SCOPE = "kernel/yama/ptrace_scope"
WATCHED = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
print("ready", child.pid, flush=True)
def wait_for_data():
    time.sleep(3600)
wait_for_data()
"""


def scope_0(guest):
    """ptrace_scope=0: users read their own ranks"""
    guest.set_sysctl(SCOPE, 0)
    guest.reads_well(guest.rank(uid=OWNER).pid, OWNER)
    return "Python stack read by the user"


def scope_1(guest):
    """ptrace_scope=1: root reads; the user is refused"""
    guest.set_sysctl(SCOPE, 1)
    pid = guest.rank(uid=OWNER).pid
    run = guest.refused(pid, OWNER, "Yama", "ptrace_scope 1", "run oddrank as root", "oddrank watch")
    guest.reads_well(pid)
    return run.said()


def scope_1_node(guest):
    """ptrace_scope=1: the report on a user's job, and `oddrank doctor`, say why no rank was read"""
    guest.set_sysctl(SCOPE, 1)
    guest.rank(uid=OWNER)
    run = guest.oddrank("node", uid=OWNER)
    check(run.status in (3, 4) and "ptrace_scope" in run.out + run.err, run)
    doctor = guest.oddrank("doctor", uid=OWNER, report=False)
    check("ptrace_scope" in doctor.out, doctor)
    return next(line.strip() for line in doctor.out.splitlines() if "ptrace_scope" in line)


def scope_1_watch(guest):
    """ptrace_scope=1: `oddrank watch` reads the program that it starts; another oddrank of the same user is
    refused"""
    guest.set_sysctl(SCOPE, 1)
    folder = guest.folder("stalls")
    program = guest.program(WATCHED)
    log = f"{folder}/log"
    with open(log, "w", encoding="utf-8") as file:
        os.chmod(log, 0o666)
        process = guest.start([ODDRANK, "watch", "--stalled-for", "3s", "--interval", "500ms", "--save", folder,
                               "--on-stall", f"cp $ODDRANK_JSON {folder}/stall.json", "--",
                               PYTHON, program], OWNER, stderr=file)
    guest.refused(process.pid, OWNER, "ptrace_scope 1")
    wait_until(lambda: "saved" in read(log) or os.path.exists(f"{folder}/stall.json"), f"an alarm; the log: {read(log)}")
    wait_until(lambda: os.path.exists(f"{folder}/stall.json"), "the report")
    time.sleep(1)
    check("wait_for_data" in read(f"{folder}/stall.json"), read(log), read(f"{folder}/stall.json")[:2000])
    guest.unharmed(process.pid)
    return "the watcher read the stack and raised its alarm"


def scope_2(guest):
    """ptrace_scope=2: root reads; the user is refused"""
    guest.set_sysctl(SCOPE, 2)
    pid = guest.rank(uid=OWNER).pid
    run = guest.refused(pid, OWNER, "Yama", "ptrace_scope 2", "run oddrank as root")
    guest.reads_well(pid)
    return run.said()


def scope_2_watch(guest):
    """ptrace_scope=2: `oddrank watch` cannot read its program, and says so in the log"""
    guest.set_sysctl(SCOPE, 2)
    log = f"{guest.folder('watch')}/log"
    with open(log, "w", encoding="utf-8") as file:
        process = guest.start([ODDRANK, "watch", "--stalled-for", "3s", "--interval", "500ms", "--", PYTHON,
                               guest.program(WATCHED)], OWNER, stderr=file)
    wait_until(lambda: "ptrace_scope" in read(log), f"it says why; the log: {read(log)}", 60)
    in_state(process.pid, "S")
    guest.unharmed(process.pid)
    return next(line.strip() for line in read(log).splitlines() if "ptrace_scope" in line)


def scope_3(guest):
    """ptrace_scope=3: nobody reads, not even root, until the next boot"""
    write(f"/proc/sys/{SCOPE}", 3)
    pid = guest.rank(uid=OWNER).pid
    guest.refused(pid, OWNER, "Yama", "ptrace_scope 3", "reboot")
    run = guest.refused(pid, 0, "Yama", "ptrace_scope 3", "reboot")
    return run.said()


CASES = (scope_0, scope_1, scope_1_node, scope_1_watch, scope_2, scope_2_watch)
LAST = (scope_3,)  # it cannot be undone
