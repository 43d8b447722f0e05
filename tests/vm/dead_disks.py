"""File systems and disks that stop: ranks in state D by the kernel's own doing."""

import os
import shutil
import subprocess

from guest import PYTHON, check, command, in_state, modprobe, write
from limits import live_test

READER = """
import os, sys, time
file = os.open(sys.argv[1], os.O_RDONLY)
print("ready", flush=True)
while not os.path.exists(sys.argv[2]):
    time.sleep(0.05)
def load_shard():
    while os.read(file, 1 << 20):
        pass
load_shard()
print("done", flush=True)
"""
WRITER = """
import os, sys, time
file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o644)
os.write(file, b"x" * (1 << 20))
print("ready", flush=True)
while not os.path.exists(sys.argv[2]):
    time.sleep(0.05)
def save_checkpoint():
    os.fsync(file)
save_checkpoint()
print("done", flush=True)
"""
SERVER = "10.77.0.1"


def nfs(guest):
    """Mounts an NFS server that runs in a network namespace of its own; returns the mount's folder."""
    modprobe("nfs", "nfsv4", "nfsd", "veth")
    mount, export = guest.folder("nfs"), "/srv/export"
    os.makedirs(export, exist_ok=True)
    for name in ("shard-0.tar", "shard-1.tar"):
        with open(f"{export}/{name}", "wb") as file:
            file.write(os.urandom(8 << 20))
    shutil.copy("/usr/bin/sleep", f"{export}/trainer")
    os.makedirs("/run/netns", exist_ok=True)
    write("/etc/exports", f"{export} *(rw,no_root_squash,insecure,no_subtree_check,fsid=0)\n")
    command("ip", "netns", "add", "server")
    guest.undo(subprocess.run, ["ip", "netns", "del", "server"])
    command("ip", "link", "add", "here", "type", "veth", "peer", "name", "there", "netns", "server")
    command("ip", "address", "add", "10.77.0.2/24", "dev", "here")
    command("ip", "link", "set", "here", "up")
    inside = ("ip", "netns", "exec", "server")
    command(*inside, "ip", "address", "add", f"{SERVER}/24", "dev", "there")
    command(*inside, "ip", "link", "set", "there", "up")
    command(*inside, "ip", "link", "set", "lo", "up")
    started = ("mount -t nfsd nfsd /proc/fs/nfsd 2>/dev/null; exportfs -ra && rpc.mountd -N 3 && "
               "rpc.nfsd -N 3 -G 5 -L 5 2")
    command("nsenter", "--net=/run/netns/server", "sh", "-c", started)
    guest.undo(subprocess.run, ["nsenter", "--net=/run/netns/server", "rpc.nfsd", "0"])
    command("mount", "-t", "nfs4", "-o", "hard,vers=4.2,timeo=50,retrans=1,noresvport", f"{SERVER}:/", mount)
    guest.undo(subprocess.run, ["umount", "-f", "-l", mount])
    return mount


def names(run, *words):
    """Checks that the verdict names a file system that does not respond."""
    check(run.verdict["kind"] == "io_stall", run)
    text = run.verdict["summary"] + str(run.verdict["chain"]) + str(run.out)
    for word in words:
        check(word in text, f"no '{word}' in", run)


def waits_of(run):
    return {row["pid"]: row["threads"][0]["wait"] for row in run.json["ranks"] if row["threads"]}


def go_on(processes):
    """Checks that ranks go on as soon as their disk answers: nothing was lost in them."""
    for process in processes:
        check(process.stdout.readline().strip() == "done", f"pid {process.pid} did not go on")
        check(process.wait(60) == 0, f"pid {process.pid} failed")


def nfs_server_gone(guest):
    """An NFS server that is gone (hard mount): one rank reads in state D, another runs a program from there"""
    mount = nfs(guest)
    go = f"{guest.folder('go')}/go"
    reader = guest.start([PYTHON, guest.program(READER, "reader.py"), f"{mount}/shard-0.tar", go], ranks=2)
    trainer = guest.start([f"{mount}/trainer", "3600"], ready=False, rank=1, ranks=2)
    in_state(trainer.pid, "S")
    command("ip", "link", "set", "here", "down")
    guest.undo(subprocess.run, ["ip", "link", "set", "here", "up"])
    write("/proc/sys/vm/drop_caches", 1)
    write(go, "")
    in_state(reader.pid, "D")
    run = guest.oddrank("node", reader.pid, trainer.pid, patience=100)
    names(run, mount, "nfs")
    culprits = [row["pid"] for row in run.verdict["culprits"]]
    check(culprits == [reader.pid], run)
    guest.unharmed(reader.pid, "D")
    guest.unharmed(trainer.pid, "S")
    check(run.status in (0, 3) and run.seconds < 60, run)
    command("ip", "link", "set", "here", "up")
    go_on([reader])
    return f"{run.verdict['summary']} ({run.seconds:.0f} s)"


def silent_fuse(guest):  # pylint: disable=unused-argument
    """A FUSE file system whose server does not answer"""
    return live_test("silent_fuse_test")


def suspended_disk(guest):
    """A suspended device-mapper disk: one rank in fsync() on its file system, one that reads the disk"""
    modprobe("loop", "dm_mod", "ext4")
    image, mount = f"{guest.folder('disk')}/image", guest.folder("mounted")
    with open(image, "wb") as file:
        file.truncate(64 << 20)
    loop = command("losetup", "--find", "--show", image).strip()
    guest.undo(subprocess.run, ["losetup", "--detach", loop])
    command("dmsetup", "--noudevsync", "create", "frail", "--table", f"0 {(64 << 20) // 512} linear {loop} 0")
    guest.undo(subprocess.run, ["dmsetup", "--noudevsync", "remove", "--force", "frail"])
    command("dmsetup", "mknodes")
    device = os.path.realpath("/dev/mapper/frail")
    command("mkfs.ext4", "-q", device)
    command("mount", device, mount)
    guest.undo(subprocess.run, ["umount", mount])
    go = f"{guest.folder('go')}/go"
    writer = guest.start([PYTHON, guest.program(WRITER, "writer.py"), f"{mount}/checkpoint.pt", go], ranks=2)
    reader = guest.start([PYTHON, guest.program(READER, "reader.py"), device, go], rank=1, ranks=2)
    command("dmsetup", "suspend", "--noflush", "--nolockfs", "frail")
    resume = ["dmsetup", "--noudevsync", "resume", "frail"]
    guest.undo(subprocess.run, resume)
    write(go, "")
    in_state(writer.pid, "D")
    in_state(reader.pid, "D")
    run = guest.oddrank("node", writer.pid, reader.pid, patience=100)
    names(run, f"{mount}/checkpoint.pt", "/dev/mapper/frail")
    waits = waits_of(run)
    check(waits[writer.pid]["syscall"] == "fsync" and waits[reader.pid]["syscall"] == "read", waits)
    for process in (writer, reader):
        guest.unharmed(process.pid, "D")
    subprocess.run(resume, check=True, timeout=60)
    go_on([writer, reader])
    return f"{run.verdict['summary']} ({run.seconds:.0f} s)"


CASES = (nfs_server_gone, silent_fuse, suspended_disk)
