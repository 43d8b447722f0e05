"""The build of a release from nothing, without a compiler cache."""

import os
import resource
import shutil
import subprocess
import time

from result import Result


def measure(bench):
    folder = os.path.join(bench.out, "release-build")
    shutil.rmtree(folder, ignore_errors=True)
    environment = {**os.environ, "CCACHE_DISABLE": "1"}
    subprocess.run(["cmake", "--preset", "release", "-B", folder], cwd=bench.root, env=environment, check=True,
                   stdout=subprocess.DEVNULL)
    bench.say("build: a release from nothing; some minutes")
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(["cmake", "--build", folder], cwd=bench.root, env=environment, check=True,
                   stdout=subprocess.DEVNULL)
    took, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
    size = os.path.getsize(os.path.join(folder, "oddrank")) / 2**20
    shutil.rmtree(folder)
    lines = sum(_lines(os.path.join(bench.root, name)) for name in os.listdir(bench.root)
                if os.path.isfile(os.path.join(bench.root, name, "CMakeLists.txt"))
                and name not in ("tests", "bench", "build"))
    result = Result("build", "The build of a release", "`cmake --preset release` from nothing, without ccache.")
    compiler = subprocess.run(["c++", "-dumpfullversion"], capture_output=True, text=True,
                              check=False).stdout.strip()
    result.versions = {"gcc": compiler}
    result.table(["lines of C++", "wall time, s", "CPU time, s", "program, MiB"],
                 [[f"{lines:,}", f"{took:.0f}", f"{cpu:.0f}", f"{size:.1f}"]])
    result.raw.update(seconds=took, cpu=cpu)
    return result


def _lines(folder):
    count = 0
    for path, _, files in os.walk(folder):
        for name in files:
            if name.endswith((".cc", ".h")):
                with open(os.path.join(path, name), encoding="utf-8") as file:
                    count += sum(1 for _ in file)
    return count
