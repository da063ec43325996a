"""What the engine adds to a driver, how many intents a second reach the disk, what a pool saves, and how fair the queue is."""
import tempfile

from samples import program_output, summary

HEAD = ["| figure | Atoll, p50 | beside it | adds, or ratio | aim | |", "|---|---|---|---|---|---|"]
MOST_ADDED_US = 30
LEAST_INTENTS = 5000
MOST_POOL_HIT_US = 300
MOST_SHARE = 1.2
QUEUED, TENANTS = 10_000, 50


def verdict(met):
    return "met" if met else "**missed**"


def added(figure, ours, bare):
    ours, bare = summary(ours)["p50"], summary(bare)["p50"]
    return f"| {figure} | {ours:.1f} µs | {bare:.1f} µs, the bare driver | **+{ours - bare:.1f} µs** ({ours / bare:.1f}×) | " \
           f"≤ {MOST_ADDED_US} µs | {verdict(ours - bare <= MOST_ADDED_US)} |"


def pool_hit(hits, misses):
    hit, miss = summary(hits), summary(misses)
    return f"| a sandbox from a pool, at the engine; p99 {hit['p99']:.0f} µs | {hit['p50']:.1f} µs | " \
           f"{miss['p50']:.1f} µs, a request that the pool does not fit | **{hit['p50'] / miss['p50']:.1f}×** | " \
           f"≤ {MOST_POOL_HIT_US} µs | {verdict(hit['p50'] <= MOST_POOL_HIT_US)} |"


def fairness(load):
    """It is the worst of ten looks at one schedule, so there is no median to tell."""
    served = f"{load['served']:,} queued creates of {load['tenants']} tenants, half of them one tenant's"
    return f"| {served} | {load['serve_us']:.1f} µs from turn to turn | {load['enter_ns'] / 1000:.2f} µs for who finds room | " \
           f"most over least served **{load['share_max_min']:.2f}×** | ≤ {MOST_SHARE}× | {verdict(load['share_max_min'] <= MOST_SHARE)} |"


def rows(raw):
    many, one, flushes = (summary(raw[name])["p50"] for name in ("grouped_intents_per_s", "single_intents_per_s", "flushes_per_s"))
    return [
        added("run: routed, created, executed (a short run is not journalled)", raw["engine_run_us"], raw["bare_run_us"]),
        added("create that is kept: routed among 8 drivers, journalled twice", raw["engine_create_us"], raw["bare_create_us"]),
        added("the same, strategy `fastest`", raw["engine_create_fastest_us"], raw["bare_create_us"]),
        pool_hit(raw["pool_hit_us"], raw["pool_miss_us"]),
        f"| flushed intents, 256 clients, group commit | {many:,.0f}/s | {one:,.0f}/s one by one; the disk flushes {flushes:,.0f}/s | "
        f"**{many / one:.1f}×** | ≥ {LEAST_INTENTS:,}/s | {verdict(many >= LEAST_INTENTS)} |",
        fairness(raw["admission"]),
    ]


def measure(context, out):
    """What is kept, and the lines of the table. Beside the results, because /tmp need not be a disk."""
    with tempfile.TemporaryDirectory(dir=out, prefix="routing-") as directory:
        raw = program_output([context.programs / "bench_routing", directory, str(context.count)])
        raw |= program_output([context.programs / "bench_pool_hit", str(context.count), directory])
    raw["admission"] = program_output([context.programs / "bench_admission_load", str(QUEUED), str(TENANTS)])
    lines = rows(raw)
    for line in lines:
        print(line, flush=True)
    return raw, [*HEAD, *lines]
