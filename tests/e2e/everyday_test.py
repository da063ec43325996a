"""What people do all day works in a sandbox: native as root, rootless as an ordinary user.

Each case gets a sandbox of its own and runs one script in it. What is refused is refused by policy, and says so.
"""

import os
import shutil
import unittest

from live import Daemon

DRIVER = "native" if os.geteuid() == 0 else "rootless"
SECONDS = 50  # within the patience of a call

# Asks again until it holds: servers and terminals need a moment.
PRELUDE = """
until_ok() { for _ in $(seq 400); do "$@" && return 0; sleep 0.05; done; echo "never: $*" >&2; return 1; }
"""

daemon = None


def setUpModule():
    global daemon
    daemon = Daemon().start()


def tearDownModule():
    daemon.end()  # asserts that nothing is left


class Box(unittest.TestCase):
    def setUp(self):
        self.box = daemon.create(driver=DRIVER)
        self.addCleanup(daemon.call, "DELETE", f"/v1/sandboxes/{self.box}")

    def run_script(self, script):
        return daemon.exec(self.box, "bash", "-c", PRELUDE + script, timeout_ms=SECONDS * 1000)

    def check(self, script, expected=None):
        """The script ends with 0 and, if something is expected, its output contains that."""
        done = self.run_script("set -e -o pipefail\n" + script)
        told = (f"exit code {done['exit_code']} ({done['reason']})\n"
                f"--- stdout\n{done.get('stdout', '')[-2000:]}--- stderr\n{done.get('stderr', '')[-2000:]}")
        self.assertEqual((done["exit_code"], done["reason"]), (0, "exited"), told)
        if expected is not None:
            self.assertIn(expected, done["stdout"], told)
        return done["stdout"]

    def refused(self, script, because):
        """The script fails, and its complaint contains `because`."""
        done = self.run_script(script)
        self.assertNotEqual(done["exit_code"], 0, done)
        self.assertIn(because, done.get("stderr", "") + done.get("stdout", ""), done)

    def write(self, path, text):
        answer = daemon.call("PUT", f"/v1/sandboxes/{self.box}/files?path={path}", text.encode())
        self.assertEqual(answer.status // 100, 2, answer)


class Git(Box):
    def test_commits_and_clones(self):
        self.check("""
            git init -q first
            cd first
            git config user.name Me
            git config user.email me@example.com
            echo hello > file
            git add file
            git commit -q -m 'Say hello'
            git checkout -q -b side
            echo more >> file
            git commit -q -a -m 'Say more'
            cd ..
            git clone -q first second
            git -C second log --oneline | cat
            cat second/file""", "Say more")

    def test_serves_and_fetches_over_localhost(self):
        self.check("""
            git init -q --bare served.git
            git daemon --base-path=/workspace --export-all --listen=127.0.0.1 /workspace &
            until_ok git clone -q git://127.0.0.1/served.git fetched
            kill $!
            ls -d fetched/.git""", "fetched/.git")


class Python(Box):
    def python(self, program, expected=None):
        self.write("program.py", program)
        return self.check("python3 program.py", expected)

    def test_venv(self):
        self.check("python3 -m venv --without-pip env; env/bin/python -c 'import sys; print(sys.prefix)'",
                   "/workspace/env")

    def test_pip_installs_a_local_wheel(self):
        self.write("build.py", """
import base64, hashlib, zipfile
files = {
    "tidings/__init__.py": "word = 'good tidings'\\n",
    "tidings-1.0.dist-info/METADATA": "Metadata-Version: 2.1\\nName: tidings\\nVersion: 1.0\\n",
    "tidings-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
}
with zipfile.ZipFile("tidings-1.0-py3-none-any.whl", "w") as wheel:
    record = "tidings-1.0.dist-info/RECORD,,\\n"
    for name, text in files.items():
        wheel.writestr(name, text)
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(text)}\\n"
    wheel.writestr("tidings-1.0.dist-info/RECORD", record)
""")
        self.check("""
            python3 build.py
            python3 -m venv env
            env/bin/pip install -q --no-index ./tidings-1.0-py3-none-any.whl
            cd /
            /workspace/env/bin/python -c 'import tidings; print(tidings.word)'""", "good tidings")

    def test_subprocess(self):
        self.python("import subprocess; print(subprocess.check_output(['sh', '-c', 'echo $((6*7))'], text=True))", "42")

    def test_threading(self):
        self.python("""
import threading
total, lock = 0, threading.Lock()
def add():
    global total
    for _ in range(1000):
        with lock:
            total += 1
threads = [threading.Thread(target=add) for _ in range(50)]
[t.start() for t in threads]
[t.join() for t in threads]
print(total)
""", "50000")

    def test_multiprocessing(self):
        self.python("""
import multiprocessing
def square(number):
    return number * number
if __name__ == "__main__":
    for method in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(method).Pool(3) as pool:
            print(method, sum(pool.map(square, range(100))))
    shared = multiprocessing.Value("i", 7)
    with shared.get_lock():
        shared.value += 1
    print("shared", shared.value)
""", "forkserver 328350\nshared 8")

    def test_asyncio(self):
        self.python("""
import asyncio
async def main():
    child = await asyncio.create_subprocess_exec("echo", "from a child", stdout=-1)
    print((await child.communicate())[0].decode())
asyncio.run(main())
""", "from a child")

    def test_sqlite(self):
        self.python("""
import sqlite3
base = sqlite3.connect("base.db")
base.execute("pragma journal_mode=wal")
base.execute("create table t (n)")
base.executemany("insert into t values (?)", [(n,) for n in range(1000)])
base.commit()
print(base.execute("select sum(n) from t").fetchone()[0])
""", "499500")

    def test_ssl_knows_the_public_certificates(self):
        self.python("import ssl; print(len(ssl.create_default_context().get_ca_certs()) > 50)", "True")

    def test_http_server_and_client(self):
        self.python("""
import http.server, threading, urllib.request
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print("got", len(urllib.request.urlopen(f"http://localhost:{server.server_port}/program.py").read()) > 100)
""", "got True")

    def test_tempfile_and_shared_memory(self):
        self.python("""
import tempfile
from multiprocessing import shared_memory
with tempfile.TemporaryDirectory() as directory, tempfile.NamedTemporaryFile(dir=directory) as file:
    file.write(b"x")
    print(directory)
memory = shared_memory.SharedMemory(create=True, size=1 << 20)
memory.buf[0] = 7
print("byte", memory.buf[0])
memory.close()
memory.unlink()
""", "byte 7")

    def test_unix_sockets(self):
        self.python("""
import os, socket, threading
listener = socket.socket(socket.AF_UNIX)
listener.bind("s.sock")
listener.listen()
def serve():
    peer, _ = listener.accept()
    socket.send_fds(peer, [b"x"], [os.open("program.py", os.O_RDONLY)])
threading.Thread(target=serve).start()
client = socket.socket(socket.AF_UNIX)
client.connect("s.sock")
_, descriptors, _, _ = socket.recv_fds(client, 1, 1)
print("sent", os.fstat(descriptors[0]).st_size > 0)
""", "sent True")


class Node(Box):
    def node(self, program, expected):
        self.write("program.js", program)
        self.check("node program.js", expected)

    def test_counts_processors(self):
        processors = len(os.sched_getaffinity(0))
        self.node("console.log(require('os').cpus().length, 'cpus')", f"{processors} cpus")

    def test_files(self):
        self.node("""
const fs = require('fs');
fs.mkdirSync('a/b', {recursive: true});
fs.writeFileSync('a/b/c', 'text');
fs.cpSync('a', 'z', {recursive: true});
console.log(fs.readFileSync('z/b/c', 'utf8'), fs.readdirSync('.').sort().join());
""", "text a,program.js,z")

    def test_child_processes(self):
        self.node("console.log(require('child_process').execSync('echo $((6*7))').toString())", "42")

    def test_worker_threads(self):
        self.node("""
const {Worker} = require('worker_threads');
const worker = new Worker("require('worker_threads').parentPort.postMessage(6 * 7)", {eval: true});
worker.on('message', answer => console.log(answer));
""", "42")

    def test_http_on_localhost(self):
        self.node("""
const http = require('http');
const server = http.createServer((request, response) => response.end('served')).listen(0, 'localhost', () => {
  http.get({host: 'localhost', port: server.address().port}, response => {
    response.on('data', data => console.log(data.toString()));
    response.on('end', () => server.close());
  });
});
""", "served")

    def test_npm_installs_a_local_tarball(self):
        self.check("""
            mkdir package app
            echo '{"name": "tidings", "version": "1.0.0", "main": "index.js"}' > package/package.json
            echo 'module.exports = "good tidings"' > package/index.js
            tar czf tidings.tgz package
            cd app
            npm init -y > /dev/null
            npm install --offline --no-audit --no-fund ../tidings.tgz
            node -p 'require("tidings")'""", "good tidings")


class Compilers(Box):
    def test_gcc(self):
        self.write("hello.c", '#include <stdio.h>\nint main() { puts("hello from C"); }\n')
        self.check("gcc -O2 -Wall hello.c -o hello; ./hello", "hello from C")

    def test_gxx_with_threads(self):
        self.write("hello.cc", '#include <iostream>\n#include <thread>\n'
                   'int main() { std::thread([] { std::cout << "hello from C++\\n"; }).join(); }\n')
        self.check("g++ -std=c++20 hello.cc -o hello -pthread; ./hello", "hello from C++")

    def test_make(self):
        self.write("Makefile", "all: one two\n\t@cat one two\n%:\n\t@echo made $@ > $@\n")
        self.check("make -s -j4", "made one\nmade two")

    def test_a_cmake_project(self):
        self.write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.20)\nproject(hello C)\nadd_executable(hello hello.c)\n"
                   "enable_testing()\nadd_test(NAME hello COMMAND hello)\n")
        self.write("hello.c", "int main() { return 0; }\n")
        self.check("cmake -S . -B build; cmake --build build -j2; ctest --test-dir build", "100% tests passed")

    def test_perl(self):
        self.check("""perl -MPOSIX -MData::Dumper -e 'print join(",", map { $_ * 2 } 1..3), "\\n"; fork or exit; wait'""",
                   "2,4,6")

    # Nobody has to have these; where they are, they work.
    if shutil.which("java", path="/usr/bin"):
        def test_java(self):
            self.check("java -version 2>&1", "version")

    if os.path.exists("/usr/local/go/bin/go"):
        def test_go(self):
            self.check("/usr/local/go/bin/go version", "go version")


