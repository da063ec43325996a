"""What schemathesis is told about this API while it fuzzes: which sandboxes, processes, templates, keys and traces there
really are, so that it gets past "not found", and how a stream ends that would never end by itself.

It is loaded by schemathesis itself, see openapi_fuzz_test.py, which passes an address, a key and a place for the tally.
"""

import collections
import http.client
import io
import json
import os
import tarfile
import time
import zlib

import jsonschema_rs
import schemathesis
import schemathesis.transport.requests as transport

ADDRESS, KEY = os.environ["FUZZ_ADDRESS"], os.environ["FUZZ_KEY"]
DRIVER = os.environ["FUZZ_DRIVER"]
SHORT_MS = 300  # what a command may take, and how long an endless stream is read
STREAMS = {"application/x-ndjson", "application/vnd.atoll.stream", "text/plain"}
MOST_STREAM_BYTES = 1 << 22
CHANGES = {"/stop", "/start", "/recreate", "/pause", "/resume", "/snapshot", "/snapshots", "/fork", "/reset", "/resize", "/renew", "/release", "/token"}
MOST_SANDBOXES = 40  # that the fuzzer made and that are kept for its next steps
MOST_POOLS = 5

COMMANDS = ["echo out; echo err >&2", r"printf '\377\376'", "exit 3", "sleep 9", "head -c 100000 /dev/zero", "kill -9 $$",
            "cat", "yes | head -n 5000", "ls -la", "echo kept > note"]

ARCHIVE = bytes(10240)  # an end and nothing before it

TALLY = collections.defaultdict(collections.Counter)  # "POST /v1/runs" -> status -> how often
if os.path.exists(os.environ["FUZZ_TALLY"]):  # of the phases before
    with open(os.environ["FUZZ_TALLY"]) as tally:
        for label, statuses in json.load(tally).items():
            TALLY[label].update(statuses)
made = collections.deque()
pools = collections.deque()


def call(method, path, body=None, accept="application/json"):
    """Asks the daemon beside the fuzzer. The first line is enough: a stream goes on without us."""
    connection = http.client.HTTPConnection(ADDRESS, timeout=30)
    try:
        raw = body if body is None or isinstance(body, bytes) else json.dumps(body)
        connection.request(method, path, raw, {"Authorization": f"Bearer {KEY}", "Accept": accept})
        answer = connection.getresponse()
        line = answer.readline()
        return answer.status, json.loads(line) if line else {}
    finally:
        connection.close()


def ensure_sandbox(name):
    """The sandbox with this name, running, whatever the fuzzer has done to it."""
    deadline = time.monotonic() + 30
    while True:
        status, box = call("POST", "/v1/sandboxes", {"name": name, "driver": DRIVER, "ttl_s": 3600})
        if status in (200, 201):
            break
        assert status == 409 and time.monotonic() < deadline, box
        if "differs in" in box["detail"]:  # the fuzzer has given it another environment, or other resources
            call("DELETE", f"/v1/sandboxes/{name}")
        else:  # the one that it was is being removed
            time.sleep(0.01)
    if box["state"] == "paused":
        call("POST", f"/v1/sandboxes/{name}/resume")
    elif box["state"] == "stopped":
        call("POST", f"/v1/sandboxes/{name}/start")
    if status == 201:
        call("POST", f"/v1/sandboxes/{name}/files/batch", {"files": {"note": "some text\n", "project/a.py": "print(1)\n"}})
    return name


