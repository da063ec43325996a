"""The native sandbox: what a run, a create and a command cost beside a bare process and beside other people's sandboxes.

Latencies are taken in bursts with pauses, in which what was taken from the parked sandboxes is made again; hits and misses
are told apart, and what a sandbox costs off the path is measured by itself.
"""
import concurrent.futures
import contextlib
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))

import peers  # noqa: E402
from memory_group import MemoryGroup  # noqa: E402
from samples import program_output, summary  # noqa: E402

HEAD = ["| what | Atoll, p50 | p99 | beside | its p50 | ratio | aim | |", "|---|---|---|---|---|---|---|---|"]
PEERS_HEAD = ["| sandbox | `true`, p50 | p99 | × bare | `python3 -c 'print(1)'`, p50 | × bare | it does not |",
              "|---|---|---|---|---|---|---|"]
BURST, PAUSE_MS = 15, 300
MOST_PARKED = 64  # of a kind, by a daemon that is told nothing else
FIRST_RUN = "one-shot `true`, API over a Unix socket"
CROWD = 2_500  # unless --crowd says how many
MOST_CROWD = 10_000  # a daemon serves no more
# Of each of a crowd, of daemon and launcher together; and for how long it lives, however slowly it is made.
DESCRIPTORS, CROWD_TTL_S = 8, 24 * 3600
# What is left of the machine's memory when a crowd grows no further.
LEAST_MEMORY = 1 << 30
PAUSED = 60
PYTHON = ["/usr/bin/python3", "-c", "print(1)"]
CLIENTS = [1, 2, 8, 64]


def micros(value):
    return f"{value / 1000:,.1f} ms" if value >= 10_000 else f"{value / 1000:,.2f} ms"


def row(what, ours, beside, theirs, aim, bound=None, is_time=True):
    """A line of the table; `bound` is of the ratio, or of milliseconds where there is nothing to compare with."""
    if theirs is not None:
        ratio = ours["p50"] / theirs["p50"]
        met = bound is None or (ratio <= bound if is_time else ratio >= bound)
        shown = f"**{ratio:.2f}×**"
    else:
        met = bound is None or ours["p50"] / 1000 <= bound
        shown = ""
    verdict = "" if bound is None else "met" if met else "**missed**"
    return f"| {what} | {micros(ours['p50'])} | {micros(ours['p99'])} | {beside} | " \
           f"{micros(theirs['p50']) if theirs else ''} | {shown} | {aim} | {verdict} |"


def counted(what, taken):
    """With what the figure leaves out: those that found nothing made ahead."""
    missed = taken["miss_us"]
    if not missed:
        return f"{what}; no misses"
    return f"{what}; {len(missed)} of {len(missed) + len(taken['hit_us'])} missed, {micros(summary(missed)['p50'])}"


def in_process(inside, kind):
    """The series of bench_library, as bench_native_path has them."""
    return {name: inside[f"{kind}_{name}"] for name in ("hit_us", "miss_us", "bare_us")}


def with_processor_ms(measured, pause):
    """A series of bench_native_path, which `measured` takes with such pauses, and what each of it takes of the processors: in the
    bursts, where its client waits, without the bare processes there; and in the pauses, without what the machine does anyway."""
    before, start = cpu_seconds(), time.monotonic()
    settle(3)
    anyway = (cpu_seconds() - before) / (time.monotonic() - start)
    taken = measured()
    count, pauses = len(taken["bare_us"]), taken["pause_cpu_us"]
    taken["burst_ms"] = (sum(taken["burst_cpu_us"]) - sum(taken["bare_cpu_us"])) / count / 1000
    taken["pause_ms"] = (sum(pauses) / 1000 - len(pauses) * anyway * pause) / count
    return taken


def cgroup_version():
    """As the kernel has it mounted."""
    kinds = {line.split()[2] for line in Path("/proc/self/mounts").read_text().splitlines()}
    return {(True, False): "v1", (False, True): "v2", (True, True): "v1 and v2"}.get(("cgroup" in kinds, "cgroup2" in kinds), "none")