class Terminals(Box):
    def test_tmux(self):
        self.check("""
            tmux -f /dev/null new-session -d -s work
            tmux send-keys -t work 'echo typed-$((6*7))' Enter
            until_ok sh -c 'tmux capture-pane -p -t work | grep -x typed-42'
            tmux kill-server""", "typed-42")

    def test_script_gives_a_terminal(self):
        self.check("script -qec 'tty; stty size; test -t 0 && echo a terminal' /dev/null < /dev/null", "a terminal")

    def test_job_control(self):
        self.check("""
            cat > session << 'END'
            sleep 100 &
            kill -STOP %1
            until jobs | grep Stopped; do :; done
            bg %1
            kill %1
            wait %1
            echo ended with $?
END
            script -qec 'bash --norc -i session' /dev/null < /dev/null
            bash -mc 'sleep 100 & jobs; kill %1; wait %1' || echo monitored $?""", "monitored 143")

    def test_vim(self):
        self.check("echo one > text; vim -u NONE -es -c '%s/one/two/' -c wq text; cat text", "two")

    def test_less(self):
        self.check("seq 1000 > many; less many | tail -n 1; seq 5 > few; "
                   "script -qec 'TERM=xterm less -FX few' /dev/null < /dev/null | tr -d '\\r'", "\n2\n3\n4\n5\n")


