"""A storm of requests: more than ten times as many clients as usual, who ask as fast as they can, are slow, or leave. Everything stays bounded, refusals
are refusals, and soon after the storm it answers as before."""

import collections
import contextlib
import http.client
import json
import multiprocessing
import pathlib
import socket
import statistics
import threading
import time
import unittest

from live import Daemon, files_of, wait_until

SECONDS = 6
USUAL_CALLS = 60
MAKERS, LEAVERS, SLOW = 16, 4, 200
LEAST_TIMES = 10  # as many clients at a time as usual
RECOVERS_WITHIN = 10  # seconds
AT_ONCE, QUEUE = 4, 6  # less than are there at a time, so that some have to wait and some are refused
MOST_GROWTH = 64  # MiB of the daemon
FINE = {200, 201, 204, 429, 503}


def make(path, seconds, results):
    """Runs commands as fast as it can, each over a connection of its own."""
    seen, end = collections.Counter(), time.monotonic() + seconds
    while time.monotonic() < end:
        connection = Local(path)
        try:
            connection.request("POST", "/v1/runs", json.dumps({"exec": {"argv": ["true"]}}), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            body = answer.read()
            seen[answer.status] += 1
            if answer.status >= 400 and b"request_id" not in body:
                seen["without a problem"] += 1
        except BlockingIOError:
            seen["turned away"] += 1  # by the kernel: more have come than are let in
        except (OSError, http.client.HTTPException) as trouble:
            seen[type(trouble).__name__] += 1
        finally:
            connection.close()
    results.put(dict(seen))


def leave(path, seconds, results):
    """Asks, and is gone before it is answered, or in the middle of asking."""
    count, end = 0, time.monotonic() + seconds
    request = b"POST /v1/runs HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 36\r\n\r\n" + b'{"exec": {"argv": ["sleep", "100"]}}'
    while time.monotonic() < end:
        with socket.socket(socket.AF_UNIX) as stream:
            try:
                stream.connect(path)
                stream.sendall(request[:len(request) if count % 2 else 60])
            except OSError:
                pass
        count += 1
    results.put({"left": count})


class Local(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=30)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Storm(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon(arguments=("--creations", str(AT_ONCE), "--queue", str(QUEUE), "--queue-timeout", "1s")).start()
        self.addCleanup(self.daemon.end, "34, after a storm")  # asserts that nothing is left
        self.box = self.daemon.create(driver="native", ttl_s=600)
        self.path = self.daemon.socket_path

    def p99(self):
        taken = []
        for _ in range(USUAL_CALLS):
            begun = time.monotonic()
            self.assertEqual(self.daemon.exec(self.box, "true")["exit_code"], 0)
            taken.append((time.monotonic() - begun) * 1000)
        return sorted(taken)[int(len(taken) * 0.99)], statistics.median(taken)

    def test_it_stays_bounded_and_recovers(self):
        begun = time.monotonic()
        usual, usual_p50 = self.p99()
        usual_rate, usual_clients = USUAL_CALLS / (time.monotonic() - begun), self.clients_of_usual()
        results, stormed = multiprocessing.Queue(), time.monotonic()
        rested, lengths, clients, over = self.memory("VmRSS"), [], [0], threading.Event()
        looker = threading.Thread(target=self.look, args=(lengths, clients, over))
        looker.start()
        self.addCleanup(looker.join)
        self.addCleanup(over.set)
        workers = [multiprocessing.Process(target=make, args=(self.path, SECONDS, results)) for _ in range(MAKERS)]
        workers += [multiprocessing.Process(target=leave, args=(self.path, SECONDS, results)) for _ in range(LEAVERS)]
        slow = []
        for worker in workers:
            worker.start()
        for _ in range(SLOW):
            stream = socket.socket(socket.AF_UNIX)
            try:
                stream.connect(self.path)
                stream.sendall(b"GET /v1/sandboxes HTTP/1.1\r\nHo")
            except OSError:
                pass
            slow.append(stream)
        total = collections.Counter()
        for _ in workers:
            total.update(results.get(timeout=SECONDS + 60))
        for worker in workers:
            worker.join(30)
            self.assertEqual(worker.exitcode, 0)

        stormed = time.monotonic() - stormed
        over.set()
        begun = time.monotonic()
        after, after_p50 = wait_until(lambda: self.recovered(usual), "it answers as before", RECOVERS_WITHIN + 30)
        recovery = time.monotonic() - begun
        for stream in slow:
            stream.close()
        wait_until(lambda: self.connections() == 0, "the daemon lets go of everybody", 30)

        served = sum(count for status, count in total.items() if status in FINE)
        other = {status: count for status, count in total.items() if status not in FINE and status not in ("left", "turned away")}
        self.assertEqual(other, {}, "something else than a service or a refusal")
        self.assertGreater(total[200] + total[201], 0)
        self.assertGreater(total[429], 0, "nobody was refused")
        self.assertGreater(len(lengths), 3, "nobody could look")
        self.assertLessEqual(max(lengths), QUEUE)
        grown = self.memory("VmHWM") - rested
        self.assertLess(grown, MOST_GROWTH)
        self.assertLess(recovery, RECOVERS_WITHIN)
        asked = sum(count for what, count in total.items() if what != "without a problem") / SECONDS
        print(f"figure: 34, usual {usual_clients} client and {usual_rate:.0f} requests a second, in the storm {max(clients)} clients at a time"
              f" ({max(clients) / usual_clients:.0f} times) and {asked:.0f} requests a second ({asked / usual_rate:.1f} times)", flush=True)
        self.assertGreaterEqual(max(clients), LEAST_TIMES * usual_clients)
        print(f"figure: 34, storm of {MAKERS} makers, {LEAVERS} leavers ({total['left']} left), {SLOW} slow: {served} answers "
              f"({', '.join(f'{status} {total[status]}' for status in sorted(FINE) if total[status])}); command p50 {usual_p50:.1f} -> {after_p50:.1f} ms, "
              f"p99 {usual:.1f} -> {after:.1f} ms, recovered {recovery:.1f} s after {stormed:.1f} s; "
              f"queue at most {max(lengths)} of {QUEUE}, memory at most {grown:.1f} MiB more than at rest", flush=True)

    def memory(self, which):
        """In MiB."""
        status = pathlib.Path(f"/proc/{self.daemon.process.pid}/status").read_text()
        return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith(which))

    def clients_of_usual(self):
        """Those that are there while one is served as usual."""
        wait_until(lambda: self.connections() == 0, "nobody is there")
        with contextlib.closing(self.daemon.connection()) as connection:
            connection.request("GET", "/healthz")
            connection.getresponse().read()
            return self.connections()

    def look(self, lengths, clients, over):
        while not over.wait(0.05):
            clients.append(self.connections())
            try:
                text = self.daemon.call("GET", "/metrics", timeout=10).body.decode()
            except (OSError, http.client.HTTPException):
                continue  # this one was turned away
            lengths += [int(float(line.split()[-1])) for line in text.splitlines() if line.startswith('atoll_queue_length{queue="admission"}')]

    def connections(self):
        """Accepted ones: connected, and with the path of the socket that was listening."""
        rows = [line.split() for line in pathlib.Path("/proc/net/unix").read_text().splitlines()]
        accepted = {f"socket:[{row[6]}]" for row in rows if len(row) == 8 and row[5] == "03"}
        return len(accepted.intersection(files_of(self.daemon.process.pid)))

    def recovered(self, usual):
        p99, p50 = self.p99()
        return (p99, p50) if p99 < 2 * usual + 50 else None


if __name__ == "__main__":
    unittest.main()