def spread_row(ours, bare):
    """How far the slowest are from the usual; beside it what the machine itself does to a bare process, taken in turns with ours."""
    spread, theirs = ours["p99"] / ours["p50"], bare["p99"] / bare["p50"]
    return f"| … its p99 over its p50 | {spread:.1f}× | | the same of bare | {theirs:.1f}× | | ≤ 5× | {'met' if spread <= 5 else '**missed**'} |"


@contextlib.contextmanager
def memory_group():
    """What cannot be removed in the end is told; what was measured does not go with it."""
    group = MemoryGroup()
    try:
        yield group
    finally:
        try:
            group.remove()
        except OSError as error:
            print(f"bench: a control group is left over: {error}", flush=True)


@contextlib.contextmanager
def daemon_in(context, group, *arguments):
    """All that it makes is counted in the group, and we are not."""
    with contextlib.ExitStack() as stack:
        with group.inside():
            daemon = stack.enter_context(context.another(*arguments))
        yield daemon


def memory_row(what, group, each_kib, aim="", bound=None):
    """In the way of the other lines; `each_kib` means nothing where nothing counts it."""
    if not group:
        return f"| {what} | not measured: {in_a_cell(group.reason)} | | | | | {aim} | |"
    verdict = "" if bound is None else "met" if each_kib <= bound else "**missed**"
    return f"| {what} | {each_kib:,.0f} KiB | | | | | {aim} | {verdict} |"


def path_of(context, kind, address, count, command=(), pause=PAUSE_MS, burst=BURST):
    key = context.daemon.key if str(address).isdigit() else ""
    return program_output([context.programs / "bench_native_path", kind, str(address), key, str(count), str(burst),
                           str(pause), *command])


def settle(seconds=1.0):
    time.sleep(seconds)  # the pause itself: the pool is filled meanwhile


def parked_in(daemon, wanted, patience=30):
    """How many sandboxes are made ahead, once there are so many or nobody expects them any more."""
    give_up = time.monotonic() + patience
    while True:
        page = daemon.call("GET", "/metrics").decode()
        parked = sum(int(line.split()[-1]) for line in page.splitlines() if line.startswith("atoll_parked_sandboxes{"))
        if parked >= wanted or time.monotonic() > give_up:
            return parked
        settle(0.2)


def fill_shelf(context, daemon, most=MOST_PARKED):
    """So that a daemon has as many parked as it may. How many there are then."""
    for _ in range(3):
        program_output([context.programs / "bench_native_path", "run", daemon.state / "atoll.sock", "", "80", "80", "0"])
        settle(1.5)
    return parked_in(daemon, most)


def grow_pool(context, command=()):
    """Asks for so many that the shelf is as large as it gets."""
    socket = context.daemon.state / "atoll.sock"
    for _ in range(3):
        path_of(context, "run", socket, 80, command, pause=0)
        settle()


