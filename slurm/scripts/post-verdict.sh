#!/bin/sh
# Sends the verdict's sentence from a JSON report to a chat, a pager or a mailbox. For use by
# `oddrank watch --on-stall`, which puts the report's path into ODDRANK_JSON, or by hand:
#
#   post-verdict.sh report.json
#
# ODDRANK_WEBHOOK: a URL that takes {"text": "..."} by POST (Slack, Mattermost, Teams, a pager's
# gateway). ODDRANK_MAIL: an address for sendmail. If neither is set, it prints to stdout.
set -eu
report=${1:-${ODDRANK_JSON:?no report given}}
payload=$(python3 - "$report" <<'PY'
import json, sys
report = json.load(open(sys.argv[1], encoding="utf-8"))
verdict, coverage, job = report["verdict"], report["coverage"], report["job"]
print(json.dumps({"text": "%s: %s (%s) %d of %d ranks read" % (
    "job " + job["id"] if job["id"] else "oddrank", verdict["summary"], verdict["kind"],
    coverage["read"], coverage["expected"])}))
PY
)
if [ -n "${ODDRANK_WEBHOOK:-}" ]; then
  curl -fsS --max-time 20 -H 'Content-Type: application/json' --data "$payload" "$ODDRANK_WEBHOOK"
elif [ -n "${ODDRANK_MAIL:-}" ]; then
  printf 'To: %s\nSubject: oddrank\n\n%s\n' "$ODDRANK_MAIL" "$payload" | sendmail -t
else
  printf '%s\n' "$payload"
fi
