#!/bin/sh
# Tells Prometheus' Alertmanager about a hang, from a JSON report. For use by
# `oddrank watch --on-stall`, which puts the report's path into ODDRANK_JSON, or by hand:
#
#   post-alert.sh report.json
#
# ODDRANK_ALERTMANAGER: the URL of Alertmanager, as http://alerts:9093. The alert ends by itself after
# ODDRANK_ALERT_MINUTES (30): call it again for as long as the job hangs. A verdict of `healthy` ends it.
set -eu
report=${1:-${ODDRANK_JSON:?no report given}}
url=${ODDRANK_ALERTMANAGER:?no Alertmanager given}
python3 - "$report" "${ODDRANK_ALERT_MINUTES:-30}" <<'PY' |
import datetime, json, sys
report = json.load(open(sys.argv[1], encoding="utf-8"))
verdict, job = report["verdict"], report["job"]
first = (verdict["culprits"] or [{}])[0]
now = datetime.datetime.now(datetime.timezone.utc)
minutes = 0 if verdict["kind"] == "healthy" else float(sys.argv[2])
# Labels tell alerts apart: only what stays the same while one job hangs.
labels = {"alertname": "TrainingJobHangs", "job_id": job["id"] or "", "user": job["user"] or ""}
print(json.dumps([{
    "labels": {name: value for name, value in labels.items() if value},
    "annotations": {
        "summary": verdict["summary"], "kind": verdict["kind"], "confidence": verdict["confidence"],
        "rank": str(first.get("rank", "")), "host": first.get("host") or "",
        "next": "; ".join(verdict["advice"])},
    "endsAt": (now + datetime.timedelta(minutes=minutes)).isoformat()}]))
PY
  curl -fsS --max-time 20 -H 'Content-Type: application/json' --data @- "$url/api/v2/alerts"
