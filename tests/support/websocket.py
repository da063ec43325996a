"""A WebSocket client, small and strict: what a server may not send is an error."""

import base64
import hashlib
import json
import os
import struct

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


class WebSocket:
    def __init__(self, connection, path, protocol="atoll.exec.v1", headers=None):
        """`connection` is an http.client one that nothing was asked on yet."""
        self.connection = connection
        key = base64.b64encode(os.urandom(16)).decode()
        connection.request("GET", path, headers={
            "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": key, "Sec-WebSocket-Protocol": protocol, **(headers or {})})
        self.answer = connection.getresponse()
        self.problem = None
        if self.answer.status != 101:
            self.problem = json.loads(self.answer.read())
            return
        digest = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
        assert self.answer.getheader("Sec-WebSocket-Accept") == base64.b64encode(digest).decode()
        assert self.answer.getheader("Sec-WebSocket-Protocol") == protocol
        self.file = self.answer.fp

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()
        self.answer.close()

    def send_frame(self, first, payload, masked=True):
        head = bytes([first])
        bit = 0x80 if masked else 0
        if len(payload) < 126:
            head += bytes([bit | len(payload)])
        elif len(payload) < 65536:
            head += struct.pack("!BH", bit | 126, len(payload))
        else:
            head += struct.pack("!BQ", bit | 127, len(payload))
        mask = os.urandom(4) if masked else b""
        if masked:
            payload = bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))
        self.connection.sock.sendall(head + mask + payload)

    def send(self, message):
        if isinstance(message, bytes):
            self.send_frame(0x80 | BINARY, message)
        else:
            self.send_frame(0x80 | TEXT, json.dumps(message).encode())

    def receive(self):
        """(kind, payload) of the next frame; text is decoded from JSON."""
        first, second = self.file.read(2)
        assert second < 128, "a server's frame is masked"
        assert first & 0x80, "a server's frame is fragmented"
        length = second
        if length == 126:
            length, = struct.unpack("!H", self.file.read(2))
        elif length == 127:
            length, = struct.unpack("!Q", self.file.read(8))
        payload = self.file.read(length)
        kind = first & 0x0f
        return kind, json.loads(payload) if kind == TEXT else payload

    def until_end(self):
        """Output by stream, the lines, and the code of the close."""
        output, lines = {1: b"", 2: b""}, []
        while True:
            kind, payload = self.receive()
            if kind == BINARY:
                output[payload[0]] += payload[1:]
            elif kind == TEXT:
                lines.append(payload)
            elif kind == CLOSE:
                return output, lines, struct.unpack("!H", payload[:2])[0]