def latencies(context, lines, raw):
    count = min(context.count, 600)
    socket = context.daemon.state / "atoll.sock"
    (context.directory / "run-native").mkdir()
    inside = program_output([context.programs / "bench_library", context.libexec, str(count // 2), str(BURST), str(PAUSE_MS)])
    raw["in_process"] = inside
    runs, creates, execs = (in_process(inside, kind) for kind in ("run", "create", "exec"))
    hits, bare = summary(runs["hit_us"]), summary(runs["bare_us"])
    lines.append(row(counted("one-shot `true`, in this process", runs), hits, "bare vfork + exec", bare, "≤ 2×", 2))
    lines.append(spread_row(hits, bare))
    grow_pool(context)
    for name, kind, address, aim, bound in [
            (FIRST_RUN, "run", socket, "≤ 2×", 2),
            ("one-shot `true`, API over TCP", "run", context.daemon.port, "≤ 2.2×", 2.2),
            ("command in a live sandbox, `true`, API", "exec", socket, "≤ 1.6×", 1.6)]:
        taken = raw[name] = with_processor_ms(lambda: path_of(context, kind, address, count), PAUSE_MS) \
            if name == FIRST_RUN else path_of(context, kind, address, count)
        hits, bare = summary(taken["hit_us"]), summary(taken["bare_us"])
        lines.append(row(counted(name, taken), hits, "bare vfork + exec", bare, aim, bound))
        if kind == "run":
            lines.append(spread_row(hits, bare))
        if name == FIRST_RUN:
            lines.append(f"| … processor time of each: in the burst, with its client | {taken['burst_ms']:.1f} ms | | in the pause: cleared "
                         f"away, the next made | {taken['pause_ms']:.1f} ms | | reported | |")
        settle()
    lines.append(row("command in a live sandbox, `true`, in this process", summary(execs["hit_us"]), "bare vfork + exec",
                     summary(execs["bare_us"]), "≤ 1.6×", 1.6))
    lines.append(row(counted("a sandbox is ready, in this process", creates), summary(creates["hit_us"]), "", None, "≤ 0.3 ms", 0.3))
    taken = raw["create"] = path_of(context, "create", socket, count)
    lines.append(row(counted("a sandbox is ready, API", taken), summary(taken["hit_us"]), "", None, "≤ 0.6 ms", 0.6))
    grow_pool(context, PYTHON)
    taken = raw["python"] = path_of(context, "run", socket, 90, PYTHON, pause=1500, burst=6)
    lines.append(row(counted("one-shot `python3 -c 'print(1)'`, started ahead", taken), summary(taken["hit_us"]), "bare `python3 -c`",
                     summary(taken["bare_us"]), "≤ 0.35×", 0.35))


def misses(context, lines, raw):
    """The same with nothing parked."""
    with context.another("--parked", "0") as daemon:
        taken = program_output([context.programs / "bench_native_path", "run", daemon.state / "atoll.sock", "", "150", "10", "50"])
    raw["miss"] = taken
    lines.append(row("one-shot `true` when nothing is parked", summary(taken["miss_us"]), "bare vfork + exec",
                     summary(taken["bare_us"]), "reported"))


def throughput(context, lines, raw):
    socket = context.daemon.state / "atoll.sock"
    for clients in CLIENTS:
        before = cpu_seconds()
        ours = program_output([context.programs / "bench_native_load", "runs", socket, str(clients), "4"])
        spent = cpu_seconds() - before
        theirs = program_output([context.programs / "bench_native_load", "bare", "-", str(clients), "4"])
        raw[f"throughput {clients}"] = {"ours": ours, "bare": theirs, "cpu_s": spent}
        rate = len(ours["micros"]) / ours["seconds"]
        bare = len(theirs["micros"]) / theirs["seconds"]
        failed = f", {ours['failures']} failed" if ours["failures"] else ""
        each = spent * 1000 / max(1, len(ours["micros"]))
        lines.append(f"| one-shot throughput, {clients} clients{failed} | {rate:,.0f}/s | {each:.1f} ms of processor each, on the path and off it | bare spawn | "
                     f"{bare:,.0f}/s | **{rate / bare:.2f}×** | ≥ 0.09× | {'met' if rate / bare >= 0.09 else '**missed**'} |")
        settle()


def bursts(context, lines, raw):
    socket = context.daemon.state / "atoll.sock"
    for clients in (100, 500):
        taken = raw[f"burst {clients}"] = program_output(
            [context.programs / "bench_native_load", "burst", socket, str(clients), "1"])
        seen = summary(taken["micros"])
        lines.append(f"| burst of {clients} creates | {micros(seen['p50'])} | {micros(seen['p99'])} | | | {taken['failures']} failed | "
                     f"0 failures | {'met' if taken['failures'] == 0 else '**missed**'} |")
        settle(2)


def cpu_seconds():
    fields = [int(x) for x in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    return (sum(fields[:8]) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def await_quiet(patience=90):
    """Until the kernel has cleared away what went before."""
    give_up = time.monotonic() + patience
    while time.monotonic() < give_up:
        before = cpu_seconds()
        settle(2)
        if cpu_seconds() - before < 0.1:
            return


def call(daemon, method, path, body=None):
    start = time.perf_counter()
    daemon.call(method, path, body)
    return (time.perf_counter() - start) * 1e6


def end_all(daemon, boxes):
    """By calls, because a daemon that is told to end gives all of them together half a minute."""
    def end(box):
        try:
            daemon.call("DELETE", f"/v1/sandboxes/{box}")
        except OSError as error:
            return told_by(error)
        return ""

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        failed = [why for why in pool.map(end, boxes) if why]
    if failed:
        print(f"bench: {len(failed)} of {len(boxes)} sandboxes did not end: {failed[0]}", flush=True)


def pause_and_resume(daemon, boxes):
    """Each once."""
    times = {"pause": [], "resume": []}
    for box in boxes:
        for verb in times:
            times[verb].append(call(daemon, "POST", f"/v1/sandboxes/{box}/{verb}", {}))
    return times


def pause_rows(times, where=""):
    return [row("pause" + where, summary(times["pause"]), "", None, "≤ 2 ms", 2),
            row("resume" + where, summary(times["resume"]), "", None, "≤ 5 ms", 5)]


def pauses(context, lines, raw):
    with context.another("--parked", "0") as daemon:
        boxes = [daemon.create("native") for _ in range(PAUSED)]
        await_quiet()
        raw["pause"] = pause_and_resume(daemon, boxes)
        end_all(daemon, boxes)
    lines += pause_rows(raw["pause"])


def density(context, lines, raw):
    """Memory of a parked and of a live sandbox, the kernel's part included; creates and pauses beside a thousand of them."""
    with memory_group() as group:
        with daemon_in(context, group, "--parked", str(MOST_PARKED)) as daemon:
            socket = daemon.state / "atoll.sock"

            def path(count):
                """Pauses in which all of a burst is made again; what making and ending them takes is told beside it."""
                await_quiet()
                return with_processor_ms(lambda: program_output(
                    [context.programs / "bench_native_path", "create", socket, "", str(count), str(BURST), str(4 * PAUSE_MS)]), 4 * PAUSE_MS)

            def used_by_idle():
                """With as many parked each time."""
                settle(15)  # until they are idle: what was kept ready for a command is let go after ten seconds
                parked_in(daemon, shelf)
                await_quiet()
                return group.used()

            boxes = [daemon.create("native") for _ in range(10)]
            shelf = fill_shelf(context, daemon)
            path(150)
            few = path(150)
            ten = used_by_idle()
            boxes += [daemon.create("native") for _ in range(990)]
            thousand = used_by_idle()
            many = path(150)
            raw["density"] = {"few": few, "many": many, "at_10": ten, "at_1000": thousand}
            lines.append(memory_row("memory of a live, idle sandbox, with the kernel's", group, (thousand - ten) / 990 / 1024, "≤ 1 MiB", 1024))
            lines.append(row(counted("create beside 1,000 live", many), summary(many["hit_us"]), "beside 10", summary(few["hit_us"]), "≤ 1.2×", 1.2))
            slow, fast = (taken["burst_ms"] + taken["pause_ms"] for taken in (many, few))
            lines.append(f"| … processor time of each, made and ended | {slow:.1f} ms | | beside 10 | {fast:.1f} ms | **{slow / fast:.2f}×** | "
                         "reported | |")
            await_quiet()
            raw["pause beside 1,000"] = pause_and_resume(daemon, boxes[:PAUSED])
            lines += pause_rows(raw["pause beside 1,000"], " beside 1,000 live")
            end_all(daemon, boxes)
        count, each = raw["parked_kib"] = parked_memory(context, group)
        lines.append(memory_row(f"memory of a parked sandbox, of {count}, with the kernel's", group, each, "≤ 560 KiB", 560))


@contextlib.contextmanager
def descriptors(wanted):
    """So many for each program that is started meanwhile, if we may: the launcher has several for every sandbox."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY or hard >= wanted:
        yield
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, wanted))
    except (ValueError, OSError):
        print(f"bench: no program may have more than {hard:,} descriptors here, {wanted:,} would be enough for sure", flush=True)
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def available_memory():
    return next(int(line.split()[1]) * 1024 for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable"))


def told_by(error):
    """What a daemon gave as its reason, if it gave one."""
    body = error.read() if hasattr(error, "read") else b""
    return f"{error}: {body.decode(errors='replace')[:300]}" if body else str(error)


def make_crowd(daemon, count):
    """(their ids, microseconds of each made and paused, why there are no more)"""
    boxes, made = [], []
    try:
        while len(boxes) < count:
            if available_memory() < LEAST_MEMORY:
                return boxes, made, "the machine's memory is used up"
            start = time.perf_counter()
            boxes.append(daemon.create("native", ttl_s=CROWD_TTL_S))
            daemon.call("POST", f"/v1/sandboxes/{boxes[-1]}/pause", {})
            made.append((time.perf_counter() - start) * 1e6)
    except OSError as error:
        return boxes, made, told_by(error)
    return boxes, made, ""


def crowd(context, lines, raw):
    """Thousands of paused sandboxes at once: what each takes, and how soon one of them goes on. If there cannot be so many,
    those that there are are measured, and it is told why."""
    with memory_group() as group, descriptors(context.crowd * DESCRIPTORS), daemon_in(context, group, "--parked", "0") as daemon:
        settle(2)
        before = group.used()
        boxes, made, stopped = make_crowd(daemon, context.crowd)
        settle(3)
        raw["crowd"] = taken = {"asked": context.crowd, "stopped": stopped, "made_us": made, "before": before, "used": group.used(),
                                "not_counted": group.reason, "wake_us": []}
        if made:
            for box in boxes[:len(made):max(1, len(made) // 100)]:
                start = time.perf_counter()
                daemon.call("POST", f"/v1/sandboxes/{box}/resume", {})
                daemon.call("POST", f"/v1/sandboxes/{box}/exec", {"argv": ["/bin/true"]})
                taken["wake_us"].append((time.perf_counter() - start) * 1e6)
            lines += crowd_rows(taken, group)
        else:
            lines.append(f"| {context.crowd:,} paused sandboxes | not measured: {in_a_cell(stopped)} | | | | | | |")
        if stopped:
            print(f"bench: {len(made):,} of {context.crowd:,} sandboxes were made and paused; then: {stopped}", flush=True)
        end_all(daemon, boxes)
    settle(20)


def crowd_rows(taken, group):
    count = len(taken["made_us"])
    missing = f" (of {taken['asked']:,}: {in_a_cell(taken['stopped'])})" if taken["stopped"] else ""
    return [memory_row(f"memory of each of {count:,} paused sandboxes{missing}", group, (taken["used"] - taken["before"]) / count / 1024),
            row(f"one of {count:,} made and paused, one after the other", summary(taken["made_us"]), "", None, "", None),
            row(f"resume and `true` in one of {count:,} paused", summary(taken["wake_us"]), "", None, "", None)]


def parked_memory(context, group):
    """(how many, KiB of each): a daemon with all the parked ones that it may have against one with none."""
    if not group:
        return 0, None
    used = {}
    for most in (0, MOST_PARKED):
        with daemon_in(context, group, "--parked", str(most)) as daemon:
            count = fill_shelf(context, daemon, most)
            used[most] = group.used()
    if count == 0:
        raise SystemExit("bench: a daemon makes no sandbox ahead")
    return count, (used[MOST_PARKED] - used[0]) / count / 1024


def room_for(context, peer):
    return Path(tempfile.mkdtemp(prefix=peer.name.replace(" ", "-") + "-", dir=context.directory))


def cli(context, lines, raw):
    """`atoll run` without a daemon beside bwrap."""
    settle(5)
    bwrap = next(peer for peer in peers.PEERS if peer.name == "bwrap")
    ours, theirs = [], []
    environment = {**peers.ENVIRONMENT, "ATOLL_LIBEXEC": str(context.libexec), "XDG_RUNTIME_DIR": str(context.directory)}
    with contextlib.closing(bwrap):
        try:
            bwrap.prepare(room_for(context, bwrap))
        except peers.PeerFailure as failure:
            raw["cli"] = {"missing": str(failure)}
            lines.append(f"| `atoll run` without a daemon | not measured: {in_a_cell(failure)} | | `bwrap` | | | ≤ 4× | |")
            return
        for _ in range(8):
            for _ in range(10):
                start = time.perf_counter()
                pid = os.posix_spawn(context.atoll, [context.atoll, "run", "--quiet", "--", "/bin/true"], environment)
                if os.waitpid(pid, 0)[1] != 0:
                    raise SystemExit("bench: atoll run failed")
                ours.append((time.perf_counter() - start) * 1e6)
            theirs += peers.measure(bwrap, ["/bin/true"], 10, 5)
    raw["cli"] = {"atoll_us": ours, "bwrap_us": theirs}
    lines.append(row("`atoll run` without a daemon", summary(ours), "`bwrap`", summary(theirs), "≤ 4×", 4))


def in_a_cell(why):
    """The first line of what went wrong, as a cell of a table can show it."""
    return (str(why).strip() or "no reason told").splitlines()[0].replace("|", "\\|")[:120]


def of_peer(context, peer):
    """Its two series, and what it is called with its version. A peer that cannot be measured has only itself to lose."""
    available, why = peer.is_available()
    if not available:
        raise peers.PeerFailure(why)
    with contextlib.closing(peer):
        peer.prepare(room_for(context, peer))
        return peers.measure(peer, ["/bin/true"], 200, 6), peers.measure(peer, PYTHON, 100, 6), peer.told()


def other_people(context, lines, raw):
    """The second table; told line by line, for it takes a while."""
    bare = {}
    kept = raw["peers"] = {}
    for peer in [peers.BARE, *peers.PEERS]:
        try:
            true, python, told = of_peer(context, peer)
        except peers.PeerFailure as failure:
            if peer is peers.BARE:
                raise SystemExit(f"bench: nothing to compare with: {failure}") from failure
            kept[peer.name] = {"missing": str(failure)}
            lines.append(f"| {peer.name} | missing: {in_a_cell(failure)} | | | | | |")
            print(lines[-1], flush=True)
            continue
        kept[peer.name] = {"true_us": true, "python_us": python, "told": told}
        bare.setdefault("true", summary(true)["p50"])
        bare.setdefault("python", summary(python)["p50"])
        t, p = summary(true), summary(python)
        lines.append(f"| {in_a_cell(told)} | {micros(t['p50'])} | {micros(t['p99'])} | {t['p50'] / bare['true']:.1f}× | {micros(p['p50'])} | "
                     f"{p['p50'] / bare['python']:.1f}× | {peer.lacks} |")
        print(lines[-1], flush=True)


# In the order in which they are measured: the kernel keeps room for all that was ever mounted at once (ADR 15), and every later
# time suffers from it. So what is timed comes before what makes many sandboxes, and what makes the most comes last.
STEPS = {"cli": cli, "latencies": latencies, "pauses": pauses, "misses": misses, "peers": other_people, "throughput": throughput,
         "bursts": bursts, "density": density, "crowd": crowd}
# In the order in which they are read; peers have a table of their own.
TABLE = ["latencies", "misses", "throughput", "cli", "bursts", "pauses", "density", "crowd"]


def measure(context, only=()):
    """All lines of both tables, and everything that was measured. Before each part the machine has to be quiet again: what
    was measured until then is kept if it is not."""
    made, raw = {}, {}
    for name, step in STEPS.items():
        if only and name not in only:
            continue
        busy = context.await_quiet()
        if busy is not None:
            raw["refused"] = context.refused = f"{name}: other programs use {busy:.0%} of the processors"
            print(f"bench: {context.refused}; it ends here, and nothing is written", flush=True)
            break
        made[name] = []
        step(context, made[name], raw)
        if step is not other_people:
            print("\n".join(made[name]), flush=True)
    context.crowd_lines = made.get("crowd", [])
    return raw, [line for name in TABLE for line in made.get(name, [])], made.get("peers", [])
