#!/usr/bin/env python3
"""A Kubernetes of one node in namespaces of its own: a real API server, etcd, kubelet, containerd and runc.

    with KubeLab(programs, oddrank) as lab:   # programs: what scripts/kubernetes has made
        lab.kubectl("get", "pods")            # as the administrator
        lab.run(["oddrank", "kube", "job"])   # any program, where kubectl is one of `programs`

Pods use the node's network and name their node, so neither a network plugin nor a scheduler is needed. The image
EMPTY has no files: /usr is to be the machine's. The image ODDRANK is that of packaging/Containerfile. Needs root.
As a program, it is what runs in the namespaces.
"""

import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import proc_facts

LIMIT_S = 300
NODE, ADDRESS = "n0", "10.99.0.1"
EMPTY, ODDRANK = "lab.test/empty:1", "lab.test/oddrank:1"  # images
USERS = {"admin": "system:masters", "kubelet": "system:nodes,system:masters", "eve": "viewers"}
PAUSE = "#include <unistd.h>\nint main(void) { for (;;) pause(); }\n"
# kubelet sets these for the whole machine; it only sees files of ours there.
KERNEL = {"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
          "kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000"}
CONTAINERD = """version = 2
root = "{0}/containers/root"
state = "{0}/containers/state"
[grpc]
address = "{0}/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{1}"
disable_apparmor = true
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "overlayfs"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
"""


def succeeds(*command):
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