class System(Box):
    def test_top(self):
        shown = self.check("top -b -n 1", " top")
        self.assertIn("%Cpu(s)", shown)
        self.assertIn("atoll-age", shown)

    def test_free(self):
        total, used = self.check("free -b", "Mem:").split("Mem:")[1].split()[:2]
        self.assertGreater(int(total), int(used))

    def test_ps(self):
        shown = self.check("ps aux", "ps aux")
        self.assertLess(len(shown.splitlines()), 8, shown)

    def test_uptime(self):
        self.check("uptime; pgrep bash; nproc", "load average")

    def test_df_and_du(self):
        self.check("dd if=/dev/zero of=ballast bs=1M count=20 status=none; du -sm . ; df -m /workspace | tail -n 1", "20\t.")

    def test_who_and_where_am_i(self):
        shown = self.check("whoami; id -un; groups; hostname; pwd; echo ~; uname -s; getent passwd $(id -u)")
        self.assertEqual(shown.splitlines()[3:7], ["sandbox", "/workspace", "/home/user", "Linux"], shown)

    def test_names_are_resolved(self):
        shown = self.check("getent ahosts localhost; getent services ssh; getent group users", "127.0.0.1")
        self.assertIn("::1", shown)

    def test_locale_and_date(self):
        self.check("locale; locale -a; date; TZ=Asia/Tokyo date +%Z", "JST")

    def test_limits_and_priorities(self):
        self.check("ulimit -n; ulimit -u; nice -n 5 nice; taskset -c 0 true; timeout 0.1 sleep 9 || echo timed $?", "timed 124")

    def test_nohup_and_setsid(self):
        self.check("nohup setsid sh -c 'echo detached > out' > /dev/null 2>&1 & until_ok grep detached out", "detached")

    def test_file_and_ldd(self):
        self.check("ldd /bin/ls; file /bin/ls", "ELF 64-bit")


