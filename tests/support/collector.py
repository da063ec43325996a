"""An OTLP collector that records what it is sent, and believes nothing that is not exactly as the protocol has it."""

import http.server
import json
import re
import threading

HEX32, HEX16 = re.compile(r"[0-9a-f]{32}"), re.compile(r"[0-9a-f]{16}")
DIGITS = re.compile(r"[0-9]{1,19}")


def need(condition, what):
    if not condition:
        raise ValueError(what)


def members(value, required, optional=()):
    need(isinstance(value, dict), f"no object: {value!r}")
    need(set(required) <= set(value) <= set(required) | set(optional), f"members: {sorted(value)}")
    return value


def attributes(value):
    found = {}
    need(isinstance(value, list), "attributes are a list")
    for one in value:
        members(one, ["key", "value"])
        need(len(one["value"]) == 1, "one kind of value")
        kind, held = next(iter(one["value"].items()))
        kinds = {"stringValue": str, "intValue": str, "boolValue": bool, "doubleValue": float}
        need(isinstance(held, kinds[kind]), f"{kind}: {held!r}")
        need(kind != "intValue" or re.fullmatch(r"-?[0-9]{1,19}", held), f"intValue: {held!r}")
        need(one["key"] not in found, f"{one['key']} is there twice")
        found[one["key"]] = int(held) if kind == "intValue" else held
    return found


def span(value):
    members(value, ["traceId", "spanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano", "attributes"],
            ["parentSpanId", "status"])
    need(HEX32.fullmatch(value["traceId"]) and int(value["traceId"], 16), "traceId")
    need(HEX16.fullmatch(value["spanId"]) and int(value["spanId"], 16), "spanId")
    parent = value.get("parentSpanId", "")
    need(not parent or (HEX16.fullmatch(parent) and int(parent, 16)), "parentSpanId")
    need(isinstance(value["name"], str) and value["name"], "name")
    need(value["kind"] in (1, 2), "kind")
    for time in "startTimeUnixNano", "endTimeUnixNano":
        need(isinstance(value[time], str) and DIGITS.fullmatch(value[time]), time)
    need(int(value["startTimeUnixNano"]) <= int(value["endTimeUnixNano"]), "it ends before it begins")
    if "status" in value:
        members(value["status"], ["code"], ["message"])
        need(value["status"]["code"] in (0, 1, 2), "status")
    return {**value, "parentSpanId": parent, "attributes": attributes(value["attributes"])}


def once(pairs):
    names = [name for name, _ in pairs]
    need(len(names) == len(set(names)), f"a member is there twice: {names}")
    return dict(pairs)


def decode(body):
    """The spans of one request."""
    whole = members(json.loads(body, object_pairs_hook=once), ["resourceSpans"])
    found = []
    for resource in whole["resourceSpans"]:
        members(resource, ["resource", "scopeSpans"])
        about = attributes(members(resource["resource"], ["attributes"])["attributes"])
        need({"service.name", "service.version", "service.instance.id"} <= set(about), "the resource")
        for scope in resource["scopeSpans"]:
            members(scope, ["scope", "spans"])
            members(scope["scope"], ["name"], ["version"])
            found += [span(one) for one in scope["spans"]]
    need(found, "no spans")
    return found


class Collector:
    """Begins to listen when start() is called; the port is known, and refuses, before. `status` is what it answers."""

    def __init__(self):
        self.spans, self.problems, self.requests, self.bodies, self.headers = [], [], 0, b"", []
        self.status, self.gate = 200, threading.Event()
        self.gate.set()
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                collector.take(self)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler, bind_and_activate=False)
        self.server.daemon_threads = True
        self.server.server_bind()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = None

    def start(self):
        self.server.server_activate()
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()
        return self

    def stop(self):
        self.gate.set()
        if self.thread:
            self.server.shutdown()
            self.thread.join()
        self.server.server_close()

    def take(self, request):
        body = request.rfile.read(int(request.headers["Content-Length"]))
        self.requests += 1
        status = self.status
        try:
            need(request.path == "/v1/traces", request.path)
            need(request.headers["Content-Type"] == "application/json", "Content-Type")
            spans = decode(body)
        except (ValueError, KeyError, TypeError) as problem:
            self.problems.append(f"{problem!r}: {body[:2000]!r}")
            spans, status = [], 400
        self.gate.wait()
        if status == 200:
            self.bodies += body
            self.headers.append(dict(request.headers))
            self.spans += spans
        answer = b"{}"
        try:
            request.send_response(status)
            request.send_header("Content-Type", "application/json")
            request.send_header("Content-Length", str(len(answer)))
            request.end_headers()
            request.wfile.write(answer)
        except OSError:
            pass  # whoever asked has not waited

    def named(self, name):
        return [one for one in self.spans if one["name"] == name]
