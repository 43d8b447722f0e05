"""One process that has a lock of the file system, or polls for it.

    polled_locks.py hold|poll FORM

Runs in the working folder. Prints a line when it holds the lock, or has tried for it several times
(or is about to, if the library itself tries again).
"""
import fcntl
import os
import sqlite3
import struct
import sys
import time

LONG = 10**6
tries = 0


def told(what):
    print(what, flush=True)


def tried():
    global tries  # pylint: disable=global-statement
    tries += 1
    if tries == 3:
        print("tries", flush=True)


def set_open_file_lock(file):
    fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack("hhqqi", fcntl.F_WRLCK, 0, 0, 0, 0))


def poll_flock():
    file = open("data", "a")
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            tried()
            time.sleep(0.05)


def poll_lockf():
    file = open("data", "a")
    while True:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except OSError:
            tried()
            time.sleep(0.05)


def poll_reopened():
    while True:
        with open("data", "a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                tried()
        time.sleep(0.05)


def poll_busy():
    base = sqlite3.connect("data", timeout=LONG)
    told("tries")
    base.execute("BEGIN EXCLUSIVE")


def poll_wal():
    base = sqlite3.connect("data", timeout=LONG)
    base.execute("SELECT * FROM rows").fetchall()
    told("tries")
    base.execute("BEGIN IMMEDIATE")


def poll_database():
    base = sqlite3.connect("data", timeout=0)
    while True:
        try:
            base.execute("BEGIN EXCLUSIVE")
            break
        except sqlite3.OperationalError:
            tried()
            time.sleep(0.05)


def poll_exclusive():
    while True:
        try:
            os.close(os.open("data.lock", os.O_CREAT | os.O_EXCL | os.O_RDWR))
            break
        except FileExistsError:
            tried()
            time.sleep(0.05)


def poll_linked():
    mine = f"mine.{os.getpid()}"
    with open(mine, "w") as file:
        file.write(f"{os.getpid()}\n")
    while True:
        try:
            os.link(mine, "data.lock")
            break
        except FileExistsError:
            tried()
            time.sleep(0.05)


def poll_folder():
    while True:
        try:
            os.mkdir("data.lock")
            with open("data.lock/pid", "w") as file:
                file.write(str(os.getpid()))
            break
        except FileExistsError:
            tried()
            time.sleep(0.05)


def poll_number():
    while os.path.exists("data.lock"):
        tried()
        time.sleep(0.05)


# oddrank looks for the names of the library's file, class and attribute, so this uses them.
BATON = """
class FileBaton:
    def __init__(self, path):
        self.lock_file_path = path
    def wait(self):
        while os.path.exists(self.lock_file_path):
            tried()
            time.sleep(0.05)
"""


def poll_baton():
    exec(compile(BATON, "torch/utils/file_baton.py", "exec"), globals())  # pylint: disable=exec-used
    globals()["FileBaton"]("data.lock").wait()


# Polls for a lock that another open file of this process has.
def poll_own():
    mine, again = open("own", "a"), open("own", "a")
    fcntl.flock(mine, fcntl.LOCK_EX)
    while True:
        try:
            fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            tried()
            time.sleep(0.05)


# Polls for a lock of another kind than the one that is held.
def poll_other_kind():
    mine, again = open("data", "a"), open("data", "a")
    fcntl.flock(mine, fcntl.LOCK_EX)
    while True:
        try:
            fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            tried()
            time.sleep(0.05)


def poll_nothing():
    file = open("data", "a")
    while file:
        tried()
        time.sleep(0.05)


def poll_absent():
    while not os.path.exists("absent.lock"):
        tried()
        time.sleep(0.05)


def hold(form):  # pylint: disable=too-many-return-statements
    if form in ("busy", "database", "wal"):
        base = sqlite3.connect("data", isolation_level=None)
        base.execute("PRAGMA journal_mode = " + ("wal" if form == "wal" else "delete"))
        base.execute("CREATE TABLE rows (name)")
        base.execute("BEGIN EXCLUSIVE" if form != "wal" else "BEGIN IMMEDIATE")
        return base
    if form in ("exclusive", "baton"):
        return os.open("data.lock", os.O_CREAT | os.O_EXCL | (os.O_RDWR if form == "exclusive" else os.O_RDONLY))
    if form == "folder":
        os.mkdir("data.lock")
        with open("data.lock/pid", "w") as file:
            file.write(f"{os.getpid()}\n")
        return None
    if form in ("number", "linked"):
        with open("data.lock", "w") as file:
            file.write(f"{os.getpid()}\n")
        return None
    held = open("data", "a" if form != "shared" else "a+")
    if form == "open_file":
        set_open_file_lock(held)
    elif form == "shared":
        fcntl.flock(held, fcntl.LOCK_SH)
    elif form in ("lockf", "other_kind"):
        fcntl.lockf(held, fcntl.LOCK_EX)
    else:
        fcntl.flock(held, fcntl.LOCK_EX)
    return held


POLLS = {"shared": poll_flock, "open_file": poll_lockf}


def main():
    role, form = sys.argv[1:]
    if role == "hold":
        kept = hold(form)  # pylint: disable=unused-variable
        told("holds")
        sys.stdin.read()
    else:
        (POLLS.get(form) or globals()["poll_" + form])()


main()
