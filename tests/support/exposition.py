"""Prometheus text format 0.0.4, read strictly: what a scraper would drop, or a person misread, is an error here."""

import math
import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
SAMPLE = re.compile(rf'({NAME})(?:\{{(.*)\}})? (\S+)')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)')
KINDS = {"counter", "gauge", "histogram"}


class Family:
    def __init__(self, name, help_text):
        self.name, self.help, self.kind, self.samples = name, help_text, None, {}

    def value(self, suffix="", **labels):
        return self.samples.get((self.name + suffix, frozenset(labels.items())), 0.0)


def labels_of(text):
    found, at = {}, 0
    while text and at < len(text):
        match = LABEL.match(text, at)
        assert match, f"labels: {text!r}"
        assert match[1] not in found, f"a label is there twice: {text!r}"
        found[match[1]] = match[2]
        at = match.end()
    return found


def parse(text):
    """The families by name."""
    assert text.endswith("\n"), "the last line has no end"
    families, current = {}, None
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            name, help_text = line[7:].split(" ", 1)
            assert name not in families and re.fullmatch(NAME, name) and help_text, line
            current = families[name] = Family(name, help_text)
        elif line.startswith("# TYPE "):
            name, kind = line[7:].split(" ")
            assert current and name == current.name and current.kind is None and not current.samples, line
            assert kind in KINDS, line
            current.kind = kind
        else:
            match = SAMPLE.fullmatch(line)
            assert match and current and current.kind, f"no sample: {line!r}"
            key = (match[1], frozenset(labels_of(match[2]).items()))
            suffixes = ("_bucket", "_sum", "_count") if current.kind == "histogram" else ("",)
            assert match[1] in [current.name + suffix for suffix in suffixes], f"{line!r} in {current.name}"
            assert key not in current.samples, f"twice: {line!r}"
            current.samples[key] = float(match[3])
    for family in families.values():
        check(family)
    return families


def check(family):
    assert family.kind and family.samples, f"{family.name} is empty"
    if family.kind == "counter":
        assert family.name.endswith("_total"), family.name
        assert all(value >= 0 for value in family.samples.values()), family.name
    if family.kind != "histogram":
        return
    series = {}
    for (name, labels), value in family.samples.items():
        if name.endswith("_bucket"):
            bound = dict(labels)["le"]
            rest = frozenset((k, v) for k, v in labels if k != "le")
            series.setdefault(rest, []).append((float(bound.replace("+Inf", "inf")), value))
    for rest, buckets in series.items():
        counts = [count for _, count in sorted(buckets)]
        assert sorted(buckets)[-1][0] == math.inf, f"{family.name}: no +Inf"
        assert counts == sorted(counts), f"{family.name}: buckets do not add up"
        assert family.samples[family.name + "_count", rest] == counts[-1], family.name
        assert family.samples[family.name + "_sum", rest] >= 0, family.name
    assert len({tuple(sorted(b for b, _ in buckets)) for buckets in series.values()}) == 1, "bounds differ"