class Files(Box):
    def test_tar_and_compressors(self):
        self.check("""
            mkdir tree
            seq 10000 > tree/numbers
            ln -s numbers tree/link
            for way in z j J; do tar c${way}f archive.$way tree; mkdir to-$way; tar x${way}f archive.$way -C to-$way; done
            diff -r tree to-z/tree
            diff -r tree to-J/tree
            gzip -k tree/numbers
            zcat tree/numbers.gz | tail -n 1""", "10000")

    def test_find_and_xargs(self):
        self.check("mkdir -p a/b; touch a/one a/b/two; find . -name 'two' -printf '%p\\n'; "
                   "find a -type f -print0 | xargs -0 -P 4 -n 1 basename | sort | tr '\\n' ' '", "one two")

    def test_awk_sed_grep(self):
        self.check("seq 100 | awk '{s += $1} END {print s}' | sed 's/50/fifty /' | grep -E 'fifty +'", "fifty 50")

    def test_sort_of_a_big_file(self):
        self.check("seq 2000000 | shuf > big; sort -n --parallel=2 -S 8M big | tail -n 1; rm big; ls /tmp", "2000000")

    def test_sparse_files_and_fallocate(self):
        self.check("truncate -s 10G sparse; fallocate -l 10M full; stat -c %s sparse full; cp --sparse=always sparse copy; "
                   "cp --reflink=auto full again; sync again", "10737418240\n10485760")

    def test_modes_and_owners(self):
        self.check("umask 027; touch file; stat -c %a file; chmod 4711 file; stat -c %a file; chgrp $(id -g) file; "
                   "chown $(id -u) file; install -m 755 file program; stat -c %a program", "640\n4711\n755")
        self.refused("touch mine; chown 12345 mine", "mine")

    def test_links_fifos_and_locks(self):
        self.check("touch file; ln file hard; ln -s file soft; stat -c %h file; mkfifo pipe; echo through > pipe & "
                   "cat pipe; flock file echo locked; realpath soft", "locked\n/workspace/file")

    def test_times_and_attributes(self):
        self.check("touch -d '2020-01-02 03:04:05' file; stat -c %y file; cp -a file copy; stat -c %y copy",
                   "2020-01-02 03:04:05.000000000 +0000\n2020-01-02")

    def test_sqlite3(self):
        self.check("sqlite3 base.db 'create table t(n); insert into t values (6), (7); select sum(n) from t'", "13")

    def test_dd_from_devices(self):
        self.check("dd if=/dev/urandom bs=1k count=1 status=none | wc -c; head -c 3 /dev/zero | od -An -tx1; "
                   "echo x > /dev/null; echo y > /dev/full || echo full", "1024\n 00 00 00\nfull")

    def test_inotify(self):
        self.write("watch.py", """
import ctypes, os, struct
libc = ctypes.CDLL(None)
watch = libc.inotify_init1(0)
assert libc.inotify_add_watch(watch, b".", 0x100) > 0
open("new", "w").close()
print("saw", os.read(watch, 4096)[16:19].decode())
""")
        self.check("python3 watch.py", "saw new")


