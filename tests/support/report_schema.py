"""Compares JSON reports with docs/report.schema.json, of which each field of a report must be part."""

import copy
import functools
import json
import os

try:
    import jsonschema
except ImportError:
    jsonschema = None

PATH = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
                    "docs", "report.schema.json")
MOST_BYTES = 500_000  # of a report; checking takes a second for a megabyte
MOST_COMPLAINTS = 5
PARTS = ("coverage", "verdict", "ranks")


def needs_jsonschema():
    return None if jsonschema else "no Python module jsonschema (scripts/setup --ci installs it)"


def closed(schema):
    """Returns the schema without room for unknown fields. The published one has it: fields may be
    added."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    result = {key: closed(value) for key, value in schema.items()}
    if isinstance(result.get("properties"), dict):
        result.setdefault("additionalProperties", False)
    return result


@functools.cache
def validator():
    with open(PATH, encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(closed(copy.deepcopy(schema)))


def complaints(report):
    """Returns what in the report is not as the schema says, as lines."""
    found = []
    for error in validator().iter_errors(report):
        place = "/".join(map(str, error.absolute_path))
        found.append(f"{place}: {error.message[:300]}")
        if len(found) == MOST_COMPLAINTS:
            break
    return found


def check(text):
    """Fails if the text is a report that differs from the schema. Leaves out large ones."""
    report = json.loads(text)
    if jsonschema and len(text) <= MOST_BYTES and isinstance(report, dict) \
            and all(part in report for part in PARTS):
        found = complaints(report)
        if found:
            raise AssertionError("not as docs/report.schema.json says:\n" + "\n".join(found))
    return report
