"""What a sandbox can see of the one before it: a network namespace that nobody used serves the next sandbox, see
native/launcher/clean_networks.h. One that somebody used in any way must not.

Namespaces are told apart by the cookie that the kernel gives each of them, once.
"""

import array
import json
import os
import shutil
import socket
import tempfile
import unittest

from live import Daemon, wait_until

LOOKS = 40
# Everything of a network namespace that a process without rights in it can read and that is not of the whole host.
LOOK = r"""
import json, socket
seen = {}
for name in ("dev snmp snmp6 netstat rt6_stats ipv6_route route fib_triestat ip6_flowlabel igmp igmp6 mcfilter mcfilter6 arp "
             "tcp tcp6 udp udp6 raw raw6 icmp icmp6 anycast6 dev_mcast ip_mr_vif xfrm_stat dev_snmp6/lo").split():
    try:
        seen[name] = open("/proc/self/net/" + name).read()
    except OSError as error:
        seen[name] = error.strerror
seen["sockets"] = open("/proc/self/net/sockstat").readline()
"""
TELL = r"""
import json, socket
with socket.socket(socket.AF_UNIX) as any_socket:
    cookie = int.from_bytes(any_socket.getsockopt(socket.SOL_SOCKET, 71, 8), "little")
print(json.dumps({"cookie": cookie, "seen": globals().get("seen")}))
"""
# What each leaves outlives the process that did it.
TRACES = {
    "a packet": r"""
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
    sender.sendto(b"secret", ("127.0.0.1", 9))
""",
    "a connection that waits for its time to pass": r"""
import socket
listener = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(listener.getsockname())
served, _ = listener.accept()
client.close(); served.close(); listener.close()
""",
    "a route that was looked up, and nothing sent": r"""
import socket
with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as asker:
    asker.connect(("::1", 9))
""",
    "a label for flows": r"""
import socket, struct
with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as holder:
    wanted = socket.inet_pton(socket.AF_INET6, "::1") + struct.pack(">I", 0x12345) + struct.pack("<BBHHHI", 0, 1, 1, 60, 60, 0)
    holder.setsockopt(socket.IPPROTO_IPV6, 32, wanted)
""",
}
# A file that is open there is the namespace's whoever reads it, pins it, and is no socket that would be counted.
PASS_ON = r"""
import array, socket
with socket.socket(socket.AF_UNIX) as way, open("/proc/self/net/unix") as names:
    way.connect({meeting!r})
    way.sendmsg([b"."], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [names.fileno()]))])
"""
HOLD_A_NAME = r"""
import socket, threading
name = socket.socket(socket.AF_UNIX)
name.bind("\0the-name-of-a-tenant")
threading.Event().wait(600)
"""


class FormerUser(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon().start()
        self.addCleanup(self.daemon.end)

    def run_script(self, *parts, **sandbox):
        answer = self.daemon.call("POST", "/v1/runs", {
            "sandbox": {"driver": "native", **sandbox}, "exec": {"argv": ["/usr/bin/python3", "-c", "".join(parts)]}})
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(answer.json["exit_code"], 0, answer.json)
        return json.loads(answer.json["stdout"])

    def test_a_namespace_that_nobody_used_serves_again(self):
        """Without this the other case would prove nothing."""
        cookies = [self.run_script(TELL)["cookie"] for _ in range(LOOKS)]
        self.assertLess(len(set(cookies)), len(cookies))

    def test_nothing_is_seen_of_whoever_used_one(self):
        fresh = self.run_script(LOOK, TELL)["seen"]
        for what, trace in TRACES.items():
            with self.subTest(what):
                used = self.run_script(trace, TELL)["cookie"]
                for _ in range(LOOKS):
                    told = self.run_script(LOOK, TELL)
                    self.assertNotEqual(told["cookie"], used)
                    self.assertEqual(told["seen"], fresh)

    def test_in_the_same_namespace_each_would_be_seen(self):
        """The control: what is looked for is there to be found."""
        fresh = self.run_script(LOOK, TELL)["seen"]
        for what, trace in TRACES.items():
            with self.subTest(what):
                box = self.daemon.create(driver="native")
                used = json.loads(self.daemon.exec(box, "/usr/bin/python3", "-c", trace + TELL)["stdout"])["cookie"]
                told = json.loads(self.daemon.exec(box, "/usr/bin/python3", "-c", LOOK + TELL)["stdout"])
                self.assertEqual(told["cookie"], used)
                self.assertNotEqual(told["seen"], fresh)

    def meet(self):
        """A directory to show, and who waits in it for what is open elsewhere."""
        shown = tempfile.mkdtemp(prefix="atoll-live-")
        self.addCleanup(shutil.rmtree, shown)
        os.chmod(shown, 0o777)
        meeting = os.path.join(shown, "meeting")
        waiting = socket.socket(socket.AF_UNIX)
        self.addCleanup(waiting.close)
        waiting.bind(meeting)
        os.chmod(meeting, 0o777)
        waiting.listen(8)
        waiting.settimeout(20)

        def received():
            way, _ = waiting.accept()
            with way:
                _, extra, _, _ = way.recvmsg(1, socket.CMSG_SPACE(4))
            descriptors = array.array("i", extra[0][2])
            self.addCleanup(os.close, descriptors[0])
            return descriptors[0]
        return PASS_ON.format(meeting=meeting), received, [{"path": shown, "access": "ro"}]

    def test_nobody_has_the_network_of_one_that_could_pass_it_on(self):
        pass_on, received, shown = self.meet()
        for _ in range(3):
            used = self.run_script(pass_on, TELL, host_dirs=shown)["cookie"]
            received()
            for _ in range(LOOKS):
                self.assertNotEqual(self.run_script(TELL)["cookie"], used)

    def test_what_is_passed_on_tells_of_the_network_it_comes_from(self):
        """The control: whoever holds it sees what a later tenant would do."""
        pass_on, received, shown = self.meet()
        box = self.daemon.create(driver="native", host_dirs=shown)
        self.assertEqual(self.daemon.exec(box, "/usr/bin/python3", "-c", pass_on)["exit_code"], 0)
        held = received()
        self.daemon.start_process(box, "/usr/bin/python3", "-c", HOLD_A_NAME)

        def names():
            os.lseek(held, 0, os.SEEK_SET)
            return os.read(held, 65536)
        wait_until(lambda: b"@the-name-of-a-tenant" in names(), "the name is seen from outside")


if __name__ == "__main__":
    unittest.main()
