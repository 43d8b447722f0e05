"""Compares verdicts on generated jobs with the truth about them."""

import collections

RIGHT, WRONG, UNKNOWN, KIND = "right", "wrong", "unknown", "kind"


def named(verdict, field="rank"):
    return sorted({row[field] for row in verdict["culprits"] if row.get(field) is not None})


def all_named(verdict, field="rank"):
    """Returns the ranks of all stories: of two independent ones, either may come first."""
    ranks = set(named(verdict, field))
    return sorted(ranks.union(*(named(story, field) for story in verdict.get("also", []))))


def field_of(truth):
    """Returns by what the truth names its culprits: processes with roles have no ranks."""
    return "pid" if truth.get("by_pid") else "rank"


def judge(truth, verdict):
    """Returns RIGHT; KIND if the right ranks are named for another reason; UNKNOWN; or WRONG:
    another rank is named, or none although one is to blame (`healthy`, `below_host`)."""
    ranks = named(verdict, field_of(truth))
    if verdict["kind"] == "slow" and "slow" in truth["kinds"] and [] in truth["culprits"]:
        return RIGHT  # it says for whom the others wait, and accuses nobody
    if verdict["kind"] == "unknown" and not ranks:
        return RIGHT if truth["unknown_is_right"] else UNKNOWN
    every = all_named(verdict, field_of(truth))
    if ranks not in truth["culprits"] and every not in truth["culprits"]:
        return WRONG
    return RIGHT if verdict["kind"] in truth["kinds"] else KIND


def innocents(truth, verdict):
    """Returns the named ranks that no acceptable answer names: they wait for other ranks of the
    job."""
    guilty = {rank for culprits in truth["culprits"] for rank in culprits}
    return sorted(set(named(verdict, field_of(truth))) - guilty)


def innocents_beside(truth, verdict):
    """Returns the ranks that only the other stories of a verdict name, and no acceptable answer."""
    guilty = {rank for culprits in truth["culprits"] for rank in culprits}
    field = field_of(truth)
    return sorted(set(all_named(verdict, field)) - set(named(verdict, field)) - guilty)


class Score:
    def __init__(self):
        self.rows = []  # (name, truth, verdict, judgement)

    def add(self, name, truth, verdict):
        self.rows.append((name, truth, verdict, judge(truth, verdict)))
        return self.rows[-1][3]

    def count(self, judgement, rows=None):
        return sum(row[3] == judgement for row in (self.rows if rows is None else rows))

    def share(self, judgement):
        return self.count(judgement) / max(len(self.rows), 1)

    def certain_wrong(self):
        return sum(row[3] == WRONG and row[2]["confidence"] == "certain" for row in self.rows)

    def _line(self, rows):
        return (f"{self.count(RIGHT, rows):4} right {self.count(WRONG, rows):4} wrong "
                f"{self.count(UNKNOWN, rows):4} unknown {self.count(KIND, rows):4} other kind")

    def _table(self, title, keys):
        by_key = collections.defaultdict(list)
        for row in self.rows:
            for key in keys(row[1]):
                by_key[key].append(row)
        lines = [f"\nby {title}"]
        for key, rows in sorted(by_key.items(), key=lambda item: (-self.count(WRONG, item[1]),
                                                                   item[0])):
            lines.append(f"  {key:20} {self._line(rows)}")
        return lines

    def text(self, details=True):
        """Returns the report: each answer that is not right, then tables, then the sum."""
        lines = []
        for name, truth, verdict, judgement in self.rows:
            if judgement != RIGHT and details:
                lines += [f"{judgement:8} {name} [{truth['fault']}, {truth['ranks']} ranks] "
                          f"{truth['story']}",
                          f"         {verdict['kind']} ({verdict['confidence']}): "
                          f"{verdict['summary']}"]
        lines += self._table("fault", lambda truth: [truth["fault"]])
        lines += self._table("feature", lambda truth: truth["features"])
        total = max(len(self.rows), 1)
        lines.append(f"\n{len(self.rows)} jobs: " + ", ".join(
            f"{self.count(judgement)} {words} ({self.count(judgement) / total:.1%})"
            for judgement, words in ((RIGHT, "right"), (WRONG, "wrong"), (UNKNOWN, "unknown"),
                                     (KIND, "right ranks of another kind")))
            + f"; {self.certain_wrong()} wrong ones are certain; innocents named in "
            + str(sum(bool(innocents(row[1], row[2])) for row in self.rows)))
        return "\n".join(lines)
