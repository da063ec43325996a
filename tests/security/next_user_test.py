"""What the next user of a parked sandbox can see of whoever was there before: in memory, in what the kernel keeps of files, and
in how long names take to look up. Files, environment and network are in e2e_parked and former_user_test.py.

Each case has a control in which the same look finds what it looks for, because the two are in one sandbox.
"""

import json
import os
import random
import secrets
import statistics
import time
import unittest

from live import Daemon, wait_until

LOOKS_AFTER = 3  # in sandboxes that were made when the former user's was gone
LOOKS = 80  # more than are ever parked of a kind
NAMES = 400

# Neither program holds the mark as it is: it is told with one added to each byte, and what is scanned is shifted like it.
COMMON = r"""
import ctypes, json, mmap, os, socket, subprocess, sys, tempfile, threading
libc = ctypes.CDLL(None, use_errno=True)
SHIFT = bytes((byte + 1) % 256 for byte in range(256))
BACK = bytes((byte - 1) % 256 for byte in range(256))
MIB = 1 << 20
shifted, key = bytes.fromhex(sys.argv[1]), int(sys.argv[2])
"""
# Leaves the mark wherever there is memory, says so, and stays until its sandbox ends.
LEAVE = COMMON + r"""
mark = shifted.translate(BACK)
block = mark * (MIB // len(mark))
held = [mmap.mmap(-1, 96 * MIB)]
for at in range(0, 96 * MIB, len(block)):
    held[0][at:at + len(block)] = block
held.append([bytes(block) for _ in range(8)])  # the heap
def deep(left):
    here = (ctypes.c_char * 4096)(*block[:4096])  # and the stack of each call
    return deep(left - 1) if left else held.append(here)
deep(100)
for place in "/tmp", "/workspace", "/dev/shm":
    file = tempfile.TemporaryFile(dir=place)  # of no name, and gone with its last descriptor
    file.write(block * 4)
    file.flush()
    held.append(file)
memory = os.memfd_create("left")
os.write(memory, block * 4)
ends = os.pipe()
os.set_blocking(ends[1], False)
os.write(ends[1], block[:65536])
for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM:
    pair = socket.socketpair(socket.AF_UNIX, kind)
    pair[0].setblocking(False)
    pair[0].send(block[:32768])
    held.append(pair)
segment = libc.shmget(key, MIB, 0o1666)
libc.shmat.restype = ctypes.c_void_p
ctypes.memmove(libc.shmat(segment, None, 0), block, MIB)
named = socket.socket(socket.AF_UNIX)
named.bind(b"\0" + mark)
queue = ctypes.CDLL("librt.so.1").mq_open(b"/left", os.O_CREAT | os.O_RDWR, 0o666, None)
subprocess.Popen([mark, "600"], executable="/bin/sleep", env={b"LEFT": mark})
libc.prctl(0x59616d61, ctypes.c_long(-1), 0, 0, 0)  # whoever is here may look into it
print(json.dumps({"segment": segment >= 0, "queue": queue >= 0}), flush=True)
threading.Event().wait(600)
"""
# Where the mark is found, each place once.
LOOK = COMMON + r"""
found = set()
def scan(what, data):
    if bytes(data).translate(SHIFT).find(shifted) >= 0:
        found.add(what)
def scan_file(what, path, most=256 * MIB):
    try:
        with open(path, "rb", buffering=0) as file:
            while most > 0 and (piece := file.read(4 * MIB)):
                scan(what, piece)
                most -= len(piece)
    except OSError:
        pass
# First of all what the kernel gives to whoever asks: the pages that were given back last come first.
fresh = mmap.mmap(-1, 96 * MIB)
for at in range(0, 96 * MIB, 4 * MIB):
    scan("fresh memory", fresh[at:at + 4 * MIB])
shared = os.memfd_create("fresh")
os.posix_fallocate(shared, 0, 16 * MIB)
scan("a fresh memory file", os.pread(shared, 16 * MIB, 0))
for place in "/tmp", "/workspace", "/dev/shm", "/home/user":
    with tempfile.TemporaryFile(dir=place) as file:
        os.posix_fallocate(file.fileno(), 0, 16 * MIB)
        scan("fresh blocks of a file", os.pread(file.fileno(), 16 * MIB, 0))
def deep(left):
    here = (ctypes.c_char * 4096).__new__(ctypes.c_char * 4096)
    scan("the stack", here)
    if left: deep(left - 1)
deep(100)
libc.malloc.restype = ctypes.c_void_p
heap = [libc.malloc(size) for size in (64, 4096, 65536, 8 * MIB)]
for at, size in zip(heap, (64, 4096, 65536, 8 * MIB)):
    scan("the heap", ctypes.string_at(at, size))
def memory_of(pid):
    try:
        with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            for line in maps:
                first, last = (int(part, 16) for part in line.split()[0].split("-"))
                if "r" not in line.split()[1]:
                    continue
                while first < last:
                    try:
                        memory.seek(first)
                        yield memory.read(min(4 * MIB, last - first))
                    except (OSError, OverflowError, ValueError):
                        pass
                    first += 4 * MIB
    except OSError:
        pass
# Before it has read anything of others'.
for piece in memory_of(os.getpid()):
    scan("its own memory", piece)
for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in "cmdline", "environ", "auxv":
        scan_file("what is told of processes", f"/proc/{pid}/{name}")
    if int(pid) == os.getpid(): continue
    for piece in memory_of(pid):
        scan("memory of processes", piece)
    try:
        descriptors = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        continue
    for number in descriptors:
        path = f"/proc/{pid}/fd/{number}"
        try:
            target = os.readlink(path)
            if target.startswith("pipe:") and (pipe := os.open(path, os.O_RDONLY | os.O_NONBLOCK)):
                scan("pipes", os.read(pipe, 65536))
        except OSError:
            continue
        if "memfd:left" in target: scan_file("memory files", path)
        elif "(deleted)" in target: scan_file("files without a name", path)
segment = libc.shmget(key, 0, 0)
if segment >= 0:
    libc.shmat.restype = ctypes.c_void_p
    scan("System V memory", ctypes.string_at(libc.shmat(segment, None, 0o10000), MIB))
counts = ctypes.create_string_buffer(256)
libc.shmctl(0, 14, counts)  # SHM_INFO
if int.from_bytes(counts[:4], "little"): found.add("counts of System V")
if ctypes.CDLL("librt.so.1").mq_open(b"/left", os.O_RDONLY) >= 0: found.add("message queues")
scan_file("names of sockets", "/proc/net/unix")
for name in "/proc/keys", "/proc/locks", "/proc/self/mountinfo", "/proc/self/net/protocols": scan_file("lists of the kernel", name)
print(json.dumps(sorted(found)))
"""
EVERYWHERE = {"what is told of processes", "memory of processes", "pipes", "memory files", "files without a name",
              "names of sockets", "System V memory", "counts of System V", "message queues"}