class LocalNetwork(Box):
    def test_curl_to_a_local_server(self):
        self.check("""
            echo over the wire > page
            python3 -m http.server 8000 --bind 127.0.0.1 > log 2>&1 &
            until_ok curl -sf http://localhost:8000/page
            kill $!""", "over the wire")

    def test_openssl_request_server_and_client(self):
        self.check("""
            openssl req -x509 -newkey rsa:2048 -nodes -keyout key -out certificate -subj /CN=localhost -days 1 2> /dev/null
            openssl s_server -accept 127.0.0.1:4433 -key key -cert certificate -quiet > /dev/null 2>&1 &
            ask() { echo Q | openssl s_client -connect 127.0.0.1:4433 -CAfile certificate 2> /dev/null; }
            says_ok() { ask | grep 'Verify return code: 0'; }
            until_ok says_ok
            kill $!""", "Verify return code: 0 (ok)")

    def test_ssh_keygen(self):
        self.check("ssh-keygen -q -t ed25519 -N '' -f key; ssh-keygen -l -f key; ssh -V 2>&1", "ED25519")

    def test_sockets_between_shells(self):
        self.check("""
            python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 9000)); s.accept()[0].sendall(b"answered\\n")' &
            until_ok sh -c 'exec bash -c "exec 3<>/dev/tcp/127.0.0.1/9000 && cat <&3" 2> /dev/null'""", "answered")

    def test_ipv6_loopback(self):
        self.check("""python3 -c 'import socket
server = socket.create_server(("::1", 0), family=socket.AF_INET6)
client = socket.create_connection(("localhost", server.getsockname()[1]))
print("connected to", client.getpeername()[0])'""", "connected to ::1")


class Refused(Box):
    """What a sandbox does not allow, each with an error that a person understands."""

    def test_tracing(self):
        self.refused("strace -f true", "Operation not permitted")

    def test_raw_sockets(self):
        self.refused("python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)'", "not permitted")

    def test_the_network(self):
        self.refused("curl -sS --max-time 5 http://192.0.2.1/", "curl:")

    def test_adding_users(self):
        self.refused("useradd somebody", "useradd:")

    def test_writing_programs_of_the_host(self):
        self.refused("echo x >> /usr/bin/env", "Permission denied")

    def test_mounting(self):
        self.refused("mount -t tmpfs none /mnt", "mount:")

    def test_becoming_root(self):
        self.refused("su -c id < /dev/null", "su:")


if __name__ == "__main__":
    unittest.main()
