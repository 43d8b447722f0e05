"""Containers of podman with runc and crun: their seccomp filters, capabilities and namespaces."""

import json
import os
import subprocess

from guest import ODDRANK, OWNER, PATIENCE_S, Run, SLEEPER, as_user, check, command, in_state, need, read, write

IMAGE = "/srv/container"
# What runtimes forbade before Linux 4.8, and what some sites still forbid.
STRICT = {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [
    {"names": ["ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd"],
     "action": "SCMP_ACT_ERRNO", "errnoRet": 1}]}
# Prints the errors of process_vm_readv() and ptrace(PTRACE_TRACEME).
FORBIDDEN = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for call in (lambda: libc.process_vm_readv(1, None, 0, None, 0, 0), lambda: libc.ptrace(0, 0, None, None)):
    print(ctypes.get_errno() if call() else 0)
"""


class Container:
    """A running container whose first process is a rank."""

    def __init__(self, guest, *options, uid=0, runtime="crun"):
        self.home = guest.folder(f"home{uid}")
        os.chown(self.home, uid, uid)
        os.makedirs(f"/run/user/{uid}", mode=0o700, exist_ok=True)
        os.chown(f"/run/user/{uid}", uid, uid)
        self.podman = [*as_user(uid), "env", f"HOME={self.home}", f"XDG_RUNTIME_DIR=/run/user/{uid}",
                       "podman", "--cgroup-manager=cgroupfs", "--events-backend=file", "--runtime", runtime]
        program = guest.program(SLEEPER)
        self.name = f"rank{os.getpid()}"
        # A user without a cgroup of his own, as here, can limit nothing.
        mine = () if uid == 0 else ("--cgroups=disabled",)
        words = [*self.podman, "run", "--detach", "--name", self.name, "--network=none", *mine,
                 "--env", "RANK=0", "--env", "WORLD_SIZE=1", "--volume", f"{ODDRANK}:/oddrank:ro",
                 "--volume", f"{program}:/rank.py:ro", *options, "--rootfs", self.rootfs(uid),
                 "python3", "/rank.py"]
        started = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                                 timeout=PATIENCE_S, cwd="/")
        check(started.returncode == 0, words, started.stdout, started.stderr)
        guest.undo(self.remove)
        state = json.loads(command(*self.podman, "inspect", self.name, cwd="/"))[0]["State"]
        self.pid = state["Pid"]
        check(self.pid > 0, state, command(*self.podman, "logs", self.name, cwd="/"))
        in_state(self.pid, "S")

    @staticmethod
    def rootfs(uid):
        """Returns what --rootfs takes: of a user the folder itself, which is then his."""
        if uid == 0:
            return f"{IMAGE}:O"
        folder = "/srv/container-of-user"
        if not os.path.exists(folder):
            command("cp", "-a", IMAGE, folder)
            command("chown", "-R", "--no-dereference", f"{uid}:{uid}", folder)
        return folder

    def remove(self):
        subprocess.run([*self.podman, "rm", "--force", "--time", "0", self.name], capture_output=True,
                       check=False, timeout=PATIENCE_S, cwd="/")

    def prefix(self, *options):
        """Returns the beginning of a command that runs in the container."""
        return (*self.podman, "exec", *options, self.name)


def inside(container, *options, report=True):
    """Runs oddrank inside of the container on its rank."""
    words = [*container.prefix(*options), "/oddrank", "node", "1", *(("--json", "-", "-q") if report else ())]
    result = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                            timeout=PATIENCE_S, cwd="/")
    return Run(words, result, 0)


def reads_inside(guest, container, *options):
    run = inside(container, *options)
    check("wait_for_data" in run.frames(), run)
    guest.unharmed(container.pid)


def rootful(guest, runtime):
    container = Container(guest, runtime=runtime)
    guest.reads_well(container.pid)
    reads_inside(guest, container)
    return "Python stack read from outside and inside"


def rootful_crun(guest):
    """podman as root, with crun: read by root outside, and inside without added capabilities"""
    return rootful(guest, "crun")


def rootful_runc(guest):
    """podman as root, with runc: the same"""
    return rootful(guest, "runc")


def rootful_other_user(guest):
    """podman as root: another user inside is refused"""
    container = Container(guest)
    run = inside(container, "--user", "1234", report=False)
    check(run.status == 4 and "it belongs to user 0, we are user 1234" in run.err, run)
    return run.said()


def root_reads_user(guest):
    """podman as root, the rank as another user: root inside reads with `--cap-add SYS_PTRACE` only"""
    container = Container(guest, "--user", "1234")
    run = inside(container, "--user", "0", report=False)
    check(run.status == 4 and "root without CAP_SYS_PTRACE" in run.err and "--cap-add SYS_PTRACE" in run.err, run)
    container.remove()
    container = Container(guest, "--user", "1234", "--cap-add=SYS_PTRACE")
    reads_inside(guest, container, "--user", "0")
    return run.said()


def strict_filter(guest):
    """A seccomp filter that forbids ptrace and process_vm_readv: read through /proc/PID/mem"""
    path = guest.program(json.dumps(STRICT), "filter.json")
    container = Container(guest, f"--security-opt=seccomp={path}")
    answer = command(*container.prefix(), "python3", "-c", FORBIDDEN, cwd="/").split()
    check(answer == ["1", "1"], f"the filter forbids nothing: {answer}")
    reads_inside(guest, container)
    return "Python stack read"


def rootless(guest):
    """podman without root: read outside by its user and root, and inside; another user is refused"""
    write("/etc/subuid", f"owner:{100000}:65536\n")
    write("/etc/subgid", f"owner:{100000}:65536\n")
    if "owner:" not in read("/etc/passwd"):
        with open("/etc/passwd", "a", encoding="utf-8") as file:
            file.write(f"owner:x:{OWNER}:{OWNER}::/tmp:/bin/sh\n")
        with open("/etc/group", "a", encoding="utf-8") as file:
            file.write(f"owner:x:{OWNER}:\n")
    container = Container(guest, uid=OWNER)
    guest.reads_well(container.pid, OWNER)
    guest.reads_well(container.pid, 0)
    reads_inside(guest, container)
    run = guest.refused(container.pid, 2002, "user namespace")
    return run.said()


def rootless_yama(guest):
    """The same with ptrace_scope=1 and `--cap-add SYS_PTRACE`: read inside"""
    rootless_users = read("/etc/subuid") if os.path.exists("/etc/subuid") else ""
    need("owner" in rootless_users, "the case before did not run")
    container = Container(guest, "--cap-add=SYS_PTRACE", uid=OWNER)
    guest.set_sysctl("kernel/yama/ptrace_scope", 1)
    run = inside(container)
    check("wait_for_data" in run.frames(), run)
    return "Python stack read inside"


CASES = (rootful_crun, rootful_runc, rootful_other_user, root_reads_user, strict_filter, rootless, rootless_yama)