# How long names take, in nanoseconds: those that somebody else looked up, and those that nobody did, mixed.
TIME = r"""
import json, os, random, sys, time
place, known, strange = sys.argv[1], sys.argv[2].split(","), sys.argv[3].split(",")
access, now, taken = os.access, time.perf_counter_ns, ([], [])
for number in range(300): access(f"{place}/warming-{number}", 0)
mixed = [(name, 0) for name in known] + [(name, 1) for name in strange]
random.shuffle(mixed)
for name, whose in mixed:
    path = place + "/" + name
    begun = now()
    access(path, 0)
    taken[whose].append(now() - begun)
print(json.dumps(taken))
"""
LOOK_UP = "import os, sys\nfor name in sys.argv[2].split(','): os.access(sys.argv[1] + '/' + name, 0)"
MAKE = """
import os, sys
for name in sys.argv[2].split(','):
    os.close(os.open(sys.argv[1] + '/' + name, os.O_CREAT | os.O_WRONLY, 0o600))
    os.unlink(sys.argv[1] + '/' + name)
"""
OWN_PLACES = ["/tmp", "/workspace", "/home/user", "/dev/shm", "/run", "/var/tmp"]
PLACES = [*OWN_PLACES, "/", "/etc", "/dev", "/proc", "/sys", "/var", "/home"]
# Of the host's own file system, and the same for all: what the kernel remembers of it is seen here (SECURITY.md).
HOSTS = "/usr/share"
# Ratio of the medians beyond which somebody could tell; what is remembered takes less than a half of what is not.
TELLING = 0.8


