#!/bin/sh
# Pages whoever is on call by PagerDuty (Events API v2), from a JSON report. For use by
# `oddrank watch --on-stall`, which puts the report's path into ODDRANK_JSON, or by hand:
#
#   post-page.sh report.json
#
# ODDRANK_PAGERDUTY_KEY: the key of the integration. ODDRANK_PAGERDUTY: another URL than PagerDuty's own.
# All reports of one job are one incident. A verdict of `healthy` resolves it. What is certain is
# critical, what is likely an error, the rest a warning.
set -eu
report=${1:-${ODDRANK_JSON:?no report given}}
: "${ODDRANK_PAGERDUTY_KEY:?no key given}"
event=$(python3 - "$report" <<'PY'
import json, os, sys
report = json.load(open(sys.argv[1], encoding="utf-8"))
verdict, coverage, job = report["verdict"], report["coverage"], report["job"]
first = (verdict["culprits"] or [{}])[0]
hosts = sorted(job["hosts"])
name = job["id"] or ",".join(hosts) or "job"
event = {"routing_key": os.environ["ODDRANK_PAGERDUTY_KEY"], "dedup_key": ("oddrank " + name)[:255],
         "event_action": "resolve" if verdict["kind"] == "healthy" else "trigger"}
if event["event_action"] == "trigger":
    details = {"confidence": verdict["confidence"], "user": job["user"], "rank": first.get("rank"),
               "pid": first.get("pid"), "ranks_read": "%d of %d" % (coverage["read"], coverage["expected"]),
               "next": "; ".join(verdict["advice"])}
    event["payload"] = {
        "summary": ("%s: %s" % (verdict["kind"], verdict["summary"]))[:1024],
        "source": first.get("host") or (hosts or ["oddrank"])[0],
        "severity": {"certain": "critical", "likely": "error"}.get(verdict["confidence"], "warning"),
        "component": "job " + name, "class": verdict["kind"],
        "custom_details": {key: value for key, value in details.items() if value not in (None, "")}}
print(json.dumps(event))
PY
)
printf '%s' "$event" |
  curl -fsS --max-time 20 -H 'Content-Type: application/json' --data-binary @- \
    "${ODDRANK_PAGERDUTY:-https://events.pagerduty.com/v2/enqueue}"
