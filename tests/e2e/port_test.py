"""Ports of a sandbox as ports of this machine: bytes both ways, and nothing of the host's."""

import json
import os
import signal
import socket
import subprocess
import threading
import unittest

from live import ATOLL, Daemon, wait_until

ECHO = """
import socket, threading
def serve(family, address, port):
    listener = socket.socket(family); listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address, port)); listener.listen(100)
    while True:
        visitor = listener.accept()[0]
        threading.Thread(target=echo, args=(visitor,)).start()
def echo(visitor):
    while piece := visitor.recv(65536):
        visitor.sendall(piece)
    visitor.sendall(b'the end'); visitor.close()
threading.Thread(target=serve, args=(socket.AF_INET, '127.0.0.1', 3000)).start()
threading.Thread(target=serve, args=(socket.AF_INET6, '::1', 3001)).start()
"""


class Ports(unittest.TestCase):
    driver, wish = "native", {}

    def start_daemon(self):
        daemon = Daemon().start()
        self.addCleanup(daemon.end)
        return daemon

    def setUp(self):
        self.daemon = self.start_daemon()
        self.box = self.daemon.create(driver=self.driver, **self.wish)
        self.daemon.start_process(self.box, "python3", "-c", ECHO)
        for port in "3000", "3001":
            wait_until(lambda p=port: self.dial(p) == 101, f"port {port} answers")

    def dial(self, port, box=None, headers={"Upgrade": "tcp", "Connection": "Upgrade"}):
        connection = self.daemon.connection(timeout=10)
        try:
            connection.request("GET", f"/v1/sandboxes/{box or self.box}/ports/{port}", headers=headers)
            return connection.getresponse().status
        finally:
            connection.close()

    def forward(self, *words):
        process = subprocess.Popen([ATOLL, "port", "--state", self.daemon.state, "--json", *words],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        ports = [json.loads(process.stdout.readline())["port"] for _ in words[1:]]
        return process, ports

    def talk(self, port, sent):
        with socket.create_connection(("127.0.0.1", port), timeout=30) as visitor:
            def send():
                visitor.sendall(sent)
                visitor.shutdown(socket.SHUT_WR)
            sender = threading.Thread(target=send)
            sender.start()
            got = b""
            while piece := visitor.recv(65536):
                got += piece
            sender.join()
            return got

    def test_bytes_go_both_ways_and_end(self):
        process, ports = self.forward(self.box, "3000", "3001")
        for port in ports:
            self.assertEqual(self.talk(port, b"hello "), b"hello the end")
        large = os.urandom(8_000_000)
        self.assertTrue(self.talk(ports[0], large) == large + b"the end")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=10), 0)

    def test_many_at_once(self):
        _, (port,) = self.forward(self.box, "3000")
        failed = []
        def one(number):
            text = f"number {number} ".encode() * 1000
            if self.talk(port, text) != text + b"the end":
                failed.append(number)
        threads = [threading.Thread(target=one, args=(n,)) for n in range(50)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        self.assertEqual(failed, [])

    def test_a_visitor_that_breaks_off_harms_nobody(self):
        _, (port,) = self.forward(self.box, "3000")
        for _ in range(20):
            visitor = socket.create_connection(("127.0.0.1", port))
            visitor.sendall(b"x" * 100_000)
            visitor.close()
        self.assertEqual(self.talk(port, b"still "), b"still the end")

    def test_what_cannot_be_reached_is_told(self):
        self.assertEqual(self.dial(3999), 503)
        self.assertEqual(self.dial(0), 400)
        self.assertEqual(self.dial(65536), 400)
        self.assertEqual(self.dial("x"), 400)
        self.assertEqual(self.dial(3000, headers={}), 400)
        self.assertEqual(self.dial(3000, box="nobody"), 404)
        process, (port,) = self.forward(self.box, "3999")
        with socket.create_connection(("127.0.0.1", port), timeout=30) as visitor:
            try:
                self.assertEqual(visitor.recv(1), b"")
            except ConnectionResetError:
                pass  # the same, told by the kernel
        process.send_signal(signal.SIGINT)
        process.wait(timeout=10)
        self.assertIn("nothing listens on port 3999", process.stderr.read())

    def test_a_port_is_never_the_hosts(self):
        with socket.socket() as host:
            host.bind(("127.0.0.1", 0))
            host.listen()
            port = host.getsockname()[1]
            self.assertEqual(self.dial(port), 503)
            for driver in "subprocess", "local":
                box = self.daemon.create(driver=driver)
                self.assertEqual(self.dial(port, box=box), 409, driver)
            host.setblocking(False)
            self.assertRaises(BlockingIOError, host.accept)

    def test_a_service_that_never_reads_holds_up_only_itself(self):
        self.daemon.start_process(self.box, "python3", "-c",
                                  "import socket, time\ns = socket.create_server(('127.0.0.1', 3002))\n"
                                  "v = s.accept()[0]\ntime.sleep(1000)")
        _, (stuck, fine) = self.forward(self.box, "3002", "3000")
        wait_until(lambda: "3002" in self.listening(), "the service listens")
        with socket.create_connection(("127.0.0.1", stuck)) as visitor:
            visitor.setblocking(False)
            try:
                while True:
                    visitor.send(b"x" * 65536)
            except BlockingIOError:
                pass
            self.assertEqual(self.talk(fine, b"hello "), b"hello the end")
            self.assertEqual(self.daemon.exec(self.box, "printf", "on\\n")["stdout"], "on\n")

    def listening(self):
        table = self.daemon.exec(self.box, "cat", "/proc/net/tcp")["stdout"]
        return {str(int(line.split()[1].split(":")[1], 16)) for line in table.splitlines()[1:] if line.split()[3] == "0A"}


if __name__ == "__main__":
    unittest.main()
