#!/usr/bin/env python3
"""Tests what docs/automation.md promises to programs, and slurm/scripts/post-alert.sh, with reports of
recorded jobs.

    automation_test.py --oddrank PATH
"""

import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
for folder in ("support", "jobs"):
    sys.path.insert(0, f"{ROOT}/tests/{folder}")
# pylint: disable=wrong-import-position
import archive
import harness

JOBS = f"{ROOT}/tests/golden/jobs.tar"
NOBODY = ("unknown", "healthy", "below_host")
EACH = 12


class Alertmanager(http.server.BaseHTTPRequestHandler):
    said = []

    def do_POST(self):  # pylint: disable=invalid-name
        body = self.rfile.read(int(self.headers["Content-Length"]))
        Alertmanager.said.append((self.path, json.loads(body)))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        pass


def document():
    with open(f"{ROOT}/docs/automation.md", encoding="utf-8") as file:
        return file.read()


class Automation(unittest.TestCase):
    def reports(self):
        with archive.opened(JOBS) as folder:
            names = sorted(name for name in os.listdir(folder) if name.endswith(".capture"))
            for name in names[::EACH]:
                path = f"{folder}/{name}"
                line = harness.Run(harness.run_here([harness.Options.oddrank, "report", path, "-q"]))
                whole = harness.Run(harness.run_here(
                    [harness.Options.oddrank, "report", path, "--json", "-"]))
                yield path, line, whole

    def test_one_line_a_status_and_a_report_that_agree(self):
        for path, line, whole in self.reports():
            verdict = whole.json()["verdict"]
            with self.subTest(path=path, verdict=verdict["summary"]):
                self.assertEqual(line.status, whole.status)
                self.assertIn(whole.status, (0, 3))
                self.assertEqual((line.err, whole.err), ("", ""))
                sure = "" if verdict["confidence"] in ("certain", "none") else \
                    f" ({verdict['confidence']})"
                self.assertEqual(line.out, f"{verdict['kind']}{sure}: {verdict['summary']}\n")
                if verdict["kind"] in NOBODY:
                    self.assertEqual(verdict["culprits"], [])

    @harness.only_with(shutil.which("curl"))
    def test_an_alert(self):
        with harness.scratch() as folder, \
                http.server.HTTPServer(("127.0.0.1", 0), Alertmanager) as server:
            path = f"{folder}/report.json"
            report = next(whole.json() for _, _, whole in self.reports()
                          if whole.json()["verdict"]["culprits"])
            report["job"].update(id="4711", user="eve")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(report, file)
            server.timeout = 120
            thread = threading.Thread(target=server.handle_request, daemon=True)
            thread.start()
            env = {**os.environ, "ODDRANK_JSON": path, "no_proxy": "127.0.0.1",
                   "ODDRANK_ALERTMANAGER": f"http://127.0.0.1:{server.server_port}"}
            subprocess.run([f"{ROOT}/slurm/scripts/post-alert.sh"], env=env, check=True, timeout=120)
            thread.join(120)
        where, (alert,) = Alertmanager.said[0]
        self.assertEqual(where, "/api/v2/alerts")
        self.assertEqual(alert["labels"],
                         {"alertname": "TrainingJobHangs", "job_id": "4711", "user": "eve"})
        self.assertEqual(alert["annotations"]["summary"], report["verdict"]["summary"])
        self.assertEqual(alert["annotations"]["rank"],
                         str(report["verdict"]["culprits"][0]["rank"]))
        self.assertRegex(alert["endsAt"], r"^\d{4}-\d\d-\d\dT.*\+00:00$")

    def test_the_tools_description_names_what_a_report_has(self):
        tool = json.loads(re.search(r"```json\n(.*?)```", document(), re.DOTALL).group(1))
        with open(f"{ROOT}/docs/report.schema.json", encoding="utf-8") as file:
            parts = json.load(file)["properties"]
        named = re.findall(r"\b(verdict|coverage)\.(\w+)", tool["description"])
        self.assertGreater(len(named), 4)
        for part, field in named:
            self.assertIn(field, parts[part]["properties"])


if __name__ == "__main__":
    harness.main()
