"""The CPythons of this machine."""

import glob
import os
import subprocess
import sys


def all_here():
    """Returns the paths of those that are read: this one, Debian's, pyenv's and those of ODDRANK_PYTHONS."""
    found = {"/usr/bin/python3", sys.executable}
    found.update(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3")))
    found.update(path for path in os.environ.get("ODDRANK_PYTHONS", "").split(":") if path)
    told = {path: subprocess.run([path, "-c", "import sys; print(sys.version_info >= (3, 6))"],
                                 stdout=subprocess.PIPE, check=False) for path in sorted(found)}
    return [path for path, run in told.items() if run.stdout == b"True\n"]


def reported_by(python, expression):
    """Returns the words that the interpreter prints of an expression; it knows sys and sysconfig."""
    return subprocess.run([python, "-c", f"import sys, sysconfig; print({expression})"],
                          stdout=subprocess.PIPE, check=True, encoding="utf-8").stdout.split()


def version_of(python):
    return tuple(map(int, reported_by(python, "*sys.version_info[:2]")))
