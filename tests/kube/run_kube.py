#!/usr/bin/env python3
"""Runs `oddrank kube` on pods of a real Kubernetes, with kubectl of several releases.

    run_kube.py --oddrank PATH --kubernetes FOLDER     # FOLDER: what scripts/kubernetes has made; as root
"""

import argparse
import json
import os
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "support")]
# pylint: disable=wrong-import-position
import proc_facts
from kube_lab import EMPTY, LIMIT_S, NODE, ODDRANK, KubeLab

# Rank 1 reads a named pipe that nobody opens; rank 0 receives from it.
RANK = """
import os, socket, time
if os.environ["RANK"] == "1":
    listener = socket.create_server(("127.0.0.1", 4711))
    other = listener.accept()[0]
    os.mkfifo("/tmp/shard")
    open("/job/ready-1", "w").close()
    open("/tmp/shard").read()
else:
    while True:
        try:
            other = socket.create_connection(("127.0.0.1", 4711))
            break
        except ConnectionRefusedError:
            time.sleep(0.1)
    open("/job/ready-0", "w").close()
    other.recv(1)
"""


class Options:
    oddrank = None
    kubernetes = None


def kubectls():
    """{name: folder of a kubectl}; the name is that of Debian's release."""
    return {name: f"{Options.kubernetes}/{name}/usr/bin" for name in ("debian", "trixie", "sid")}


class KubeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = cls.enterClassContext(KubeLab(Options.kubernetes, Options.oddrank))
        cls.job = f"{cls.lab.folder}/job"
        os.mkdir(cls.job)
        for rank in (0, 1):
            cls.lab.kubectl("create", "-f", "-", input=json.dumps(cls.pod(rank)))
        proc_facts.wait_until(lambda: all(os.path.exists(f"{cls.job}/ready-{rank}") for rank in (0, 1)),
                              "both ranks run", LIMIT_S)

    @classmethod
    def pod(cls, rank):
        folders = {"usr": "/usr", "job": cls.job}
        return {"apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": f"llama-worker-{rank}", "labels": {"training.kubeflow.org/job-name": "llama"}},
                "spec": {"nodeName": NODE, "hostNetwork": True, "terminationGracePeriodSeconds": 0,
                         "containers": [{
                             "name": "pytorch", "image": EMPTY, "imagePullPolicy": "Never",
                             "command": ["/usr/bin/python3", "-c", RANK],
                             "env": [{"name": name, "value": value} for name, value in (
                                 ("RANK", str(rank)), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "127.0.0.1"),
                                 ("MASTER_PORT", "4711"))],
                             "volumeMounts": [{"name": name, "mountPath": f"/{name}", "readOnly": name == "usr"}
                                              for name in folders]}],
                         "volumes": [{"name": name, "hostPath": {"path": path}} for name, path in folders.items()]}}

    def oddrank(self, *words, **options):
        return self.lab.run([Options.oddrank, "kube", *words], **options)

    def test_the_rank_is_named_with_every_kubectl(self):
        for name, folder in kubectls().items():
            with self.subTest(kubectl=name):
                began = time.monotonic()
                run = self.oddrank("llama", "--json", "-", kubectl=folder)
                took = time.monotonic() - began
                self.assertEqual(run.returncode, 0, run.stderr)
                report = json.loads(run.stdout)
                self.assertEqual([each["rank"] for each in report["verdict"]["culprits"]], [1], run.stdout)
                self.assertEqual(report["verdict"]["kind"], "io_stall")
                self.assertEqual(report["job"]["world_size"], 2)
                print(f"{name}: {took:.1f} s")

    def test_nothing_stays_in_the_pods(self):
        self.oddrank("llama")
        for rank in (0, 1):
            files = self.lab.kubectl("exec", f"llama-worker-{rank}", "--", "ls", "-A", "/tmp")
            self.assertEqual(files.split(), ["shard"] if rank else [])
            said = self.lab.kubectl("exec", f"llama-worker-{rank}", "--", "sh", "-c", "cat /proc/[0-9]*/comm")
            self.assertNotIn("oddrank", said)

    def test_pods_are_chosen_by_labels(self):
        run = self.oddrank("-l", "training.kubeflow.org/job-name=llama", "-q")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("rank 1", run.stdout)

    def test_a_job_that_does_not_exist(self):
        run = self.oddrank("nosuchjob")
        self.assertNotIn(run.returncode, (0, 3))
        self.assertIn("nosuchjob", run.stderr)

    def test_a_user_without_the_right(self):
        for name, folder in kubectls().items():
            with self.subTest(kubectl=name):
                run = self.oddrank("llama", user="eve", kubectl=folder)
                self.assertNotIn(run.returncode, (0, 3))
                self.assertIn("eve", run.stderr)
                self.assertIn("forbidden", run.stderr)

    def test_a_user_who_may_see_pods_but_not_run_programs_in_them(self):
        self.lab.kubectl("create", "clusterrole", "sees", "--verb=get,list", "--resource=pods")
        self.lab.kubectl("create", "clusterrolebinding", "sees", "--clusterrole=sees", "--user=eve")
        self.addCleanup(self.lab.kubectl, "delete", "clusterrolebinding/sees", "clusterrole/sees")
        run = self.oddrank("llama", user="eve")
        self.assertNotIn(run.returncode, (0, 3))
        self.assertIn("pods/exec", run.stderr + run.stdout)

    def test_a_container_beside_the_ranks(self):
        """As in pods without a shell. kubectl of the API server's release; newer ones speak another API."""
        run = self.oddrank("llama", "--debug", ODDRANK, "--debug-profile", "", "--json", "-",
                           kubectl=kubectls()["debian"])
        self.assertEqual(run.returncode, 0, run.stderr)
        report = json.loads(run.stdout)
        self.assertEqual([each["rank"] for each in report["verdict"]["culprits"]], [1], run.stdout)

    def test_a_container_beside_one_rank_names_nobody(self):
        """kubectl debug by hand, as docs/kubernetes.md has it: the other rank is in another pod, and not gone."""
        stdin, typing = os.pipe()  # kubectl leaves when its input ends
        self.addCleanup(os.close, stdin)
        self.addCleanup(os.close, typing)
        run = self.lab.run(["kubectl", "debug", "llama-worker-0", f"--image={ODDRANK}", "--target=pytorch", "--stdin",
                            "--quiet", "--arguments-only", "--", "node", "-q", "--samples", "3", "--interval", "5s"], stdin=stdin)
        self.assertIn("unknown", run.stdout, run.stderr)
        self.assertNotIn("gone", run.stdout)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--oddrank", required=True)
    parser.add_argument("--kubernetes", required=True)
    Options, rest = parser.parse_known_args()
    Options.oddrank, Options.kubernetes = map(os.path.abspath, (Options.oddrank, Options.kubernetes))
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
