#!/usr/bin/env python3
"""Tests `oddrank node --serve` over HTTP: who gets an answer and who does not, reports that are made again, kept and
compared, many clients and such that stall, the end of the target, and the end of oddrank."""

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts

DEADLINE_S = 120
CLIENTS = 100  # fewer than the server's 128 connections
STALLED = 40
READER = """
import sys
def first_place():
    sys.stdin.readline()
def second_place():
    sys.stdin.readline()
first_place()
print("on", flush=True)
second_place()
"""
MARKER = {"X-Oddrank": "1"}


def where(page):
    """Returns the function in which the report's text shows the target."""
    return re.search(r"waits on a pipe in (\w+)", page)[1]


class Target:
    """A process that waits for a line, and then for another one."""

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, "-c", READER], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self.pid = self.process.pid
        self.wait()

    def wait(self):
        proc_facts.wait_until(lambda: proc_facts.syscall(self.pid) == (proc_facts.READ, 0), "it reads")

    def go_on(self):
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == b"on\n"
        self.wait()

    def end(self):
        self.process.kill()
        self.process.communicate(timeout=DEADLINE_S)


class Server:
    """oddrank as a server; its address is known once it listens."""

    def __init__(self, *words):
        self.oddrank = subprocess.Popen(
            [harness.Options.oddrank, "node", *words], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.url = self.oddrank.stdout.readline().strip()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/([0-9a-f]{32})/", self.url)
        assert found, f"{self.url!r}: {self.oddrank.communicate(timeout=DEADLINE_S)}"
        self.port, self.token = int(found[1]), found[2]

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)

    def ask(self, place, method="GET", headers=None, token=None):
        """Returns the status, the header and the text of the answer to /TOKEN/place."""
        connection = self.connect()
        try:
            connection.request(method, f"/{self.token if token is None else token}/{place}",
                               headers=headers or {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()
        finally:
            connection.close()

    def state(self):
        status, _, text = self.ask("state")
        assert status == 200, text
        return json.loads(text)

    def wait_for(self, what, condition):
        """Returns the first state for which the condition holds."""
        def look():
            state = self.state()
            return state if condition(state) else None
        return proc_facts.wait_until(look, what, DEADLINE_S)

    def wait_for_reports(self, number):
        return self.wait_for(f"{number} reports", lambda state: len(state["reports"]) == number
                             and state["busy"] == "")

    def read_again(self):
        """Asks for another report as soon as that is allowed."""
        self.wait_for("the pause is over", lambda state: state["pause_ms"] == 0)
        return self.ask("read", "POST", MARKER)[0]

    def send(self, number):
        """Sends a signal. Returns the exit status, and what was said on stderr."""
        self.oddrank.send_signal(number)
        _, said = self.oddrank.communicate(timeout=DEADLINE_S)
        return self.oddrank.returncode, said

    def close(self):
        self.oddrank.kill()
        self.oddrank.communicate(timeout=DEADLINE_S)


class ServeTest(unittest.TestCase):
    def start(self, *more):
        self.target = Target()
        self.addCleanup(self.target.end)
        server = Server(str(self.target.pid), "--serve", "--samples", "1", *more)
        self.addCleanup(server.close)
        return server

    def test_the_token_opens_the_page_and_nothing_else_does(self):
        server = self.start()
        state = server.wait_for_reports(1)
        self.assertEqual(state["trouble"], "")
        self.assertEqual(state["about"], f"oddrank: {socket.gethostname()}")
        self.assertEqual([report["id"] for report in state["reports"]], [1])
        self.assertIn("1 process read once", state["reports"][0]["sentence"])
        for place, kind, words in (("", "text/html", "Read again"), ("live.js", "text/javascript", "poll()"),
                                   ("live.css", "text/css", "#frames"),
                                   ("report/1", "text/html", "first_place")):
            with self.subTest(place=place):
                status, header, text = server.ask(place)
                self.assertEqual(status, 200)
                self.assertTrue(header["Content-Type"].startswith(kind), header)
                self.assertIn("default-src 'none'", header["Content-Security-Policy"])
                self.assertEqual(header["Cache-Control"], "no-store")
                self.assertIn(words, text)
        wrong = ("1" if server.token[0] == "0" else "0") + server.token[1:]
        for token in (wrong, "", server.token[:-1], server.token + "0", server.token.upper() + "A"):
            for place in ("", "state", "live.js", "report/1", "read"):
                for method in ("GET", "POST"):
                    status, _, text = server.ask(place, method, MARKER, token)
                    self.assertEqual((status, text), (404, "not found\n"), (token, place, method))
        for place in ("report/2", "report/-1", "report/1/2", "report/99999999999999999999", "../state", "nothing"):
            self.assertEqual(server.ask(place)[0], 404, place)
        connection = server.connect()
        connection.request("GET", "/")
        self.assertEqual(connection.getresponse().status, 404)
        connection.close()
        # With the token the method is what is wrong; without it, nothing is told.
        for method in ("PUT", "DELETE", "OPTIONS"):
            self.assertEqual(server.ask("state", method, MARKER)[0], 405)
            self.assertEqual(server.ask("state", method, MARKER, wrong)[0], 404)
        for place, method in (("state", "POST"), ("report/1", "POST"), ("read", "GET"), ("compare/1/2", "GET")):
            self.assertEqual(server.ask(place, method, MARKER)[0], 405, place)

    def test_another_site_cannot_make_it_read(self):
        server = self.start()
        server.wait_for_reports(1)
        server.wait_for("the pause is over", lambda state: state["pause_ms"] == 0)
        own = f"127.0.0.1:{server.port}"
        for headers in ({}, {**MARKER, "Origin": "http://evil.example"}, {**MARKER, "Origin": "null"},
                        {**MARKER, "Host": f"evil.example:{server.port}"},
                        {**MARKER, "Sec-Fetch-Site": "cross-site"}, {**MARKER, "Origin": f"https://{own}"}):
            for place in ("read", "compare/1/2"):
                self.assertEqual(server.ask(place, "POST", headers)[0], 403, (place, headers))
        self.assertEqual(server.ask("state", headers={"Host": "evil.example"})[0], 403)
        state = server.state()
        self.assertEqual((state["busy"], len(state["reports"])), ("", 1))
        headers = {**MARKER, "Origin": f"http://{own}", "Sec-Fetch-Site": "same-origin"}
        self.assertEqual(server.ask("read", "POST", headers)[0], 202)
        server.wait_for_reports(2)

    def test_reports_are_kept_and_compared_until_the_target_has_ended(self):
        server = self.start()
        server.wait_for_reports(1)
        if server.state()["pause_ms"] > 1000:
            self.assertEqual(server.ask("read", "POST", MARKER)[0::2], (200, "the last one has just been made\n"))
        self.target.go_on()
        self.assertEqual(server.read_again(), 202)
        state = server.wait_for_reports(2)
        self.assertEqual([report["id"] for report in state["reports"]], [1, 2])
        earlier, later = server.ask("report/1")[2], server.ask("report/2")[2]
        self.assertEqual(where(earlier), "first_place")
        self.assertEqual(where(later), "second_place")
        for place in ("compare/2/1", "compare/1/1", "compare/1/9"):
            self.assertEqual(server.ask(place, "POST", MARKER)[0], 404, place)
        self.assertEqual(server.ask("compare/1/2", "POST", MARKER)[0], 202)
        state = server.wait_for_reports(3)
        self.assertEqual(state["reports"][2]["of"], [1, 2])
        self.assertEqual(where(server.ask("report/3")[2]), "second_place")
        self.target.end()
        self.assertEqual(server.read_again(), 202)
        state = server.wait_for("the trouble", lambda state: state["trouble"])
        self.assertEqual(state["trouble"], f"cannot read pid {self.target.pid}: it does not exist")
        self.assertEqual([report["id"] for report in state["reports"]], [1, 2, 3])
        self.assertTrue(server.ask("report/1")[2] == earlier)  # no diff of whole pages
        self.assertTrue(server.ask("report/2")[2] == later)

    def test_many_clients_at_once_are_answered(self):
        server = self.start()
        server.wait_for_reports(1)
        page = server.ask("report/1")[2]
        gate = threading.Barrier(CLIENTS)
        ends = []

        def client():
            gate.wait(DEADLINE_S)
            try:
                ends.append(server.ask("report/1")[2] == page)
            except (OSError, http.client.HTTPException):
                ends.append(None)  # closed
        threads = [threading.Thread(target=client) for _ in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(DEADLINE_S)
        self.assertEqual(len(ends), CLIENTS)
        self.assertNotIn(False, ends)
        self.assertIn(True, ends)
        self.assertTrue(server.ask("report/1")[2] == page)

    def test_clients_that_stall_keep_nobody_out(self):
        server = self.start()
        server.wait_for_reports(1)
        request = f"GET /{server.token}/report/1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
        # More than the server's 128 connections: some of those that send nothing are closed for others.
        for begins in [request] * STALLED + [b""] * 100 + [request[:9]] * STALLED:
            client = socket.create_connection(("127.0.0.1", server.port), DEADLINE_S)
            self.addCleanup(client.close)
            client.sendall(begins)
        for _ in range(10):
            self.assertEqual(server.ask("report/1")[0], 200)
        self.assertEqual(len(server.state()["reports"]), 1)

    def test_what_is_no_request_does_not_end_it(self):
        server = self.start()
        server.wait_for_reports(1)
        for text in (b"\0" * 100, b"GET\r\n\r\n", b"\r\n", b"x" * 100000,
                     b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 10000,
                     b"POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
                     b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n"):
            with socket.create_connection(("127.0.0.1", server.port), DEADLINE_S) as client:
                answer = b""
                with contextlib.suppress(OSError):  # closed before it had all
                    client.sendall(text)
                    client.shutdown(socket.SHUT_WR)
                    answer = client.recv(1000)
                self.assertTrue(answer == b"" or answer.startswith(b"HTTP/1.1 404 "), (text[:50], answer))
        self.assertEqual(len(server.state()["reports"]), 1)

    def test_signals_end_it_and_leave_no_process(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(signal=number):
                server = self.start()
                server.wait_for_reports(1)
                status, said = server.send(number)
                self.assertEqual(status, 0, said)
                self.assertIn(f"ssh -L {server.port}:127.0.0.1:{server.port} ", said)
                self.assertNotIn("warning", said)
                self.assertFalse(proc_facts.has_ended(self.target.pid))
                self.target.end()

    def test_a_signal_ends_a_reading_too(self):
        self.target = Target()
        self.addCleanup(self.target.end)
        # A second sample is due in a minute.
        server = Server(str(self.target.pid), "--serve", "--samples", "2", "--interval", "60s")
        self.addCleanup(server.close)
        pid = server.oddrank.pid
        child = proc_facts.wait_until(lambda: proc_facts.children(pid), "it reads")[0]
        self.assertEqual(server.wait_for("it reads", lambda state: state["busy"] == "reading")["reports"], [])
        status, said = server.send(signal.SIGTERM)
        self.assertEqual(status, 0, said)
        proc_facts.wait_until(lambda: proc_facts.has_ended(child), "the reading has ended")

    def test_it_renews_itself_on_request(self):
        server = self.start("--watch=0")
        state = server.wait_for("a report", lambda state: state["reports"] and state["busy"] == "")
        self.assertLessEqual(state["renewal_ms"], 5000)
        server.wait_for("another one", lambda state: len(state["reports"]) >= 2)

    def test_files_are_written_each_time(self):
        with harness.scratch() as folder:
            path = os.path.join(folder, "report.json")
            server = self.start("--json", path)
            server.wait_for_reports(1)
            with open(path, encoding="utf-8") as file:
                self.assertIn("first_place", file.read())
            server.close()

    def test_what_it_cannot_do_is_said(self):
        pid = str(os.getpid())
        taken = self.enterContext(socket.create_server(("127.0.0.1", 0))).getsockname()[1]
        for words, status, said in (
                (["--serve", "--each"], 2, ["--serve", "--each"]),
                ([pid, "--serve", "--json", "-"], 2, ["--serve", "no other output fits"]),
                ([pid, "--serve=nowhere"], 2, ["nowhere is not an address"]),
                ([pid, f"--serve={taken}"], 2, [f"127.0.0.1:{taken}", "in use", "--serve alone"]),
                (["--select", "nosuchjob", "--serve"], 4, [])):
            with self.subTest(words=words):
                run = harness.Run(harness.run_here([harness.Options.oddrank, "node", *words]))
                self.assertEqual(run.status, status, run)
                for word in said:
                    self.assertIn(word, run.err)


if __name__ == "__main__":
    harness.main()