def root_archive(text):
    """A root file system with one file."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as tar:
        info = tarfile.TarInfo("etc/motd")
        info.size = len(text)
        tar.addfile(info, io.BytesIO(text.encode()))
    return held.getvalue()


def ensure_template(name):
    """The template with this name, with a version to go back to, whatever the fuzzer has done to it."""
    status, told = call("GET", f"/v1/templates/{name}")
    for number in range(2 - (len(told["versions"]) if status == 200 else 0)):
        status, told = call("PUT", f"/v1/templates/{name}", root_archive(f"version {number}"))
        assert status == 201, told
    return name


def ensure_pool(name):
    """The pool with this name, small, whatever the fuzzer has done to it."""
    if call("GET", f"/v1/pools/{name}")[0] != 200:
        status, told = call("POST", "/v1/pools", {"name": name, "driver": DRIVER, "target": 1})
        assert status == 201, told
    return name


def start_process(name, command, **more):
    """Its number; 1 where none can be started, such as in a sandbox that may have one process only."""
    _, first = call("POST", f"/v1/sandboxes/{name}/exec", {"command": command, **more}, "application/x-ndjson")
    return first.get("process", 1)


def choose(case, choices):
    """The same for the same case: a seed repeats the whole."""
    what = repr((case.operation.label, case.path_parameters, case.query, case.headers, case.body))
    return choices[zlib.crc32(what.encode(errors="replace")) % len(choices)]


def is_negative(case, part):
    """Whether this part of the case is wrong on purpose: that is left as it is."""
    meta = case.meta
    component = meta.components.get(part) if meta else None
    return component is not None and component.mode.is_negative


def place(case):
    """Puts what is there into the path. Every fourth time the fuzzer's own invention stays."""
    given = case.path_parameters
    if not isinstance(given, dict) or choose(case, [1, 1, 1, 0]) == 0:
        return
    if "id" in given:
        verb = case.operation.path.split("{id}")[-1]
        changes = verb in CHANGES
        given["id"] = ensure_sandbox("changed" if changes or case.method in ("DELETE", "PATCH") else "fuzzed")
    if "process" in given:
        lives = case.operation.path.endswith(("/stdin", "/signal", "/resize"))
        tty = {"tty": {}} if case.operation.path.endswith("/resize") else {}
        given["process"] = start_process(given["id"], "cat", stdin_open=True, timeout_ms=5000, **tty) if lives \
            else start_process(given["id"], "echo said; sleep 0.05")
    if "name" in given:
        given["name"] = ensure_template("fuzzed" if case.method == "GET" else "changed")
    if "key" in given:
        given["key"] = call("POST", "/v1/keys", {"role": "viewer"})[1]["id"]
    if "pool" in given:
        given["pool"] = ensure_pool("fuzzed" if case.method == "GET" else "changed")
    if "trace" in given:
        given["trace"] = call("GET", "/v1/traces?limit=1")[1]["traces"][0]["trace_id"]


def place_file(case):
    """A path of something that is there, where a query takes one and is not wrong on purpose."""
    takes = {parameter.get("$ref", "").rsplit("/", 1)[-1] for parameter in case.operation.definition.raw.get("parameters", [])}
    if "path" not in takes or is_negative(case, "query") or choose(case, [1, 1, 0]) == 0:
        return
    operation, box = case.operation.definition.raw["operationId"], (case.path_parameters or {}).get("id")
    query = case.query = dict(case.query or {})
    query.pop("path_b64", None)
    query["path"] = choose(case, ["note", "project", "project/a.py", ".", "new/deep/er", "/workspace"])
    if operation == "uploadStatus":
        query.update(path="note", upload="u1")
    elif operation == "deleteFile" and box == "fuzzed":
        call("POST", f"/v1/sandboxes/{box}/files/batch", {"files": {"doomed/file": "x"}})
        query.update(path="doomed", recursive="true")
    elif operation == "writeFile" and choose(case, [1, 0]):
        query["path"] = "written"
        for part in ("upload", "offset", "size"):  # at random they contradict each other
            query.pop(part, None)
    elif operation == "writeArchive":
        query["path"] = "unpacked"
        if not is_negative(case, "body"):
            case.body = ARCHIVE


def bound_exec(case, body):
    """A command that exists more often than not, and that ends soon."""
    if not isinstance(body, dict):
        return
    if isinstance(body.get("command"), str) and choose(case, [1, 1, 0]):
        body["command"] = choose(case, COMMANDS)
    if isinstance(body.get("argv"), list) and choose(case, [1, 1, 0]):
        body["argv"] = ["echo", *body["argv"]]
    for name in ("cwd", "user"):
        if isinstance(body.get(name), str) and choose(case, [1, 1, 0]):
            del body[name]
    limit = body.get("timeout_ms")
    if limit is None or (isinstance(limit, int) and not 0 < limit <= SHORT_MS and 0 <= limit <= 30 * 86_400_000):
        body["timeout_ms"] = SHORT_MS


