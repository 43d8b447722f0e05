"""AppArmor."""

import os
import subprocess

from guest import PYTHON, SLEEPER, check, need, read

# What runtimes of containers load (docker-default, containers-default): ptrace among its own only.
CONTAINER = """
profile vm-container flags=(attach_disconnected,mediate_deleted) {
  network, capability, file, umount, mount, signal,
  ptrace (trace,read,tracedby,readby) peer=vm-container,
}
"""
BLIND = """
profile vm-blind flags=(attach_disconnected,mediate_deleted) {
  network, capability, file, umount, mount, signal,
}
"""


def load(guest, text):
    need(os.path.isdir("/sys/kernel/security/apparmor/policy"), "this kernel has no AppArmor")
    path = guest.program(text, "profile")
    loaded = subprocess.run(["apparmor_parser", "--replace", "--skip-cache", path], capture_output=True, text=True,
                            check=False, timeout=100)
    check(loaded.returncode == 0, loaded.stderr)


def under(profile):
    """Returns the beginning of a command that runs others under the profile."""
    return (PYTHON, "-c", "import os, sys\n"
            f"with open('/proc/self/attr/exec', 'w') as file: file.write('exec {profile}')\n"
            "os.execv(sys.argv[1], sys.argv[1:])")


def rank_confined(guest):
    """A rank under a container's profile: root reads it from outside"""
    load(guest, CONTAINER)
    pid = guest.start([*under("vm-container"), PYTHON, guest.program(SLEEPER)]).pid
    check("vm-container" in read(f"/proc/{pid}/attr/current"), "it is not confined")
    guest.reads_well(pid)
    return "Python stack read"


def both_confined(guest):
    """Rank and oddrank under that profile, as in one container: read"""
    load(guest, CONTAINER)
    pid = guest.start([*under("vm-container"), PYTHON, guest.program(SLEEPER)]).pid
    guest.reads_well(pid, prefix=under("vm-container"))
    return "Python stack read"


def oddrank_confined(guest):
    """oddrank as root under a profile without ptrace: refused"""
    load(guest, BLIND)
    pid = guest.rank().pid
    run = guest.refused(pid, 0, "AppArmor", "vm-blind", prefix=under("vm-blind"))
    return run.said()


CASES = (rank_confined, both_confined, oddrank_confined)
