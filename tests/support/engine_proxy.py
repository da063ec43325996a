"""A door before a container engine's socket that lets a test act at the very moment of one request.

    with EngineProxy(engine) as proxy:                    # the daemon is given proxy.environment
        hit = proxy.on("POST", "/containers/create", lambda exchange: …)

An action has the request in its hands: it may send() it, receive() the engine's answer, pass_on() that answer, and do
whatever it likes between them; when it returns, the connection is closed. It is done once; everything else goes through as
it is. `hit` is set when the action has returned. Our client makes one request per connection, and so does this.
"""

import contextlib
import os
import re
import select
import socket
import threading

# Nobody waits for ever in a test.
PATIENCE = 120


def connect(path):
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(PATIENCE)
    try:
        connection.connect(path)
    except OSError:
        connection.close()
        raise
    return connection


def read_message(connection):
    """A request or an answer, whole."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(1 << 16)
        if not more:
            return data
        data += more
    head, body = data.split(b"\r\n\r\n", 1)
    lowered = head.lower()
    if b"transfer-encoding: chunked" in lowered:
        while not body.endswith(b"0\r\n\r\n"):
            more = connection.recv(1 << 16)
            if not more:
                break
            body += more
        return head + b"\r\n\r\n" + body
    told = re.search(rb"\r\ncontent-length: (\d+)", lowered)
    while told and len(body) < int(told[1]):
        more = connection.recv(1 << 16)
        if not more:
            break
        body += more
    return head + b"\r\n\r\n" + body


class Exchange:
    """One request that an action has in its hands."""

    def __init__(self, client, request, proxy):
        self.client, self.request, self.proxy = client, request, proxy
        self.upstream, self.answer = None, b""

    def send(self):
        self.upstream = connect(self.proxy.engine.socket)
        # It may answer that it does not want all of it.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.upstream.sendall(self.request)

    def receive(self):
        self.answer = read_message(self.upstream)
        if self.makes_container() and (told := re.search(rb'"Id":"([0-9a-f]{64})"', self.answer)):
            self.proxy.created.add(told[1].decode())
        return self.answer

    def makes_container(self):
        return b"/containers/create" in self.request.split(b"\r\n", 1)[0]

    def pass_on(self):
        self.client.sendall(self.answer)

    def close(self):
        if self.upstream:
            self.upstream.close()


class EngineProxy:
    """Listens on a Unix socket, or on TCP of this host's loopback, where the engine is elsewhere as far as anybody can see."""

    def __init__(self, engine, is_elsewhere=False):
        self.engine, self.is_elsewhere = engine, is_elsewhere
        self.path = f"{engine.root}/proxy.sock"
        self.actions = []  # (method, pattern, action, hit)
        self.lock = threading.Lock()
        self.requests = []  # "METHOD /path", as they came
        self.created = set()  # ids of containers, as the engine has told them
        self.open = set()  # connections

    @property
    def environment(self):
        variable = "DOCKER_HOST" if self.engine.name == "docker" else "CONTAINER_HOST"
        where = "tcp://127.0.0.1:%d" % self.listener.getsockname()[1] if self.is_elsewhere else f"unix://{self.path}"
        return {**self.engine.environment, variable: where}

    def on(self, method, pattern, action):
        hit = threading.Event()
        with self.lock:
            self.actions.append((method, re.compile(pattern), action, hit))
        return hit

    def __enter__(self):
        self.listener = socket.socket(socket.AF_INET if self.is_elsewhere else socket.AF_UNIX)
        self.listener.bind(("127.0.0.1", 0) if self.is_elsewhere else self.path)
        self.listener.listen(256)
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def __exit__(self, *_):
        # A thread in accept() is only woken by this.
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        with self.lock:
            left = list(self.open)
        for connection in left:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)

    def serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.handle, args=(client,), daemon=True).start()

    def taken(self, line):
        """The action for a request, which is done once."""
        method, target = line.split()[:2]
        with self.lock:
            self.requests.append(f"{method} {target}")
            for one in self.actions:
                if one[0] == method and one[1].search(target):
                    self.actions.remove(one)
                    return one[2], one[3]
        return None, None

    def handle(self, client):
        client.settimeout(PATIENCE)
        with self.lock:
            self.open.add(client)
        try:
            with contextlib.suppress(OSError):
                request = read_message(client)
                if not request:
                    return
                action, hit = self.taken(request.split(b"\r\n", 1)[0].decode())
                exchange = Exchange(client, request, self)
                try:
                    if action is None and exchange.makes_container():
                        exchange.send()
                        exchange.receive()
                        exchange.pass_on()
                    elif action is None:
                        self.pump(client, exchange)
                    else:
                        action(exchange)
                finally:
                    exchange.close()
                    if hit:
                        hit.set()
        finally:
            with self.lock:
                self.open.discard(client)
            client.close()

    @staticmethod
    def pump(client, exchange):
        """To and fro until either side has enough: some answers come late, or in pieces."""
        exchange.send()
        pair = {client: exchange.upstream, exchange.upstream: client}
        while True:
            ready, _, _ = select.select(list(pair), [], [])
            for side in ready:
                data = side.recv(1 << 16)
                if not data:
                    return
                pair[side].sendall(data)
