"""The programs that oddrank is measured against. Those of PyPI are installed in an environment of their own."""

import os
import re
import shutil
import subprocess
import sys

PACKAGES = ["py-spy", "pystack", "matplotlib"]


class Peers:
    """The peers' programs; those that cannot be had are left out."""

    def __init__(self, folder):
        self.bin = os.path.join(os.path.abspath(folder), "peers", "bin")
        done = os.path.join(os.path.dirname(self.bin), "installed")
        if not os.path.exists(done):
            subprocess.run([sys.executable, "-m", "venv", "--clear", os.path.dirname(self.bin)],
                           check=True)
            subprocess.run([os.path.join(self.bin, "pip"), "-q", "install", *PACKAGES], check=True)
            with open(done, "w", encoding="utf-8") as file:
                file.write(" ".join(PACKAGES) + "\n")

    def program(self, name):
        """Returns the path of a program; None if there is none."""
        own = os.path.join(self.bin, name)
        return own if os.path.exists(own) else shutil.which(name)

    def commands(self, pids):
        """Yields (name, commands that read each of the pids)."""
        texts = [str(pid) for pid in pids]
        for name, words in (("py-spy dump", ["py-spy", "dump", "-p"]),
                            ("py-spy dump --native", ["py-spy", "dump", "--native", "-p"]),
                            ("pystack remote --native-all", ["pystack", "remote", "--native-all"]),
                            ("eu-stack", ["eu-stack", "-p"]),
                            ("gdb", ["gdb", "-batch", "-nx", "-ex", "thread apply all bt", "-p"])):
            program = self.program(words[0])
            if program:
                yield name, [[program, *words[1:], pid] for pid in texts]

    def versions(self):
        told = {}
        for name in ("py-spy", "pystack", "eu-stack", "gdb"):
            program = self.program(name)
            text = subprocess.run([program, "--version"], capture_output=True, text=True,
                                  check=False).stdout if program else ""
            number = re.search(r"\d+(\.\d+)+", text)
            told[name] = number.group() if number else "not here"
        return told


def torch_version(python):
    """Returns the version of PyTorch of that Python; None if it has none."""
    run = subprocess.run([python, "-W", "ignore", "-c", "import torch; print(torch.__version__)"],
                         capture_output=True, text=True, check=False)
    return run.stdout.strip() or None
