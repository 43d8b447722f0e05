"""Processes in which Python is not where a reader expects it, or not as it left its threads: what compare.py
reads beside the programs of programs.py. The programs are those of the live tests. Each function makes such
processes, one after the other, as (what it is, the number to be read).
"""
import glob
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TESTS, "support"), os.path.join(TESTS, "live")]
# pylint: disable=wrong-import-position
import harness
import hidden_python_test as hidden
import interpreter_work_test as interpreter_work
import left_threads_test as left_threads
import proc_facts


class Started:
    """Processes of one place; the context ends them."""

    def __enter__(self):
        self.processes = []
        self.folder = tempfile.mkdtemp(prefix="oddrank-peers-")
        os.chmod(self.folder, 0o755)
        return self

    def __call__(self, *command, home=None, **options):
        environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", **({"PYTHONHOME": home} if home else {}))
        self.processes.append(subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL,
                                               stderr=subprocess.DEVNULL, start_new_session=True, **options))
        return self.processes[-1].pid

    def __exit__(self, kind, value, trace):
        for process in self.processes:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(60)
        shutil.rmtree(self.folder, ignore_errors=True)


def blocks(pid):
    proc_facts.wait_until(lambda: left_threads.blocks_in_read(pid), "it blocks")
    return pid


def first_child(pid):
    return proc_facts.wait_until(lambda: proc_facts.children(pid), "its child")[0]


def forked_without_python(python, start):
    yield blocks(first_child(start(python, "-c", left_threads.FORK)))


def main_thread_ended(python, start):
    exit_call = 93 if os.uname().machine == "aarch64" else 60
    child = first_child(start(python, "-c", left_threads.MAIN_ENDS, str(exit_call)))
    proc_facts.wait_until(lambda: proc_facts.state(child) == "Z", "its main thread ends")
    yield child
    yield blocks(max(proc_facts.threads(child)))  # a thread's number instead of the process's


def finalized(python, start):
    pid = start(python, "-c", interpreter_work.FINALIZED, "0")
    proc_facts.wait_until(lambda: proc_facts.in_call(pid, proc_facts.PAUSE), "it is finalized")
    yield pid


def worker_of_uwsgi(start):
    """Only with uWSGI beside this interpreter."""
    server = os.path.join(os.path.dirname(sys.executable), "uwsgi")
    if not os.path.exists(server):
        return
    with open(f"{start.folder}/app.py", "w", encoding="utf-8") as file:
        file.write(left_threads.SERVER)
    port = left_threads.free_port()
    worker = first_child(start(server, "--http-socket", f"127.0.0.1:{port}", "--master", "--processes", "1",
                               "--enable-threads", "--wsgi-file", f"{start.folder}/app.py"))
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.sendall(b"GET / HTTP/1.0\r\n\r\n")
        yield blocks(worker)


def library_of_another_name(start):
    hidden.compile_c(hidden.LOADER, f"{start.folder}/loader", "-ldl")
    for version, home in hidden.homes().items():
        engine = f"{start.folder}/engine-{version[1]}.so"
        shutil.copyfile(hidden.library_of(home), engine)
        yield blocks(start(f"{start.folder}/loader", engine, "-c", hidden.PROGRAM, home=home))


def program_without_symbols(start):
    for version, home in hidden.homes().items():
        program = f"{start.folder}/program-{version[1]}"
        archive, = glob.glob(f"{home}/lib/python3.*/config-*/libpython3.*.a")
        hidden.compile_c(hidden.LINKED, program, "-no-pie", archive, "-lm", "-ldl", "-lutil", "-lpthread")
        subprocess.run(["strip", "-s", program], check=True)
        yield blocks(start(program, "-c", hidden.PROGRAM, home=home))


def second_python(start):
    if len(hidden.homes()) > 1:
        one, other = list(hidden.homes().values())[-2:]
        yield blocks(start(f"{one}/bin/python3", "-c", hidden.SECOND, hidden.library_of(other), other))


def files_that_do_not_answer(start):
    """Only where a FUSE file system can be mounted."""
    start(*harness.unshare("/usr/bin/python3", os.path.join(TESTS, "victims", "fading_fuse.py"), start.folder,
                           os.path.realpath("/usr/bin/python3")), stdout=subprocess.PIPE)
    line = start.processes[-1].stdout.readline().split()
    if line:
        yield blocks(int(line[1]))


OF_EACH_PYTHON = [forked_without_python, main_thread_ended, finalized]
OTHERS = [worker_of_uwsgi, library_of_another_name, program_without_symbols, second_python, files_that_do_not_answer]
