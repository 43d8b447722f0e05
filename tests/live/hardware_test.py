#!/usr/bin/env python3
"""Tests `oddrank node` with a made-up nvidia-smi, because there is no GPU. It answers, hangs or crashes."""

import os
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness

ANSWERS = """#!/bin/sh
case "$1" in
  --query-gpu=uuid,clocks_event_reasons.active*) {clocks};;
  --query-gpu=uuid,clocks_throttle_reasons.active*) echo "GPU-aa, 0x0000000000000048";;
  --query-gpu=*) echo "0, GPU-aa, NVIDIA H100, 100, 0, 118.10, 700.00, 61234, 81559, 1980, 0, 16, 00000000:3B:00.0";;
  --query-compute-apps=*) echo "GPU-aa, {pid}";;
  nvlink) [ "$2" = -e ] && {nvlinks};;
esac
"""
NO_NVLINK = ANSWERS.replace("{nvlinks}", "echo 'GPU 0: NVIDIA H100 (UUID: GPU-aa)'")
NEW_DRIVER = NO_NVLINK.replace("{clocks}", 'echo "GPU-aa, 0x0000000000000080"')
OLD_DRIVER = NO_NVLINK.replace(
    "{clocks}", "echo 'Field \"clocks_event_reasons.active\" is not a valid field to query.'; exit 2")
# Three GPUs. The NVLink of the first has one more error each time it is asked about.
NVLINKS = NEW_DRIVER.replace("echo 'GPU 0: NVIDIA H100 (UUID: GPU-aa)'", """{
    echo asked >> "$0.asked"
    for gpu in aa bb cc; do
      echo "GPU 0: NVIDIA H100 (UUID: GPU-$gpu)"
      echo "\t Link 0: Replay Errors: $([ $gpu = aa ] && wc -l < "$0.asked" || echo 0)"
    done
  }""").replace("00000000:3B:00.0\";;", """00000000:3B:00.0"
    for gpu in bb cc; do
      echo "1, GPU-$gpu, NVIDIA H100, 0, 0, 70.10, 700.00, 4, 81559, 1980, 0, 16, 00000000:4B:00.0"
    done;;""")
FALLEN = "3,1,{now},-;NVRM: Xid (PCI:0000:3b:00): 79, pid=7, name=python3, GPU has fallen off the bus.\n"
HANGS = """#!/bin/sh
echo "0, GPU-aa, NVIDIA H100, 100, 0, 118.10, 700.00, 61234, 81559, 1980, 0, 16, 00000000:3B:00.0"
exec sleep 600
"""
CRASHES = """#!/bin/sh
kill -SEGV $$
"""


class Hardware(unittest.TestCase):
    def diagnose(self, tool, kernel_log=None):
        with harness.scratch() as scratch:
            rank = subprocess.Popen(
                ["/usr/bin/python3", "-c", "import sys; print(flush=True); sys.stdin.read()"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                env={"RANK": "3", "WORLD_SIZE": "4", "MASTER_ADDR": "127.0.0.1"})
            try:
                rank.stdout.readline()
                with open(f"{scratch}/nvidia-smi", "w", encoding="utf-8") as file:
                    file.write(tool.replace("{pid}", str(rank.pid)))
                os.chmod(f"{scratch}/nvidia-smi", 0o755)
                words = [harness.Options.oddrank, "node", str(rank.pid), "--samples", "1", "--json", "-"]
                if kernel_log is not None:
                    with open(f"{scratch}/kmsg", "w", encoding="ascii") as file:
                        file.write(kernel_log.format(now=time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000))
                    words = harness.unshare("sh", "-c", f'mount --bind {scratch}/kmsg /dev/kmsg && exec "$@"',
                                            "sh", *words)
                began = time.monotonic()
                run = harness.Run(subprocess.run(
                    words,
                    env=dict(os.environ, PATH=f"{scratch}:{os.environ['PATH']}"), timeout=240,
                    stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False))
                took = time.monotonic() - began
            finally:
                rank.kill()
                rank.wait(60)
                rank.stdin.close()
                rank.stdout.close()
        self.assertIn(run.status, (0, harness.PARTIAL), run)
        return run, [row["text"] for row in run.json().get("sources", [])], took

    def test_a_gpu_that_spins(self):
        for tool, slowed in ((NEW_DRIVER, "power brake"), (OLD_DRIVER, "thermal slowdown")):
            run, told, _ = self.diagnose(tool)
            self.assertEqual(len(told), 2, run)
            self.assertIn("(rank 3): 100 % busy at 118 of 700 W", told[0], run)
            self.assertIn(f"(rank 3): slowed down (hardware {slowed})", told[1], run)

    @unittest.skipIf(os.getuid() != 0, "mounts need root")
    def test_a_gpu_that_failed_and_its_nvlinks(self):
        """The kernel's log names it by its address on the bus. Links are asked again if they had errors."""
        run, told, _ = self.diagnose(NVLINKS, FALLEN)
        told = "\n".join(told)
        self.assertRegex(told, r"GPU 0 on \S+ \(rank 3\) had an error \S+ s ago: Xid 79 "
                               r"\(the GPU has fallen off the bus\)", run)
        self.assertIn("GPU 0 has counted 1 error of its NVLinks within this capture, and no other has any", told)
        self.assertNotIn("kernel log", "\n".join(run.json()["notes"]), run)

    @unittest.skipIf(os.getuid() != 0, "mounts need root")
    def test_a_failed_gpu_that_the_tool_does_not_list(self):
        run, _, _ = self.diagnose(NEW_DRIVER, FALLEN.replace("3b", "5c"))
        self.assertIn("GPU 0000:5c:00 had an error", "\n".join(run.json()["notes"]), run)

    def test_one_that_hangs(self):
        """It is killed after five seconds; its output until then counts."""
        run, told, took = self.diagnose(HANGS)
        self.assertLess(took, 60)
        self.assertIn("100 % busy", "".join(told), run)
        self.assertIn("nvidia-smi: it did not answer in 5 s", "\n".join(run.json()["notes"]), run)

    def test_one_that_crashes(self):
        run, told, _ = self.diagnose(CRASHES)
        self.assertEqual(told, [], run)
        self.assertIn("nvidia-smi: it was ended by signal 11", "\n".join(run.json()["notes"]), run)


if __name__ == "__main__":
    harness.main()
