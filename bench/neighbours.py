"""What a sandbox feels of a bad neighbour: one native sandbox runs `true` again and again, alone and beside another.

Rounds alternate, so that a machine that gets slower by and by does so for both. In every other round a second native
sandbox is made for a bomb (bomb.cc), which has reached its limit before the round begins, and is destroyed after it. Its
first second is counted apart: so long Atoll may take to see what it is and to put the brake on.
"""
import json
import statistics
import time

from samples import program_output, summary

ROUNDS = 10
# Longer than the other figures: a p99 needs many.
SERIES = 4
# Small enough that a bomb meets its limit many times in a round.
MEMORY_MB = 256
DISK_MB = 256
# So long at most a round takes, however slow its execs are.
ROUND_SECONDS = 12
ONSET_SECONDS = 1
# A bomb that nobody ends any more ends by itself.
BOMB_SECONDS = 60

# name: what the neighbour does, what it may use, the aim for the p99.
NEIGHBOURS = {
    "fork": ("forks without end, at its limit of 1,024 processes", {}, 1.2),
    "memory": (f"is killed for its memory ({MEMORY_MB} MiB) again and again", {"memory_mb": MEMORY_MB}, 1.2),
    "cpu": ("spins on every processor", {}, None),
    "disk": (f"fills its disk ({DISK_MB} MiB), syncs, deletes, again and again", {"disk_mb": DISK_MB}, None),
}


class Bomb:
    """Goes off on entry, and is gone with its sandbox on exit."""

    def __init__(self, context, kind):
        self.daemon, self.kind = context.daemon, kind
        self.program = (context.programs / "bench_bomb").read_bytes()

    def __enter__(self):
        self.box = self.daemon.create("native", ttl_s=BOMB_SECONDS, resources=NEIGHBOURS[self.kind][1])
        self.daemon.call("PUT", f"/v1/sandboxes/{self.box}/files?path=bomb&mode=0755", self.program)
        # The command goes on when nobody listens any more.
        with self.daemon.open("POST", f"/v1/sandboxes/{self.box}/exec", {"argv": ["./bomb", self.kind]},
                              {"Accept": "application/x-ndjson"}) as events:
            for line in events:
                event = json.loads(line)
                if event["type"] == "stdout":
                    return self
                if event["type"] != "start":
                    raise SystemExit(f"bench: the {self.kind} bomb does not go off: {event}")
        raise SystemExit(f"bench: the {self.kind} bomb said nothing")

    def __exit__(self, *problem):
        self.daemon.call("DELETE", f"/v1/sandboxes/{self.box}")


def measure(context, kind):
    """Samples of `true` beside the neighbour and alone, over the daemon's socket; and of a bare spawn at the same time.

    A list for each round."""
    victim = context.daemon.create("native")
    series = {f"{bare}{name}_us": [] for bare in ("", "bare_") for name in ("alone", "onset", "beside")}

    def run(name, seconds=ROUND_SECONDS):
        raw = program_output([context.programs / "bench_http_exec", context.daemon.state / "atoll.sock", victim,
                              str(max(1, context.count * SERIES // ROUNDS)), str(seconds)])
        series[f"{name}_us"].append(raw["http_exec_us"])
        series[f"bare_{name}_us"].append(raw["posix_spawn_us"])

    for _ in range(ROUNDS):
        run("alone")
        with Bomb(context, kind):
            went_off = time.monotonic()
            while time.monotonic() < went_off + ONSET_SECONDS:
                run("onset", ONSET_SECONDS)
            run("beside")
    context.daemon.call("DELETE", f"/v1/sandboxes/{victim}")
    return series


def row(kind, series):
    """A line of the table in SPECIFICATION.md."""
    what, _, aim = NEIGHBOURS[kind]

    def of_rounds(name, figure):
        return statistics.median(summary(samples)[figure] for samples in series[name])

    beside, alone = ({figure: of_rounds(name, figure) for figure in ("p50", "p99")} for name in ("beside_us", "alone_us"))
    bare = of_rounds("bare_beside_us", "p99") / of_rounds("bare_alone_us", "p99")
    ratio = beside["p99"] / alone["p99"]
    verdict = "" if aim is None else "met" if ratio <= aim else "**missed**"
    onset = of_rounds("onset_us", "p99") / alone["p99"]
    return f"| {what} | {beside['p50']:,.0f} µs | {alone['p50']:,.0f} µs | {beside['p99']:,.0f} µs | " \
           f"{alone['p99']:,.0f} µs | **{ratio:.2f}×** | {f'≤ {aim}×' if aim else '–'} | {verdict} | {bare:.2f}× | " \
           f"{onset:.2f}× |"


HEAD = ["| the neighbour | beside it, p50 | alone, p50 | beside it, p99 | alone, p99 | ratio of p99 | aim | | a bare spawn's | "
        "in its first second |",
        "|---|---|---|---|---|---|---|---|---|---|"]
