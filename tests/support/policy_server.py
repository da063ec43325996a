"""A policy server for tests: OPA's documented data API, as much of it as a client sees.

`POST /v1/data/<path>` with `{"input": …}` answers 200 with `{"result": …, "decision_id": …}`, and without `result` where the
policy has no document at that path. The rule is a Python function of the input.
"""

import http.server
import json
import threading


class PolicyServer:
    def __init__(self, path="atoll/allow"):
        self.path, self.rule, self.asked, self.silent = path, lambda question: True, [], threading.Event()
        self.silent.set()  # cleared: nobody is answered before it is set again
        self.paths, self.tokens = [], []
        self.recorded = None  # a function of the input that gives status and body as they stand
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.asked.append(body["input"])
                outer.paths.append(self.path)
                outer.tokens.append(self.headers.get("Authorization"))
                outer.silent.wait(30)
                answer = {"decision_id": f"decision-{len(outer.asked)}"}
                if self.path == f"/v1/data/{outer.path}":
                    answer["result"] = outer.rule(body["input"])
                status, data = 200, json.dumps(answer).encode()
                if outer.recorded:
                    status, data = outer.recorded(body["input"])
                try:
                    self.send_response(status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(data)))
                    self.send_header("Connection", "close")  # so that close() is the end of everything
                    self.end_headers()
                    self.wfile.write(data)
                except OSError:
                    pass  # whoever asked has gone

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1/data/{path}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05})
        self.thread.start()

    def close(self):
        self.silent.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
