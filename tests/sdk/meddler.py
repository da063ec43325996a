"""Somebody between a client and a daemon, who can answer for it, add to what it says, cut it off, or speak TLS."""

import http.client
import json
import os
import socket
import ssl
import subprocess
import threading

from live import UnixConnection


class Meddler:
    """`plan` is a list of what happens to the next requests: None lets one through, bytes are answered instead, a function
    gets the daemon's answer (as bytes with its head) and gives what is sent on."""

    def __init__(self, daemon, plan=(), tls=None):
        self.daemon, self.plan, self.tls = daemon, list(plan), tls
        self.seen, self.kept = [], []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def listen(self):
        while True:
            try:
                visitor, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(visitor,), daemon=True).start()

    def serve(self, visitor):
        try:
            if self.tls:
                visitor = self.tls.wrap_socket(visitor, server_side=True)
            self.kept.append(visitor)
            with visitor.makefile("rb") as file:
                while self.one(visitor, file):
                    pass
        except OSError:
            pass  # the client has left
        finally:
            visitor.close()

    def one(self, visitor, file):
        line = file.readline().decode().split()
        if not line:
            return False
        headers = http.client.parse_headers(file)
        body = file.read(int(headers.get("Content-Length", 0)))
        self.seen.append((line[0], line[1], headers, body))
        action = self.plan.pop(0) if self.plan else None
        if isinstance(action, bytes):
            visitor.sendall(action)
            return False
        answer = self.ask(line[0], line[1], headers, body)
        answer = action(answer) if action else answer
        visitor.sendall(answer)
        return action is not cut_in_half

    def ask(self, method, path, headers, body):
        connection = UnixConnection(self.daemon.socket_path)
        try:
            connection.request(method, path, body=body or None, headers={
                name: value for name, value in headers.items() if name.lower() not in ("host", "content-length")})
            answer = connection.getresponse()
            data = answer.read()
        finally:
            connection.close()
        fields = [f"{name}: {value}" for name, value in answer.getheaders()
                  if name.lower() not in ("content-length", "transfer-encoding", "connection")]
        length = [] if answer.status == 204 else [f"Content-Length: {len(data)}"]
        return "\r\n".join([f"HTTP/1.1 {answer.status} {answer.reason}", *fields, *length, "", ""]).encode() + data

    def end(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for visitor in self.kept:
            visitor.close()
        self.thread.join(10)


def problem(status, code, **fields):
    """An answer with a problem, and then the end of the connection."""
    more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in fields.items())
    body = json.dumps({"type": f"urn:atoll:problem:{code}", "title": code, "status": status, "code": code, "detail": "meddled",
                       "hint": "do otherwise", "stage": "request", "retryable": status in (429, 503),
                       "request_id": "reqmeddled", "trace_id": "0" * 32}).encode()
    return (f"HTTP/1.1 {status} X\r\nContent-Type: application/problem+json\r\nContent-Length: {len(body)}\r\n"
            f"Connection: close\r\n{more}\r\n").encode() + body


def with_new_fields(answer):
    """Every object of an answer gets a field that no client knows."""
    head, _, body = answer.partition(b"\r\n\r\n")

    def grow(value):
        if isinstance(value, dict):
            return {**{name: grow(inner) for name, inner in value.items()}, "of_next_year": {"a": [1]}}
        return [grow(inner) for inner in value] if isinstance(value, list) else value

    grown = json.dumps(grow(json.loads(body))).encode()
    lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"content-length")]
    return b"\r\n".join([*lines, b"Content-Length: %d" % len(grown), b"X-Of-Next-Year: 1", b"", b""]) + grown


def cut_in_half(answer):
    return answer[:-len(answer.partition(b"\r\n\r\n")[2]) // 2]


def certificate(directory):
    """A certificate for 127.0.0.1 that signs itself: its path, and a context that shows it."""
    cert, key = os.path.join(directory, "cert.pem"), os.path.join(directory, "key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return cert, context
