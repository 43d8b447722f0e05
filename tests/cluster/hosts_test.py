#!/usr/bin/env python3
"""Runs `oddrank hosts` over a real sshd on two nodes of the cluster, and `oddrank doctor` on them. Checks
what both do about a host that has no oddrank, refuses the key, or has no sshd."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "support"))
# pylint: disable=wrong-import-position
import cluster
import harness
import proc_facts
from cluster import Cluster
from harness import Options, Run
from star_job import StarJob

SSHD = """Port 22
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/key.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
SetEnv TMPDIR={folder}/tmp
"""
# Node n2 is on the network but has no sshd; "stranger" is n0 with a key that it does not know.
CLIENT = """Host *
  User root
  StrictHostKeyChecking no
  UserKnownHostsFile {folder}/known
  IdentitiesOnly yes
Host n0 n1 n2
  IdentityFile {folder}/key
Host stranger
  IdentityFile {folder}/host_key
"""


def needs_sshd():
    if shutil.which("sshd", path=cluster.daemon_path()) is None or not shutil.which("ssh"):
        return "not installed: openssh-server or openssh-client (scripts/setup --ci installs them)"
    return None


# Speaks as kubectl does, of pods that are nodes of the cluster; KUBECTL_PODS has a line for each, as its
# jsonpath prints them, and their processes.
KUBECTL = """#!/usr/bin/python3
import os, subprocess, sys, threading
words = sys.argv[1:]
if words[:2] != ["--namespace", "train"]:
    sys.exit('Error from server (Forbidden): pods is forbidden: User "eve" cannot list resource "pods"')
words = words[2:]
pods, inits = {pods!r}, {inits!r}
if words[:2] == ["get", "pods"]:
    wanted = words[words.index("--selector") + 1] if "--selector" in words else ""
    key, _, value = wanted.partition("=")
    print("".join(line + chr(10) for line in pods
                  if not wanted or f'"{{key}}":"{{value}}"' in line), end="")
    sys.exit(0)
split = words.index("--")
inside = ["--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--wd"]
if words[0] == "debug":
    # The image's entrypoint is oddrank. kubectl passes stdin on, and detaches when that ends.
    assert words[2:split] == ["--image", "registry/oddrank", "--target", "trainer", "--stdin", "--quiet",
                              "--arguments-only", *{profile!r}], words
    agent = subprocess.Popen(["nsenter", f"--target={{inits[words[1]]}}", *inside, {oddrank!r}, *words[split + 1:]],
                             stdin=subprocess.PIPE)
    def forward():
        for line in sys.stdin.buffer:
            agent.stdin.write(line)
            agent.stdin.flush()
        agent.kill()
        os._exit(0)
    threading.Thread(target=forward, daemon=True).start()
    agent.wait()
    os._exit(0)
assert words[0] == "exec", words
interactive = "--stdin" in words[:split]
pod, = [word for word in words[1:split] if word in inits or word.startswith("gone")]
assert words[words.index("--container") + 1] == "trainer", words
if pod not in inits:
    sys.exit(f'Error from server (NotFound): pods "{{pod}}" not found')
end = subprocess.run(["nsenter", f"--target={{inits[pod]}}", *inside, "env", "TMPDIR={folder}/tmp", *words[split + 1:]],
                     stdin=None if interactive else subprocess.DEVNULL).returncode
if end:
    print(f"command terminated with exit code {{end}}", file=sys.stderr)
