"""Folders and archives of captures of generated jobs: NNNN.capture, and NNNN.json with the truth
about it."""

import concurrent.futures
import contextlib
import glob
import json
import os
import subprocess
import tarfile
import tempfile

import score


def pack(folder, path):
    """Writes the folder as one file. The same content gives the same file."""
    with tarfile.open(path + ".new", "w", format=tarfile.USTAR_FORMAT) as tar:
        for name in sorted(os.listdir(folder)):
            if not name.endswith((".capture", ".json")):
                continue
            member = tar.gettarinfo(os.path.join(folder, name), arcname=name)
            member.mtime = member.uid = member.gid = 0
            member.uname = member.gname = ""
            member.mode = 0o644
            with open(os.path.join(folder, name), "rb") as file:
                tar.addfile(member, file)
    os.replace(path + ".new", path)


@contextlib.contextmanager
def opened(path):
    """Yields a folder: the path itself, or the contents of an archive."""
    if os.path.isdir(path):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="jobs-") as folder:
        with tarfile.open(path) as tar:
            for member in tar:
                name = os.path.basename(member.name)
                with open(os.path.join(folder, name), "wb") as file:
                    file.write(tar.extractfile(member).read())
        yield folder


def verdict_on(oddrank, capture):
    result = subprocess.run([oddrank, "report", capture, "--json", "-"], stdin=subprocess.DEVNULL,
                            capture_output=True, text=True, timeout=120, check=False)
    if result.returncode not in (0, 3):
        raise RuntimeError(f"{capture}: status {result.returncode}\n{result.stderr}")
    return json.loads(result.stdout)["verdict"]


def replay(oddrank, path):
    """Returns the score of `oddrank report` over the captures of a folder or an archive."""
    total = score.Score()
    with opened(path) as folder:
        captures = sorted(glob.glob(os.path.join(folder, "*.capture")))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            verdicts = pool.map(lambda capture: verdict_on(oddrank, capture), captures)
            for capture, verdict in zip(captures, verdicts):
                with open(capture.replace(".capture", ".json"), encoding="utf-8") as file:
                    truth = json.load(file)
                total.add(os.path.basename(capture)[:4], truth, verdict)
    return total