class Inside:
    """What runs in the namespaces, for as long as they live."""

    def __init__(self, folder, oddrank):
        self.folder, self.oddrank = folder, oddrank

    def start(self, *command):
        with open(f"{self.folder}/{command[0]}.log", "wb") as log:
            subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)  # pylint: disable=consider-using-with

    def isolate(self):
        """The node's address, and the kernel's settings."""
        for words in ("link set lo up", "link add d0 type veth peer name d1", "link set d1 up",
                      f"addr add {ADDRESS}/24 dev d0", "link set d0 up", "route add default dev d0"):
            subprocess.run(["ip", *words.split()], check=True)
        for number, (path, value) in enumerate(KERNEL.items()):
            with open(f"{self.folder}/kernel{number}", "w", encoding="ascii") as file:
                file.write(value + "\n")
            if os.path.exists(f"/proc/sys/{path}"):
                subprocess.run(["mount", "--bind", file.name, f"/proc/sys/{path}"], check=True)

    def configure(self):
        with open(f"{self.folder}/tokens", "w", encoding="ascii") as tokens:
            for number, (user, groups) in enumerate(USERS.items()):
                name = f"system:node:{NODE}" if user == "kubelet" else user
                tokens.write(f'{user}-token,{name},{number},"{groups}"\n')
                self.write(f"{user}.conf", json.dumps({
                    "apiVersion": "v1", "kind": "Config", "current-context": "lab",
                    "clusters": [{"name": "lab", "cluster": {"server": "https://127.0.0.1:6443",
                                                             "insecure-skip-tls-verify": True}}],
                    "users": [{"name": user, "user": {"token": f"{user}-token"}}],
                    "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": user}}]}))
        self.write("containerd.toml", CONTAINERD.format(self.folder, EMPTY))
        subprocess.run(["openssl", "genrsa", "-out", f"{self.folder}/sa.key", "2048"], check=True,
                       capture_output=True)

    def write(self, name, text):
        with open(f"{self.folder}/{name}", "w", encoding="utf-8") as file:
            file.write(text)

    def empty_layer(self, tar):
        """A program that sleeps, and links into /usr."""
        self.write("pause.c", PAUSE)
        subprocess.run(["cc", "-static", "-Os", "-o", f"{self.folder}/pause", f"{self.folder}/pause.c"], check=True)
        tar.add(f"{self.folder}/pause", "pause")
        for name in ("bin", "sbin", "lib", "lib64"):
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, f"usr/{name}"
            tar.addfile(link)
        for name in ("usr", "tmp", "etc", "job"):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
            tar.addfile(folder)

    def import_image(self, tag, entrypoint, add_files):
        """Imports an archive as `docker save` writes it, of one layer."""
        layer = f"{self.folder}/layer.tar"
        with tarfile.open(layer, "w") as tar:
            add_files(tar)
        with open(layer, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        config = json.dumps({"architecture": "amd64", "os": "linux",
                             "config": {"Entrypoint": [entrypoint], "Env": ["PATH=/usr/bin:/bin"]},
                             "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]}}).encode()
        name = hashlib.sha256(config).hexdigest() + ".json"
        manifest = json.dumps([{"Config": name, "RepoTags": [tag], "Layers": ["layer.tar"]}]).encode()
        image = f"{self.folder}/image.tar"
        with tarfile.open(image, "w") as tar:
            for member, content in ((name, config), ("manifest.json", manifest)):
                info = tarfile.TarInfo(member)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
            tar.add(layer, "layer.tar")
        subprocess.run(["ctr", "-a", f"{self.folder}/containerd.sock", "-n", "k8s.io", "images", "import",
                        "--snapshotter", "overlayfs", image], check=True, capture_output=True)

    def main(self):
        folder = self.folder
        self.isolate()
        self.configure()
        self.start("etcd", "--data-dir", f"{folder}/etcd", *(
            f"--{each}=http://127.0.0.1:{port}" for each, port in (
                ("listen-client-urls", 2379), ("advertise-client-urls", 2379), ("listen-peer-urls", 2380),
                ("initial-advertise-peer-urls", 2380))), "--initial-cluster=default=http://127.0.0.1:2380")
        self.start("kube-apiserver", "--etcd-servers=http://127.0.0.1:2379", f"--cert-dir={folder}/certs",
                   f"--service-account-key-file={folder}/sa.key", "--service-account-issuer=https://lab",
                   f"--service-account-signing-key-file={folder}/sa.key", f"--token-auth-file={folder}/tokens",
                   "--authorization-mode=RBAC", "--disable-admission-plugins=ServiceAccount",
                   "--service-cluster-ip-range=10.98.0.0/24", "--secure-port=6443", "--bind-address=127.0.0.1",
                   f"--advertise-address={ADDRESS}", "--feature-gates=EphemeralContainers=true",
                   "--allow-privileged=true", "--kubelet-preferred-address-types=InternalIP")
        self.start("containerd", "-c", f"{folder}/containerd.toml")
        proc_facts.wait_until(lambda: succeeds("ctr", "-a", f"{folder}/containerd.sock", "version"), "containerd", LIMIT_S)
        self.import_image(EMPTY, "/pause", self.empty_layer)
        self.import_image(ODDRANK, "/usr/bin/oddrank", lambda tar: tar.add(self.oddrank, "usr/bin/oddrank"))
        kubectl = ("kubectl", f"--kubeconfig={folder}/admin.conf", "get")
        proc_facts.wait_until(lambda: succeeds(*kubectl, "--raw", "/readyz"), "the API server", LIMIT_S)
        self.start("kubelet", f"--kubeconfig={folder}/kubelet.conf", "--container-runtime=remote",
                   f"--container-runtime-endpoint=unix://{folder}/containerd.sock", f"--root-dir={folder}/kubelet",
                   "--cgroups-per-qos=false", "--enforce-node-allocatable=", "--fail-swap-on=false",
                   f"--hostname-override={NODE}", f"--node-ip={ADDRESS}", "--eviction-hard=memory.available<1Mi",
                   f"--cert-dir={folder}/kubelet-certs", "--feature-gates=EphemeralContainers=true",
                   f"--address={ADDRESS}", "--read-only-port=0", "--healthz-port=0",
                   "--make-iptables-util-chains=false", "--resolv-conf=", f"--volume-plugin-dir={folder}/plugins")
        proc_facts.wait_until(lambda: succeeds(*kubectl, "node", NODE), "the node", LIMIT_S)
        print("ready", flush=True)
        signal.pause()


class KubeLab:
    def __init__(self, programs, oddrank):
        self.oddrank = oddrank
        self.folder = None
        self.process = None
        self.path = f"{programs}/bin:{programs}/debian/usr/bin:{programs}/debian/usr/sbin:{os.environ['PATH']}:/sbin"

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="kube-")
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            ["unshare", "-mnpf", "--mount-proc", "--kill-child", sys.executable, os.path.abspath(__file__),
             self.folder, self.oddrank], env={**os.environ, "PATH": self.path}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE)
        if self.process.stdout.readline() != b"ready\n":
            logs = self.logs()
            self.__exit__()
            raise RuntimeError(f"the lab did not start\n{logs}")
        return self

    def __exit__(self, *_):
        # The first process of the namespace goes, and all others with it; then its mounts are gone, too.
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def logs(self):
        texts = []
        for name in sorted(os.listdir(self.folder)):
            if name.endswith(".log"):
                with open(f"{self.folder}/{name}", encoding="utf-8", errors="replace") as file:
                    texts.append(f"--- {name}\n{file.read()[-1500:]}")
        return "\n".join(texts)

    def run(self, command, user="admin", kubectl=None, **options):
        """Runs a command in the lab; `kubectl`: the folder of the kubectl that it finds."""
        inner, = proc_facts.children(self.process.pid)
        path = f"{kubectl}:{self.path}" if kubectl else self.path
        return subprocess.run(["nsenter", "-t", str(inner), "-m", "-n", "-p", "--", "env", f"PATH={path}",
                               f"KUBECONFIG={self.folder}/{user}.conf", *command],
                              capture_output=True, text=True, timeout=LIMIT_S, check=False, **options)

    def kubectl(self, *words, **options):
        run = self.run(["kubectl", *words], **options)
        if run.returncode != 0:
            raise RuntimeError(f"kubectl {words}: {run.stderr}\n{self.logs()}")
        return run.stdout


if __name__ == "__main__":
    Inside(*sys.argv[1:]).main()
