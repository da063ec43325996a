"""Commands over a WebSocket: output, stdin, signals and the terminal's size on one connection."""

import unittest

from live import Daemon, wait_until
from websocket import CLOSE, PING, PONG, TEXT, WebSocket


class ExecOverWebSocket(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon().start()
        cls.box = cls.daemon.create(driver="native")

    @classmethod
    def tearDownClass(cls):
        cls.daemon.end()

    def open(self, path=None, **options):
        socket = WebSocket(self.daemon.connection(), path or f"/v1/sandboxes/{self.box}/exec", **options)
        self.addCleanup(socket.__exit__)
        return socket

    def processes(self):
        return {p["process"]: p for p in self.daemon.call("GET", f"/v1/sandboxes/{self.box}/processes").json["processes"]}

    def test_output_and_exit(self):
        socket = self.open()
        socket.send({"exec": {"command": "echo out; echo err >&2; exit 3"}})
        output, lines, code = socket.until_end()
        self.assertEqual(output, {1: b"out\n", 2: b"err\n"})
        self.assertEqual([line["type"] for line in lines], ["start", "exit"])
        self.assertEqual(lines[-1]["exit_code"], 3)
        self.assertEqual(lines[0]["process"], lines[-1]["process"])
        self.assertEqual(code, 1000)

    def test_stdin_until_its_end(self):
        socket = self.open()
        socket.send({"exec": {"argv": ["sha256sum"], "stdin": "a"}})
        for _ in range(40):
            socket.send(b"b" * 100_000)
        socket.send({"eof": True})
        output, lines, _ = socket.until_end()
        import hashlib
        expected = hashlib.sha256(b"a" + b"b" * 4_000_000).hexdigest()
        self.assertEqual(output[1].split()[0].decode(), expected)
        self.assertEqual(lines[-1]["exit_code"], 0)

    def test_a_signal_passes_stdin_that_nobody_reads(self):
        socket = self.open()
        socket.send({"exec": {"argv": ["sleep", "1000"]}})
        socket.send(b"x" * 500_000)
        socket.send({"signal": "SIGTERM"})
        _, lines, _ = socket.until_end()
        self.assertEqual(lines[-1]["signal"], 15)

    def test_a_terminal_and_its_size(self):
        socket = self.open()
        socket.send({"exec": {"command": "stty size; read line; stty size; echo got $line", "tty": {"rows": 30, "cols": 90}}})
        seen = b""
        while b"30 90" not in seen:
            kind, payload = socket.receive()
            seen += payload[1:] if kind == 2 else b""
        socket.send({"resize": {"rows": 31, "cols": 91}})
        socket.send(b"hello\n")
        output, lines, _ = socket.until_end()
        self.assertIn(b"31 91\r\ngot hello\r\n", output[1])
        self.assertEqual(output[2], b"")

    def test_it_is_attached_to_again(self):
        socket = self.open()
        socket.send({"exec": {"argv": ["cat"]}})
        kind, start = socket.receive()
        self.assertEqual((kind, start["type"]), (TEXT, "start"))
        socket.send(b"one\n")
        self.assertEqual(socket.receive(), (2, b"\x01one\n"))
        socket.connection.sock.close()
        socket.answer.close()
        path = f"/v1/sandboxes/{self.box}/processes/{start['process']}/attach"
        again = self.open(path + "?stdout_offset=2")
        self.assertEqual(again.receive()[1]["process"], start["process"])
        self.assertEqual(again.receive(), (2, b"\x01e\n"))
        again.send(b"two\n")
        self.assertEqual(again.receive(), (2, b"\x01two\n"))
        again.send({"eof": True})
        self.assertEqual(again.until_end()[1][-1]["exit_code"], 0)

    def test_it_ends_with_its_client_if_that_is_asked_for(self):
        socket = self.open(f"/v1/sandboxes/{self.box}/exec?on_disconnect=kill")
        socket.send({"exec": {"argv": ["sleep", "1000"]}})
        process = socket.receive()[1]["process"]
        self.assertTrue(self.processes()[process]["running"])
        socket.connection.sock.close()
        socket.answer.close()
        wait_until(lambda: not self.processes()[process]["running"], "the command is killed")

    def test_pings_are_answered(self):
        socket = self.open()
        socket.send({"exec": {"argv": ["cat"]}})
        self.assertEqual(socket.receive()[0], TEXT)
        socket.send_frame(0x80 | PING, b"here?")
        self.assertEqual(socket.receive(), (PONG, b"here?"))
        socket.send({"eof": True})
        socket.until_end()

    def test_what_is_wrong_is_told(self):
        cases = [
            ({}, "the first message says what to run"),
            ({"exec": {}}, "argv"),
            ({"exec": {"argv": ["true"], "tty": {"rows": 0}}}, "at least one row"),
            ({"exec": {"argv": ["true"], "tty": {"rows": 10001}}}, "rows"),
            ({"exec": {"argv": ["true"], "nonsense": 1}}, "nonsense"),
            (b"bytes", "JSON"),
        ]
        for message, expected in cases:
            with self.subTest(expected):
                socket = self.open()
                socket.send(message)
                _, lines, code = socket.until_end()
                self.assertEqual(lines[-1]["type"], "error")
                self.assertIn(expected, str(lines[-1]["problem"]))
                self.assertEqual(code, 1000)
        socket = self.open()
        socket.send({"exec": {"argv": ["cat"]}})
        self.assertEqual(socket.receive()[0], TEXT)
        socket.send({"exec": {"argv": ["cat"]}})
        _, lines, _ = socket.until_end()
        self.assertIn("comes first", str(lines[-1]["problem"]))

    def test_a_frame_against_the_rules_ends_it(self):
        socket = self.open()
        socket.send_frame(0x81, b"{}", masked=False)
        kind, payload = socket.receive()
        while kind != CLOSE:
            kind, payload = socket.receive()
        self.assertEqual(int.from_bytes(payload[:2], "big"), 1002)

    def test_a_handshake_that_is_none(self):
        plain = self.daemon.call("GET", f"/v1/sandboxes/{self.box}/exec")
        self.assertEqual(plain.status, 400, plain)
        self.assertEqual(self.open(protocol="other").answer.status, 400)
        missing = self.open("/v1/sandboxes/sbxaaaaaaaaaaaaaaaaaaaa/exec")
        self.assertEqual(missing.answer.status, 404)
        nobody = self.open(f"/v1/sandboxes/{self.box}/processes/99999/attach")
        self.assertEqual(nobody.answer.status, 404)

    def test_a_process_without_a_terminal_has_no_size(self):
        started = self.daemon.start_process(self.box, "sleep", "1000")
        path = f"/v1/sandboxes/{self.box}/processes/{started['process']}"
        answer = self.daemon.call("POST", path + "/resize", {"rows": 10, "cols": 10})
        self.assertEqual(answer.status, 409, answer)
        self.daemon.call("POST", path + "/signal", {"signal": "KILL"})


if __name__ == "__main__":
    unittest.main()
