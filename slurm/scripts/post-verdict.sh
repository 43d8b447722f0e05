#!/bin/sh
# Sends the verdict's sentence from a JSON report to a chat, a pager or a mailbox. For use by
# `oddrank watch --on-stall`, which puts the report's path into ODDRANK_JSON, or by hand:
#
#   post-verdict.sh report.json
#
# ODDRANK_WEBHOOK: a URL that takes a message by POST. ODDRANK_MESSAGE: the form of the message:
#   text    {"text": "..."}, for Slack, Mattermost, a pager's gateway (default)
#   slack   Slack's blocks: the verdict, how many ranks were read, what to do next
#   teams   the same as an adaptive card, for a workflow of Teams
# ODDRANK_MAIL: an address for sendmail. If there is neither a URL nor an address, it prints to stdout. A
# verdict of `healthy` is not sent.
set -eu
report=${1:-${ODDRANK_JSON:?no report given}}
payload=$(python3 - "$report" "${ODDRANK_MESSAGE:-text}" <<'PY'
import json, sys
report = json.load(open(sys.argv[1], encoding="utf-8"))
verdict, coverage, job = report["verdict"], report["coverage"], report["job"]
name = "job " + job["id"] if job["id"] else "oddrank"
title = "%s: %s (%s)" % (name, verdict["kind"], verdict["confidence"])
read = "%d of %d ranks read" % (coverage["read"], coverage["expected"])
text = "%s: %s (%s) %s" % (name, verdict["summary"], verdict["kind"], read)
parts = [verdict["summary"], read, *("Next: " + advice for advice in verdict["advice"][:5])]

def slack():
    # Names come from the job: as plain text they can hold no links and no mentions.
    def plain(words, most):
        return {"type": "plain_text", "text": words[:most], "emoji": False}
    safe = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return {"text": safe, "blocks": [
        {"type": "header", "text": plain(title, 150)},
        *({"type": "section", "text": plain(part, 3000)} for part in parts)]}

def teams():
    # A TextRun has no markup, for the same reason.
    def block(words, **style):
        return {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": words[:3000], **style}]}
    return {"type": "message", "attachments": [{
        "contentType": "application/vnd.microsoft.card.adaptive", "content": {
            "type": "AdaptiveCard", "version": "1.4",
            "body": [block(title, weight="Bolder", size="Large"), *map(block, parts)]}}]}

forms = {"text": lambda: {"text": text}, "slack": slack, "teams": teams}
if sys.argv[2] not in forms:
    sys.exit("post-verdict.sh: ODDRANK_MESSAGE must be one of %s" % ", ".join(forms))
if verdict["kind"] != "healthy":
    print(json.dumps(forms[sys.argv[2]]()))
PY
)
[ -n "$payload" ] || exit 0
if [ -n "${ODDRANK_WEBHOOK:-}" ]; then
  printf '%s' "$payload" |
    curl -fsS --max-time 20 -H 'Content-Type: application/json' --data-binary @- "$ODDRANK_WEBHOOK"
elif [ -n "${ODDRANK_MAIL:-}" ]; then
  printf 'To: %s\nSubject: oddrank\n\n%s\n' "$ODDRANK_MAIL" "$payload" | sendmail -t
else
  printf '%s\n' "$payload"
fi
