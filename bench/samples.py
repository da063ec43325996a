"""Samples of a measurement: from a program of the benchmark, and what a figure says of them."""
import json
import statistics
import subprocess


def percentile(samples, share):
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def summary(samples):
    return {"n": len(samples), "min": min(samples), "p50": statistics.median(samples), "p99": percentile(samples, 0.99)}


def program_output(argv, **kwargs):
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, timeout=600, **kwargs)
    if done.returncode != 0:
        raise SystemExit(f"bench: {argv[0]} failed with {done.returncode}")
    return json.loads(done.stdout)
