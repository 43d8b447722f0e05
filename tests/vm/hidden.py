"""/proc that hides processes."""

import subprocess

from guest import OWNER, STRANGER, check, need


def remount(guest, option):
    result = subprocess.run(["mount", "-o", f"remount,{option}", "/proc"], capture_output=True, text=True,
                            check=False, timeout=60)
    guest.undo(subprocess.run, ["mount", "-o", "remount,hidepid=0", "/proc"])
    need(result.returncode == 0, f"/proc cannot be mounted with {option}")


def hidepid(guest, option):
    """Returns what another user is told about a hidden rank, and about all of them."""
    pid = guest.rank(uid=OWNER).pid
    remount(guest, option)
    guest.reads_well(pid, OWNER)
    guest.reads_well(pid, 0)
    return guest.refused(pid, STRANGER), guest.oddrank("node", uid=STRANGER, report=False)


def contents(guest):
    """hidepid=1: the owner and root read; another user is told why not"""
    one, every = hidepid(guest, "hidepid=1")
    check("it belongs to" in one.err and "owner of the job" in one.err, one)
    check(every.status == 4 and "hidepid=" in every.err, every)
    return one.said()


def invisible(guest):
    """hidepid=2 (invisible): the owner and root read; another user is told why not"""
    one, every = hidepid(guest, "hidepid=2")
    for run in (one, every):
        check("/proc hides the processes of other users" in run.err, run)
    return every.said()


def ptraceable(guest):
    """hidepid=4 (ptraceable): the same"""
    one, every = hidepid(guest, "hidepid=4")
    for run in (one, every):
        check("/proc hides the processes of other users" in run.err, run)
    return every.said()


def only_processes(guest):
    """/proc mounted with subset=pid: the owner reads"""
    pid = guest.rank(uid=OWNER).pid
    guest.reads_well(pid, OWNER, prefix=("unshare", "--mount", "sh", "-c",
                                         'mount -t proc -o subset=pid proc /proc && exec "$@"', "sh"))
    return "Python stack read"


CASES = (contents, invisible, ptraceable, only_processes)
