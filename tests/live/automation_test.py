#!/usr/bin/env python3
"""Tests what docs/automation.md promises to programs, and the scripts of slurm/scripts that post a verdict, with
reports of recorded jobs and a server in the place of each service.

    automation_test.py --oddrank PATH
"""

import copy
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
import report_schema

SCRIPTS = f"{ROOT}/slurm/scripts"
JOBS = f"{ROOT}/tests/golden/jobs.tar"
NOBODY = ("unknown", "healthy", "below_host")
EACH = 12




def text(most, **more):
    return {"type": "string", "minLength": 1, "maxLength": most, **more}


def record(**properties):
    """The schema of an object with all of these, and with nothing else."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


# What the services document of what they take: fields, values and limits.
RESOLVE = {"routing_key": text(32), "event_action": {"const": "resolve"}, "dedup_key": text(255)}
TRIGGER = {**RESOLVE, "event_action": {"const": "trigger"}, "payload": record(
    summary=text(1024), source=text(1024), severity={"enum": ["critical", "error", "warning", "info"]},
    component=text(1024), **{"class": text(1024)}, custom_details={"type": "object"})}


def plain(most):
    return record(type={"const": "plain_text"}, text=text(most), emoji={"const": False})


SLACK = record(text=text(40000, pattern="^[^<>]+$"), blocks={
    "type": "array", "minItems": 3, "maxItems": 50, "prefixItems": [record(type={"const": "header"}, text=plain(150))],
    "items": record(type={"const": "section"}, text=plain(3000))})
RUN = {"type": "object", "required": ["type", "text"], "properties": {"type": {"const": "TextRun"}, "text": text(3000)}}
CARD = record(type={"const": "AdaptiveCard"}, version={"const": "1.4"}, body={
    "type": "array", "minItems": 3,
    "items": record(type={"const": "RichTextBlock"}, inlines={"type": "array", "minItems": 1, "items": RUN})})
TEAMS = record(type={"const": "message"}, attachments={"type": "array", "minItems": 1, "items": record(
    contentType={"const": "application/vnd.microsoft.card.adaptive"}, content=CARD)})
TEXT = record(text=text(40000))
PAGERDUTY_KEY = "0123456789abcdef0123456789abcdef"


class Service(http.server.BaseHTTPRequestHandler):
    def do_POST(self):  # pylint: disable=invalid-name
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.said.append((self.path, json.loads(body)))
        self.send_response(202)
        self.end_headers()

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        pass


def document():
    with open(f"{ROOT}/docs/automation.md", encoding="utf-8") as file:
        return file.read()


class Automation(unittest.TestCase):
    recorded = {}  # named somebody or not -> report

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

    def report(self, named=True, **verdict):
        """Returns a recorded job's report that names a culprit, or nobody."""
        if named not in self.recorded:
            self.recorded[named] = next(whole.json() for _, _, whole in self.reports()
                                        if bool(whole.json()["verdict"]["culprits"]) == named)
        report = copy.deepcopy(self.recorded[named])
        report["job"].update(id="4711", user="eve")
        report["verdict"].update(verdict)
        return report

    @staticmethod
    def fits(schema, body):
        if report_schema.jsonschema:
            report_schema.jsonschema.Draft202012Validator(schema).validate(body)

    def posted(self, script, report, **variables):
        """Returns the paths and bodies that a script of slurm/scripts posts; URL in a variable is the server's."""
        with harness.scratch() as folder, http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
            server.said = []
            threading.Thread(target=server.serve_forever, daemon=True).start()
            with open(f"{folder}/report.json", "w", encoding="utf-8") as file:
                json.dump(report, file)
            url = f"http://127.0.0.1:{server.server_port}"
            subprocess.run([f"{SCRIPTS}/{script}"], check=True, timeout=120,
                           env={**os.environ, "ODDRANK_JSON": file.name, "no_proxy": "127.0.0.1",
                                **{name: value.replace("URL", url) for name, value in variables.items()}})
            server.shutdown()
        return server.said

    @harness.only_with(shutil.which("curl"))
    def test_an_alert(self):
        report = self.report()
        (where, (alert,)), = self.posted("post-alert.sh", report, ODDRANK_ALERTMANAGER="URL")
        self.assertEqual(where, "/api/v2/alerts")
        self.assertEqual(alert["labels"],
                         {"alertname": "TrainingJobHangs", "job_id": "4711", "user": "eve"})
        self.assertEqual(alert["annotations"]["summary"], report["verdict"]["summary"])
        self.assertEqual(alert["annotations"]["rank"],
                         str(report["verdict"]["culprits"][0]["rank"]))
        self.assertRegex(alert["endsAt"], r"^\d{4}-\d\d-\d\dT.*\+00:00$")

    def page(self, report):
        (where, event), = self.posted("post-page.sh", report, ODDRANK_PAGERDUTY="URL/v2/enqueue",
                                      ODDRANK_PAGERDUTY_KEY=PAGERDUTY_KEY)
        self.assertEqual((where, event["routing_key"], event["dedup_key"]),
                         ("/v2/enqueue", PAGERDUTY_KEY, "oddrank 4711"))
        return event

    @harness.only_with(shutil.which("curl"))
    def test_a_page(self):
        for confidence, severity in (("certain", "critical"), ("likely", "error"), ("possible", "warning")):
            report = self.report(confidence=confidence)
            event = self.page(report)
            self.fits(record(**TRIGGER), event)
            self.assertEqual(event["payload"]["severity"], severity)
            culprit = report["verdict"]["culprits"][0]
            self.assertEqual(event["payload"]["source"], culprit["host"])
            self.assertEqual(event["payload"]["custom_details"]["rank"], culprit["rank"])
            self.assertIn(report["verdict"]["summary"], event["payload"]["summary"])

    @harness.only_with(shutil.which("curl"))
    def test_a_page_that_names_nobody_a_long_one_and_the_end(self):
        self.fits(record(**TRIGGER), self.page(self.report(named=False, kind="unknown")))
        self.fits(record(**TRIGGER), self.page(self.report(summary="x" * 5000)))
        self.fits(record(**RESOLVE), self.page(self.report(named=False, kind="healthy")))

    @harness.only_with(shutil.which("curl"))
    def test_messages_to_a_chat(self):
        report = self.report()
        hostile = self.report(summary="<!channel> & " + "x" * 5000)
        for form, schema in (("text", TEXT), ("slack", SLACK), ("teams", TEAMS)):
            def posted(report, form=form):
                return self.posted("post-verdict.sh", report, ODDRANK_WEBHOOK="URL/hook", ODDRANK_MESSAGE=form)
            with self.subTest(form=form):
                (where, body), = posted(report)
                self.assertEqual(where, "/hook")
                self.fits(schema, body)
                self.assertIn(report["verdict"]["summary"], json.dumps(body, ensure_ascii=False))
                self.fits(schema, posted(hostile)[0][1])
                self.assertEqual(posted(self.report(named=False, kind="healthy")), [])

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
