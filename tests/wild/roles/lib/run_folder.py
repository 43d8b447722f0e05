"""The folder of a run: its data, which process does what, how many steps each has made, and what
they export.
"""
import fcntl
import os

FOLDER = os.environ["RUN_FOLDER"]


def record(role):
    path = os.path.join(FOLDER, f"pid.{role}")
    with open(path + "~", "w", encoding="utf-8") as file:
        file.write(str(os.getpid()))
    os.rename(path + "~", path)


def count(role):
    with open(os.path.join(FOLDER, f"steps.{role}"), "a", encoding="utf-8") as file:
        file.write("1\n")


def read(name):
    with open(os.path.join(FOLDER, name), "rb") as file:
        return file.read()


def export(name, text):
    """Appends a line to a file that other runs write, too."""
    with open(os.path.join(FOLDER, name), "a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(text + "\n")