def names(count=NAMES):
    return [secrets.token_hex(6) for _ in range(count)]


def ratio(taken):
    known, strange = taken
    return statistics.median(known) / statistics.median(strange)


class NextUser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon().start()
        cls.addClassCleanup(cls.daemon.end)

    def take_parked(self):
        def take():
            answer = self.daemon.call("POST", "/v1/sandboxes", {"driver": "native"})
            self.assertEqual(answer.status, 201, answer)
            box = answer.json["id"]
            self.daemon.made.add(box)
            if "hand_over" in [stage["name"] for stage in answer.json["stages"]]:
                return box
            self.remove(box)
            return None
        return wait_until(take, "a sandbox was parked before it was asked for", 60)

    def remove(self, box):
        self.assertEqual(self.daemon.call("DELETE", f"/v1/sandboxes/{box}").status, 204)

    def python(self, box, script, *words):
        done = self.daemon.exec(box, "/usr/bin/python3", "-c", script, *words)
        self.assertEqual(done["exit_code"], 0, done)
        return json.loads(done["stdout"]) if done["stdout"] else None

    def in_the_next(self, look):
        """Calls look(box) in each that follows, until enough came that were made after now."""
        ended, later = time.time_ns(), 0
        for _ in range(LOOKS):
            box = self.take_parked()
            look(box)
            later += os.stat(os.path.join(self.daemon.state, "run", "box", box, "agent.sock")).st_mtime_ns > ended
            self.remove(box)
            if later == LOOKS_AFTER:
                return
        self.fail("none was made after the former user's was gone")


class Memory(NextUser):
    def setUp(self):
        self.shifted = bytes(byte + 1 for byte in secrets.token_hex(16).encode()).hex()
        self.key = str(random.randrange(1, 1 << 30))

    def leave(self):
        """A sandbox with somebody in it who has the mark everywhere."""
        box = self.take_parked()
        process = self.daemon.start_process(box, "/usr/bin/python3", "-c", LEAVE, self.shifted, self.key)["process"]
        told = json.loads(next(one["data"] for one in self.daemon.events(box, process) if one["type"] == "stdout"))
        self.assertTrue(told["segment"])
        return box

    def test_nothing_of_it_is_in_the_next(self):
        for _ in range(2):
            self.remove(self.leave())
            self.in_the_next(lambda box: self.assertEqual(self.python(box, LOOK, self.shifted, self.key), []))

    def test_nothing_of_it_is_beside_it(self):
        box = self.leave()
        beside = self.take_parked()
        self.assertEqual(self.python(beside, LOOK, self.shifted, self.key), [])
        self.remove(box)
        self.remove(beside)

    def test_in_the_same_sandbox_it_would_be_found(self):
        """The control: the same look, and what it looks for is there."""
        box = self.leave()
        found = set(self.python(box, LOOK, self.shifted, self.key))
        self.assertLessEqual(EVERYWHERE, found)
        self.assertNotIn("its own memory", found, "the look finds itself")
        self.remove(box)


class Names(NextUser):
    def measure(self, box, place, known):
        return self.python(box, TIME, place, ",".join(known), ",".join(names()))

    def test_the_next_cannot_tell_which_were_used(self):
        known = {place: names() for place in PLACES}
        box = self.take_parked()
        for place, used in known.items():
            for script in (LOOK_UP, LOOK_UP, *([MAKE] if place in OWN_PLACES else [])):
                self.daemon.exec(box, "/usr/bin/python3", "-c", script, place, ",".join(used))
        self.remove(box)
        taken = {place: ([], []) for place in PLACES}

        def look(box):
            for place, used in known.items():
                for kind, series in enumerate(self.measure(box, place, used)):
                    taken[place][kind].extend(series)

        self.in_the_next(look)
        for place in PLACES:
            self.assertGreater(ratio(taken[place]), TELLING, place)

    def test_in_the_same_file_system_one_could(self):
        """The control: the same probe, where one file system is used twice."""
        used = names()
        box = self.take_parked()
        self.daemon.exec(box, "/usr/bin/python3", "-c", LOOK_UP, HOSTS, ",".join(used))
        self.assertLess(ratio(self.measure(box, HOSTS, used)), TELLING)
        self.remove(box)


if __name__ == "__main__":
    unittest.main()