def bound_sandbox(case, body):
    """A sandbox that can be made more often than not."""
    if not isinstance(body, dict) or choose(case, [1, 1, 1, 0]) == 0:
        return
    for name in ("driver", "profile", "host_dirs", "rootfs", "template", "min_isolation", "isolation_level", "placement"):
        body.pop(name, None)
    body["driver"] = DRIVER


def bound_code(case, body):
    """Code in a language that is there more often than not. Packages would be looked for on a network that is not there:
    code_runs_test.py has them."""
    if isinstance(body.get("requirements"), list):
        body["requirements"] = body["requirements"][:0]
    if isinstance(body.get("code"), str):
        if isinstance(body.get("language"), str) and choose(case, [1, 1, 0]):
            body["language"] = choose(case, ["python", "sh", "py", "bash"])
        if body.get("exec") is None:
            body["exec"] = {}


def bound_body(case):
    body, operation = case.body, case.operation.definition.raw["operationId"]
    if operation == "exec":
        bound_exec(case, body)
    elif operation in ("createSandbox", "explainSandbox", "plan"):
        bound_sandbox(case, body)
    elif operation in ("createPool", "changePool") and isinstance(body, dict):
        if operation == "createPool":
            bound_sandbox(case, body)
        for size in ("min", "target", "max"):  # as many as may be have a test of their own (pools_test.cc)
            if isinstance(body.get(size), int) and body[size] > 2:
                body[size] = 2
    elif operation in ("run", "runBatch") and isinstance(body, dict):
        bound_sandbox(case, body.setdefault("sandbox", {}) if body.get("sandbox") is None else body["sandbox"])
        bound_code(case, body)
        for one in body["runs"] if isinstance(body.get("runs"), list) else [body.get("exec")]:
            bound_exec(case, one)
    elif operation in ("resizeSandbox", "patchSandbox") and not is_negative(case, "body") and choose(case, [1, 0]):
        resources = {"memory_mb": 256, "pids": 100}  # what a sandbox that runs can be given
        case.body = {"resources": resources} if operation == "patchSandbox" else resources
    elif operation == "putTemplate" and not is_negative(case, "body") and choose(case, [1, 1, 0]):
        case.body = root_archive(choose(case, ["one", "two", "three"]))
    elif operation == "shutDown" and isinstance(body, dict) and body.get("sandboxes") in ("leave", "end"):
        case.body = {}  # asked for in earnest, it would end the daemon


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """Batches of 10,000 runs have a test of their own (map_test.py); here they would be all that there is time for."""
    for found in find_all(raw_schema, "runs"):
        if "maxItems" in found:
            found["maxItems"] = 4


def find_all(tree, name):
    """The schemas of all properties with this name."""
    if isinstance(tree, list):
        for one in tree:
            yield from find_all(one, name)
    elif isinstance(tree, dict):
        for key, value in tree.items():
            if key == "properties" and isinstance(value, dict) and name in value:
                yield value[name]
            yield from find_all(value, name)


@schemathesis.hook
def before_call(context, case, kwargs):
    place(case)
    bound_body(case)
    answers = case.operation.definition.raw["responses"].get("200", {}).get("content", {})
    if answers:
        case.headers = case.headers if case.headers is not None else {}
        case.headers["Accept"] = choose(case, sorted(answers))
    place_file(case)


@schemathesis.hook
def after_call(context, case, response):
    TALLY[case.operation.label][str(response.status_code)] += 1
    if case.operation.label in ("POST /v1/sandboxes", "POST /v1/pools/{pool}/acquire") and response.status_code == 201:
        made.append(response.json()["id"])
        while len(made) > MOST_SANDBOXES:
            call("DELETE", f"/v1/sandboxes/{made.popleft()}")
    if case.operation.label == "POST /v1/pools" and response.status_code == 201:
        pools.append(response.json()["name"])
        while len(pools) > MOST_POOLS:
            call("DELETE", f"/v1/pools/{pools.popleft()}")
    with open(os.environ["FUZZ_TALLY"], "w") as file:
        json.dump(TALLY, file)


def kind_of(response):
    return response.headers.get("content-type", [""])[0].split(";")[0]