sys.exit(end)
"""


class HostsTest(unittest.TestCase):
    """One cluster, one job and one sshd per node serve all tests."""

    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(harness.scratch())
        cls.lab = cls.enterClassContext(Cluster(nodes=3))
        cls.id = StarJob(cls.lab, cls.folder, nodes=2, ranks=2).start("--nodelist=n0,n1").id
        for name in ("key", "host_key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
                            f"{cls.folder}/{name}"], check=True, timeout=120)
        os.mkdir(f"{cls.folder}/tmp")
        cls.write("sshd_config", SSHD.format(folder=cls.folder))
        addresses = {node: cls.address(node) for node in cls.lab.nodes}
        cls.write("ssh_config", CLIENT.format(folder=cls.folder) + "".join(
            f"Host {name}\n  HostName {addresses[node]}\n"
            for name, node in (("n0", "n0"), ("n1", "n1"), ("n2", "n2"), ("stranger", "n0"))))
        with open("/etc/passwd", encoding="utf-8") as file:
            cls.write("passwd", re.sub("^root:.*", f"root:x:0:0:root:{cls.folder}:/bin/sh",
                                       file.read(), flags=re.MULTILINE))
        for node in ("n0", "n1"):
            cls.start_sshd(node)
        cls.ssh = f"ssh -F {cls.folder}/ssh_config"

    @classmethod
    def write(cls, name, text):
        with open(f"{cls.folder}/{name}", "w", encoding="utf-8") as file:
            file.write(text)

    @classmethod
    def address(cls, node):
        result = cls.lab.node_exec(node, ["ip", "-4", "-o", "addr", "show", "dev", "eth0"])
        return result.stdout.split()[3].partition("/")[0]

    @classmethod
    def start_sshd(cls, node):
        # Runs in the node's namespaces only, and dies with the node. sshd has to be called by its path.
        # The node's root has no .bashrc, so this machine's does not influence the test.
        result = cls.lab.node_exec(node, [
            "sh", "-c", f"mkdir -p /run/sshd && mount --bind {cls.folder}/passwd /etc/passwd && "
            f"exec $(command -v sshd) -f {cls.folder}/sshd_config"])
        if result.returncode != 0:
            raise RuntimeError(f"sshd on {node}: {result.stderr}")
        # sshd goes into the background before it listens.
        cls.lab.wait_listens(node, 22)

    def oddrank(self, *arguments, program=None):
        patiently = () if arguments[0] == "report" else harness.PATIENTLY
        return Run(self.lab.run_client([program or Options.oddrank, *arguments, *patiently]))

    def check_report(self, run):
        self.assertEqual(run.status, 0, run)
        report = run.json()
        self.assertEqual(report["job"]["source"], "hosts")
        self.assertEqual(report["job"]["hosts"], ["n0", "n1"])
        self.assertEqual(report["coverage"]["read"], 2, run)
        self.assertEqual(report["verdict"]["kind"], "io_stall", run)
        self.assertEqual([(row["rank"], row["host"]) for row in report["verdict"]["culprits"]],
                         [(0, "n0")])

    def kubectl(self, *more, profile=("--profile", "sysadmin")):
        """Writes a stand-in for kubectl whose pods train-0 and train-1 are n0 and n1."""
        def line(name, phase, labels):
            return "\t".join((name, phase, "trainer", "sidecar trainer", "{" + labels + "}"))
        labels = '"app":"x","training.kubeflow.org/job-name":"llama"'
        self.write("kubectl", KUBECTL.format(
            pods=[line("train-0", "Running", labels), line("train-1", "Running", labels),
                  line("other-0", "Running", '"training.kubeflow.org/job-name":"llama-2"'), *
                  (line(name, phase, labels) for name, phase in more)],
            inits={f"train-{at}": self.lab.node_init(f"n{at}") for at in (0, 1)},
            folder=self.folder, oddrank=Options.oddrank, profile=list(profile)))
        os.chmod(f"{self.folder}/kubectl", 0o755)
        return "--kubectl", f"{self.folder}/kubectl", "-n", "train"

    def check_pods(self, run, status=0):
        self.assertEqual(run.status, status, run)
        report = run.json()
        self.assertEqual(report["verdict"]["kind"], "io_stall", run)
        self.assertEqual([(row["rank"], row["host"]) for row in report["verdict"]["culprits"]],
                         [(0, "train-0")], run)
        return report

    def test_pods_of_a_job(self):
        kubectl = self.kubectl()
        report = self.check_pods(self.oddrank("kube", "llama", *kubectl, "--json", "-"))
        self.assertEqual(report["job"]["hosts"], ["train-0", "train-1"])
        self.check_pods(self.oddrank("kube", "-l", "app=x", *kubectl, "--json", "-"))

    def test_pods_without_oddrank_get_it_for_the_capture(self):
        program = self.copy_for_us_alone()
        self.check_pods(self.oddrank("kube", "llama", *self.kubectl(), "--json", "-",
                                     program=program))
        self.assertEqual(os.listdir(f"{self.folder}/tmp"), [])

    def test_pods_by_containers_of_their_own(self):
        for more, profile in (((), ("--profile", "sysadmin")), (("--debug-profile", ""), ())):
            run = self.oddrank("kube", "llama", *self.kubectl(profile=profile), "--debug", "registry/oddrank",
                               *more, "--json", "-")
            self.check_pods(run)

    def test_pods_that_do_not_run_or_are_gone_are_rows(self):
        kubectl = self.kubectl(("train-2", "Pending"), ("gone-3", "Running"))
        run = self.oddrank("kube", "llama", *kubectl, "--json", "-")
        self.assertEqual(run.status, 3, run)
        told = json.dumps(run.json()["coverage"]) + run.err + "".join(run.json()["notes"])
        self.assertIn("the pod does not run (Pending)", told)
        self.assertIn("not found", told)

    def test_kubectl_that_cannot_list_pods_says_why(self):
        program = self.kubectl()[1]
        for arguments, words in ((("llama", "--kubectl", program), ("forbidden", "pods/exec")),
                                 (("nobody", "--kubectl", program, "-n", "train"), ("nobody",)),
                                 (("llama", "--kubectl", "/no/kubectl"), ("not found", "--kubectl"))):
            harness.check_trouble(self, self.oddrank("kube", *arguments), *words)
        for arguments in ((), ("llama", "-l", "app=x")):
            harness.check_trouble(self, self.oddrank("kube", *arguments), "either a job or", status=2)

    def copy_for_us_alone(self):
        """Copies oddrank to a path that the nodes lack, because each has a /dev/shm of its own. Leaves out
        the debug information, which is ten times the rest."""
        folder = self.enterContext(tempfile.TemporaryDirectory(dir="/dev/shm", prefix="hosts-"))
        subprocess.run(["objcopy", "--strip-debug", Options.oddrank, f"{folder}/oddrank"],
                       check=True, timeout=120)
        return f"{folder}/oddrank"

    def test_hosts(self):
        self.check_report(self.oddrank("hosts", "n[0-1]", "--ssh", self.ssh, "--json", "-", "-q"))

    def test_hosts_by_a_command(self):
        """A command of the user's reaches them, also to send a host what it lacks."""
        via = f"ssh -F '{self.folder}/ssh_config' -o BatchMode=yes {{host}}"
        for program in (None, self.copy_for_us_alone()):
            self.check_report(self.oddrank("hosts", "n[0-1]", "--via", via, "--json", "-", "-q",
                                           program=program))

    def test_a_host_without_oddrank_is_sent_it(self):
        program = self.copy_for_us_alone()
        self.check_report(self.oddrank("hosts", "n0,n1", "--ssh", self.ssh, "--json", "-", "-q",
                                       program=program))
        self.assertEqual(os.listdir(f"{self.folder}/tmp"), [])

    def test_a_job_s_nodes_without_oddrank_are_sent_it(self):
        program = self.copy_for_us_alone()
        # The nodes of this machine share /tmp: the first agent to start would delete the others' copy.
        run = self.oddrank("job", self.id, "--json", "-", "-q", "--send-to", "/dev/shm",
                           program=program)
        self.assertEqual(run.status, 0, run)
        self.assertEqual(run.json()["verdict"]["kind"], "io_stall", run)
        for node in ("n0", "n1"):
            listed = self.lab.node_exec(node, ["ls", "/dev/shm"]).stdout
            self.assertNotIn("oddrank-", listed)

    def steps(self):
        return self.lab.run_client(["squeue", "-s", "-h", "-j", self.id, "-o", "%i %j"]).stdout

    def test_a_folder_that_takes_no_copy_is_named_and_nothing_stays(self):
        run = self.oddrank("job", self.id, "--json", "-", "-q", "--send-to", "/nosuch",
                           program=self.copy_for_us_alone())
        self.assertEqual(run.status, harness.NOTHING_READ, run)
        self.assertIn("sbcast to /nosuch", run.out)
        self.assertIn("No such file or directory", run.out)
        proc_facts.wait_until(lambda: "oddrank" not in self.steps(), "no step of ours is left")

    def test_a_folder_that_lets_no_program_run(self):
        """Each node's python3 runs its copy from memory, and removes it."""
        program = self.copy_for_us_alone()
        for node in ("n0", "n1"):
            made = self.lab.node_exec(node, ["mount", "-t", "tmpfs", "-o", "noexec", "tmpfs", "/mnt"])
            self.assertEqual(made.returncode, 0, made)
            self.addCleanup(self.lab.node_exec, node, ["umount", "/mnt"])
        run = self.oddrank("job", self.id, "--json", "-", "-q", "--send-to", "/mnt", program=program)
        self.assertEqual(run.status, 0, run)
        self.assertEqual(run.json()["coverage"]["read"], 2, run)
        self.assertIn(f"{program} is not on n[0-1]: a copy was sent there, into /mnt, and run from memory",
                      " ".join(run.json()["notes"]))
        proc_facts.wait_until(lambda: "oddrank" not in self.steps(), "no step of ours is left")
        for node in ("n0", "n1"):
            self.assertEqual(self.lab.node_exec(node, ["ls", "/mnt"]).stdout, "")

    def test_my_only_job(self):
        run = self.oddrank("job", "--me", "-q")
        self.assertEqual(run.status, 0, run)
        self.assertIn("rank 0", run.out)

    def test_hosts_that_do_not_answer_are_named_with_the_reason(self):
        run = self.oddrank("hosts", "n0", "n1", "n2", "stranger", "--ssh", self.ssh, "--json", "-")
        self.assertEqual(run.status, harness.PARTIAL, run)
        report = run.json()
        self.assertEqual(report["coverage"]["read"], 2, run)
        text = json.dumps(report)
        self.assertIn("Connection refused", text)
        self.assertIn("Permission denied", text)

    def check_engine(self, tool, command, **environment):
        """Lets another tool start an agent on each host, and checks the report of the files they left."""
        if shutil.which(tool) is None:
            self.skipTest(f"not installed: {tool} (scripts/setup --ci installs it)")
        folder = f"{self.folder}/{tool}"
        os.mkdir(folder)
        started = self.lab.run_client(["sh", "-c", command.format(
            oddrank=Options.oddrank, folder=folder, config=f"{self.folder}/ssh_config",
            patiently=shlex.join(harness.PATIENTLY))], extra_env=environment)
        self.assertEqual(started.returncode, 0, started.stderr)
        run = self.oddrank("report", folder, "--json", "-")
        self.assertEqual(run.status, 0, run)
        self.assertEqual([(row["rank"], row["host"])
                          for row in run.json()["verdict"]["culprits"]], [(0, "n0")], run)

    def test_pdsh(self):
        self.check_engine("pdsh", "pdsh -t 60 -R ssh -w n0,n1 "
                          "{oddrank} agent {patiently} --out {folder}/%h.odd",
                          PDSH_SSH_ARGS_APPEND=f"-F {self.folder}/ssh_config")

    def test_clush(self):
        self.check_engine("clush", "clush -t 60 -o '-F {config}' -w n[0-1] "
                          "'{oddrank} agent {patiently} --out {folder}/$(uname -n).odd'")

    def test_doctor(self):
        for arguments in (["--job", self.id], ["--hosts", "n[0-1]", "--ssh", self.ssh]):
            with self.subTest(arguments=arguments):
                run = self.oddrank("doctor", *arguments, "--json", "-")
                self.assertEqual(run.status, 0, run)
                rows = run.json()["nodes"]
                self.assertEqual([row["host"] for row in rows], ["n0", "n1"])
                for row in rows:
                    answers = {check["name"]: (check["answer"], check["detail"])
                               for check in row["checks"]}
                    self.assertEqual(answers["access"][0], "yes", row)
                    self.assertEqual(answers["ranks"], ("yes", "1"), row)
                    self.assertEqual(answers["stacks"], ("yes", "whole"), row)
                    self.assertRegex(answers["python"][1], r"^3\.\d+\.\d+")
                    self.assertEqual(answers["unstopped"][0], "yes", row)
                    self.assertEqual(answers["ras"], ("off", "no rank listens"), row)

    def test_doctor_puts_the_worst_first(self):
        run = self.oddrank("doctor", "--hosts", "n0,n2", "--ssh", self.ssh)
        self.assertEqual(run.status, harness.PARTIAL, run)
        self.assertIn("1 of 2 nodes ready", run.out)
        self.assertLess(run.out.index("n2 "), run.out.index("n0 "))
        self.assertIn("Connection refused", run.out)


if __name__ == "__main__":
    harness.main(harness.needs_cluster, needs_sshd)