def schema_of(response, case, kind):
    """What the document says of an answer: for its status, or for all others."""
    answers = case.operation.definition.raw["responses"]
    answer = answers.get(str(response.status_code)) or answers.get("default", {})
    if "$ref" in answer:
        answer = case.operation.schema.raw_schema["components"]["responses"][answer["$ref"].rsplit("/", 1)[-1]]
    return answer.get("content", {}).get(kind, {}).get("schema")


def documents_of(response):
    """The JSON of an answer: one, or one a line."""
    kind = kind_of(response)
    if kind == "application/x-ndjson":
        return [json.loads(line) for line in response.content.split(b"\n")[:-1] if line]
    return [json.loads(response.content)] if kind in ("application/json", "application/problem+json") else []


@schemathesis.check
def lines_conform(ctx, response, case):
    """Each line of a stream is what the document says a line is."""
    schema = schema_of(response, case, "application/x-ndjson")
    if kind_of(response) != "application/x-ndjson" or not schema:
        return
    components = case.operation.schema.raw_schema["components"]
    validator = jsonschema_rs.Draft202012Validator({**schema, "components": components})
    for line in documents_of(response):
        if error := next(validator.iter_errors(line), None):
            raise AssertionError(f"{error.message}: {line}")


@schemathesis.check
def nothing_is_undocumented(ctx, response, case):
    """Every member of an answer is in the document: what is told and not described could be changed unnoticed."""
    schema = schema_of(response, case, kind_of(response))
    if not schema or case.operation.path == "/v1/openapi.json":
        return
    components = case.operation.schema.raw_schema["components"]["schemas"]
    for document in documents_of(response):
        if unknown := find_unknown(document, [schema], components, "answer"):
            raise AssertionError(f"not in the document: {unknown}")


def expand(schemas, components):
    """Those and everything that they are made of."""
    for schema in schemas:
        if "$ref" in schema:
            yield from expand([components[schema["$ref"].rsplit("/", 1)[-1]]], components)
        for name in ("allOf", "oneOf", "anyOf"):
            yield from expand(schema.get(name, []), components)
        yield schema


def find_unknown(value, schemas, components, where):
    all_of_them = list(expand(schemas, components))
    if isinstance(value, list):
        items = [schema["items"] for schema in all_of_them if "items" in schema]
        return next((found for one in value if items and (found := find_unknown(one, items, components, where + "[]"))), None)
    if not isinstance(value, dict):
        return None
    for key, member in value.items():
        described = [schema["properties"][key] for schema in all_of_them if key in schema.get("properties", {})]
        described += [schema["additionalProperties"] for schema in all_of_them
                      if isinstance(schema.get("additionalProperties"), dict)]
        is_any = any(schema.get("type") == "object" and "properties" not in schema and "additionalProperties" not in schema
                     for schema in all_of_them)
        if not described and not is_any:
            return f"{where}.{key}"
        if described and (found := find_unknown(member, described, components, f"{where}.{key}")):
            return found
    return None


@schemathesis.serializer("application/x-tar")
def as_bytes(context, value):
    """Archives as they are: mostly not any, sometimes one."""
    if isinstance(value, bytes):
        return value
    return value.encode() if isinstance(value, str) else json.dumps(value, default=str).encode()


# Schemathesis reads endless server-sent events for as long as a request may take. Here every stream is read until it has
# been silent for a moment, so that the time for the first byte may be long and that for the rest is not.

is_sse, iterate = transport.is_event_stream, transport._iter_event_stream


def iterate_for_a_moment(response):
    connection = response.raw.connection
    if connection is not None and connection.sock is not None:
        connection.sock.settimeout(2 * SHORT_MS / 1000)
    return iterate(response)


def read_whole_lines(chunks, timeout, most):
    content, was_cut = b"", False
    try:
        for chunk in chunks:
            content += chunk
            if len(content) > MOST_STREAM_BYTES:
                was_cut = True
                break
    except TimeoutError:
        was_cut = True
    return content[:content.rfind(b"\n") + 1] if was_cut else content, was_cut


transport.is_event_stream = lambda kind: is_sse(kind) or (kind or "").split(";")[0] in STREAMS
transport._iter_event_stream = iterate_for_a_moment
transport.read_event_stream = read_whole_lines
