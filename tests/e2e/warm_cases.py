"""Commands that must behave the same whether a waiting interpreter runs them or one that is started for them.

Each is run both ways with the same arguments, environment, files and working directory, and without input;
differences() then says what somebody outside could have noticed.
"""

import io
import re
import zipfile
from typing import Dict, List, NamedTuple, Union


class Case(NamedTuple):
    name: str
    argv: List[str]
    env: Dict[str, str] = {}  # on top of what every command has
    files: Dict[str, Union[str, bytes]] = {}  # put into the working directory beforehand
    output_must_differ: bool = False  # chance is part of the output, and a waiting interpreter must not have fixed it
    known_difference: str = ""  # why the two cannot be equal


class Result(NamedTuple):
    exit_code: int  # 0 if a signal ended the command
    signal: int  # 0 if it exited
    stdout: bytes
    stderr: bytes


def differences(case, plain, warm):
    """What differs between two results, as lines for a person. Empty if nothing does, or if it is known to."""
    pairs = zip(Result._fields, comparable(case, plain), comparable(case, warm))
    found = [f"{field}: {want!r} plain, {got!r} warm" for field, want, got in pairs if want != got]
    if case.output_must_differ:
        if plain.stdout == warm.stdout:
            return [f"stdout: {plain.stdout!r} both times, which chance should have made different"]
        found = [line for line in found if not line.startswith("stdout")]
    if case.known_difference:
        return [] if found else ["equal, although a difference is declared as known: " + case.known_difference]
    return found


def comparable(case, result):
    """Without what no two processes share (addresses, process ids), and without what is known to differ always."""
    return [without_chance(case, field) if isinstance(field, bytes) else field for field in result]


def without_chance(case, text):
    text = re.sub(rb"0x[0-9a-f]{6,}", b"0xADDRESS", text)
    text = re.sub(rb"(pid |\(node:|node\[)\d+", rb"\1PID", text)
    # The error of a worker is told as it comes, or with the worker's end: whichever is first.
    text = re.sub(rb"\n    at (\[kOnExit\]|Worker\.<computed>\.onexit) [^\n]*", b"", text)
    if case.argv[:2] == ["node", "-e"]:
        # How node itself comes to call the code takes other functions of node, which a stack trace shows.
        text = re.sub(rb"\n    at [^\n]*(node:(internal/|vm:)|\[eval\]-wrapper)[^\n]*", b"", text)
    return text


def archive(name, text):
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as file:
        file.writestr(name, text)
    return written.getvalue()


def code(name, text, *arguments, **more):
    return Case("python -c: " + name, ["python3", "-c", text, *arguments], **more)


def script(name, text, *arguments, files=None, **more):
    return Case("python FILE: " + name, ["python3", "main.py", *arguments], files={"main.py": text, **(files or {})},
                **more)


def module(name, *arguments, **more):
    return Case("python -m: " + name, ["python3", "-m", *arguments], **more)


def node_script(name, text, *arguments, files=None, file="main.js", **more):
    return Case("node FILE: " + name, ["node", file, *arguments], files={file: text, **(files or {})}, **more)


def node_code(name, text, *arguments, **more):
    return Case("node -e: " + name, ["node", "-e", text, *arguments], **more)


NESTED = """\
import sys

def outer(value):
    return [inner(v) for v in value]

def inner(value):
    try:
        return {}[value]
    except KeyError as e:
        raise ValueError(f"no {value}") from e

print("before")
outer(["a"])
"""

SHOW_MAIN = """
import sys
print(sorted(globals()), list(globals()))
print(__name__, __doc__, __package__, __spec__, __builtins__, __annotations__)
print(__loader__, vars(__loader__) if not isinstance(__loader__, type) else "")
print(globals().get("__file__"), globals().get("__cached__", "none"))
print(sys.modules["__main__"], vars(sys.modules["__main__"]) is globals(), sys._getframe().f_code.co_filename)
"""

SHOW_SYS = """
import sys
print(sorted(sys.modules))
print(sys.path, sorted(sys.path_importer_cache), sys.meta_path, len(sys.path_hooks))
print(sys.flags, sys.warnoptions, sys._xoptions, sys.dont_write_bytecode)
print(sys.argv, getattr(sys, "orig_argv", None), sys.executable, sys.prefix)
print(sys.excepthook is sys.__excepthook__, sys.displayhook is sys.__displayhook__, sys.exc_info())
print([name for name in dir(sys) if name.startswith("last_")], sys.getrecursionlimit(), sys.getswitchinterval())
print(sys.gettrace(), sys.getprofile(), getattr(sys, "ps1", None), sys.stdin, sys.stdout, sys.stderr)
"""

SHOW_STREAMS = """
import sys, os
for stream in sys.stdin, sys.stdout, sys.stderr:
    print(stream.name, stream.mode, stream.encoding, stream.errors, stream.line_buffering, stream.write_through,
          stream.newlines, stream.isatty(), stream.fileno(), type(stream.buffer).__name__)
print(sys.getfilesystemencoding(), sys.getfilesystemencodeerrors(), sys.getdefaultencoding())
import locale
print(locale.getpreferredencoding(False), locale.setlocale(locale.LC_ALL), locale.getlocale())
"""

LAST = """
import atexit, sys
def show():
    print([(name, type(getattr(sys, name)).__name__) for name in dir(sys) if name.startswith("last_")])
    trace = getattr(sys, "last_traceback", None)
    while trace:
        print(trace.tb_frame.f_code.co_name, trace.tb_lineno)
        trace = trace.tb_next
    print(sys.excepthook is sys.__excepthook__, globals().get("__file__", "no file"))
atexit.register(show)
"""

PACKAGE = {
    "tool/__init__.py": "print('package', __name__)\n",
    "tool/__main__.py": "import sys\n"
                        "from . import part\n"
                        "print(__name__, __package__, __spec__.name, sys.argv, part.here)\n"
                        "print(sys.path[0], sorted(n for n in globals()))\n"
                        "sys.exit(part.fail() if len(sys.argv) > 1 else 3)\n",
    "tool/part.py": "here = __name__\ndef fail():\n    raise LookupError('from a part')\n",
}

PYTHON = [
    code("prints", "print(1)"),
    code("nothing", ""),
    code("only a comment", "# nothing"),
    code("arguments", "import sys; print(sys.argv)", "a", "-c", "--", "", "two words", "-m", "x=y"),
    code("arguments and code in other scripts", "import sys; print(sys.argv, 'ünï', '日本', '🐚')", "ärg", "日本語", "🐚"),
    code("an argument that is no UTF-8", "import sys; print(ascii(sys.argv))", "\udcff\udc80x"),
    code("code that is no UTF-8", "print('\udcff')"),
    code("many lines", "def twice(x):\n    return 2 * x\n\nfor i in range(3):\n    print(twice(i))\n"),
    code("a docstring", "'''says what'''\nprint(__doc__)"),
    code("a coding line, which means nothing here", "# coding: latin-1\nprint(ascii('ä'))"),
    code("a future import that code inside inherits",
         "from __future__ import annotations\nexec('def f(x: nothing): pass')\nprint(f.__annotations__)"),
    code("what __main__ holds", SHOW_MAIN),
    code("what sys holds", SHOW_SYS, "x"),
    code("nothing is left open", "import os; print(os.listdir('/proc/self/fd')); print(os.open('/dev/null', 0))"),
    code("streams and locale", SHOW_STREAMS),
    code("an uncaught exception", "print('out')\ndef f():\n    1/0\nf()"),
    code("an exception with a cause and a context",
         "try:\n"
         "    try:\n"
         "        1/0\n"
         "    except Exception as e:\n"
         "        raise KeyError(1) from e\n"
         "except KeyError:\n"
         "    {}[2]"),
    code("an exception group or its absence", "raise ExceptionGroup('g', [ValueError(1), TypeError('t')])"),
    code("an exception of its own kind", "class Own(Exception):\n    def __str__(self): return 'öwn'\nraise Own"),
    code("an exception without a traceback of its own", "import json; json.loads('{')"),
    code("sys.last_* at exit", LAST + "def f(): 1/0\nf()"),
    code("no sys.last_* after SystemExit", LAST + "sys.exit(4)"),
    code("a syntax error", "print(1)\nif True\n    pass"),
    code("an unfinished bracket", "print((1, 2"),
    code("an unfinished string", "x = '''abc\n"),
    code("wrong indentation", "if 1:\n    a = 1\n  b = 2"),
    code("a syntax warning", "print('\\d', 1 is 1)"),
    code("a syntax error found while compiling", "def f():\n    return\nreturn 1"),
    code("its own excepthook",
         "import sys\n"
         "sys.excepthook = lambda kind, error, trace: print('hook', kind.__name__, error, "
         "trace.tb_frame.f_code.co_name, trace.tb_next, error.__traceback__ is trace)\n"
         "raise ValueError('v')"),
    code("an excepthook that exits",
         "import sys\n"
         "def hook(*_): sys.exit(9)\n"
         "sys.excepthook = hook\n"
         "raise ValueError('v')"),
    code("sys.exit(5)", "import sys; sys.exit(5)"),
    code("sys.exit(None)", "import sys; sys.exit(None)"),
    code("sys.exit(text)", "import sys; sys.exit('bye, für immer')"),
    code("sys.exit(256)", "import sys; sys.exit(256)"),
    code("sys.exit(-1)", "import sys; sys.exit(-1)"),
    code("sys.exit(object)", "import sys; sys.exit([1, 2])"),
    code("raise SystemExit subclass", "class Bye(SystemExit): pass\nraise Bye(6)"),
    code("exit()", "exit(7)"),
    code("os._exit with unflushed output", "import os; print('lost'); os._exit(8)"),
    code("KeyboardInterrupt", "print('out')\ndef f(): raise KeyboardInterrupt\nf()"),
    code("SIGINT to itself", "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(5)"),
    code("SIGINT handled", "import os, signal\nsignal.signal(signal.SIGINT, lambda *_: print('caught'))\n"
         "os.kill(os.getpid(), signal.SIGINT)\nprint('on')"),
    code("SIGTERM to itself", "import os, signal; print('gone', flush=True); os.kill(os.getpid(), signal.SIGTERM)"),
    code("abort", "import os; os.abort()"),
    code("what signals do",
         "import signal\n"
         "print([(s.name, signal.getsignal(s)) for s in signal.Signals if s not in (signal.SIGKILL, signal.SIGSTOP)])\n"
         "print(signal.pthread_sigmask(0, []), signal.set_wakeup_fd(-1))"),
    code("a broken pipe", "import os\nr, w = os.pipe(); os.close(r)\nos.write(w, b'x')"),
    code("environment", "import os, posix\nprint(dict(os.environ), os.environ == dict(os.environ), os.getenv('HOME'))\n"
         "print(posix.environ == os.environb)\nos.system('env')", env={"GIVEN": "a=b", "EMPTY": "", "Ü": "ö"}),
    code("a variable that is no UTF-8", "import os; print(ascii(os.environ['ODD']), os.environb[b'ODD'])", env={"ODD": "ö\udcff"}),
    code("environment of children", "import os, subprocess\nos.environ['MORE'] = '1'\ndel os.environ['GIVEN']\n"
         "print(subprocess.run(['env'], capture_output=True).stdout.decode())", env={"GIVEN": "1"}),
    code("time zone",
         "import time\n"
         "print(time.tzname, time.timezone, time.localtime(0)[:6])", env={"TZ": "Asia/Tokyo"}),
    code("time zone by rule", "import time, datetime\nprint(time.tzname, time.altzone, time.daylight)\n"
         "print(datetime.datetime.fromtimestamp(1700000000))", env={"TZ": "XYZ-3ABC,M3.2.0,M11.1.0"}),
    code("no time zone given", "import time\nprint(time.tzname, time.localtime(0)[:6])"),
    code("working directory and umask", "import os\nprint(os.getcwd(), oct(os.umask(0)))"),
    code("mode of a new file", "import os\nopen('new', 'w').close()\nprint(oct(os.stat('new').st_mode))"),
    code("hash seed", "print(hash('atoll'))", output_must_differ=True),
    code("random numbers", "import random; print(random.random())", output_must_differ=True),
    code("warnings", "import warnings\nwarnings.warn('careful')\nwarnings.warn('old', DeprecationWarning)\n"
         "def f(): warnings.warn('caller', stacklevel=2)\nf()\nprint(warnings.filters)"),
    code("warnings of a module are silent", "import helper; helper.f()",
         files={"helper.py": "import warnings\ndef f(): warnings.warn('old', DeprecationWarning)\n"}),
    code("atexit", "import atexit, sys\natexit.register(print, 'bye')\natexit.register(lambda: 1/0)\nprint('on')"),
    code("destructors at the end", "class C:\n    def __del__(self): print('gone', __name__)\nc = C()\n"),
    code("threads that outlive the main one",
         "import threading, time\n"
         "def work():\n"
         "    time.sleep(0.05); print('late', threading.main_thread().is_alive())\n"
         "threading.Thread(target=work).start()\n"
         "print(threading.current_thread().name)"),
    code("sys.exit in a thread",
         "import sys, threading\n"
         "t = threading.Thread(target=sys.exit, args=(3,))\n"
         "t.start(); t.join()"),
    code("an exception in a thread",
         "import threading\n"
         "t = threading.Thread(target=lambda: 1/0, name='t')\n"
         "t.start(); t.join()"),
    code("order of flushed output", "import sys, os\nsys.stdout.write('1'); sys.stdout.flush(); os.write(1, b'2')\n"
         "print('4'); os.write(1, b'3')"),
    code("a lot of output", "import sys\nsys.stdout.write('x' * 200_000); sys.stderr.write('y' * 200_000)"),
    code("input that is closed", "import sys\nprint(repr(sys.stdin.read()), repr(sys.stdin.buffer.read()))\ninput()"),
    code("output that cannot be flushed", "import os; print('x'); os.close(1)"),
    code("characters that cannot be written", "print('\\udcff')"),
    code("no locale", SHOW_STREAMS + "print(os.environ.get('LC_CTYPE'), sys.flags.utf8_mode)\nos.system('env')",
         env={"LANG": ""}),
    code("another locale", SHOW_STREAMS + "print('é')", env={"LC_ALL": "POSIX"}),
    code("a variable that python reads at start", "import sys; print(sys.flags.optimize, __debug__)",
         env={"PYTHONOPTIMIZE": "1"}),
    code("output that a child finds untouched", "import os; os.system('grep flags /proc/self/fdinfo/[012]')"),
    code("exec", "import os; print('before', flush=True); os.execv('/bin/sh', ['sh', '-c', 'echo after; exit 4'])"),
    code("exec of itself",
         "import os, sys\n"
         "if len(sys.argv) < 2:\n"
         "    os.execv(sys.executable, sys.orig_argv + ['again'])\n"
         "print(sys.argv)"),
    code("fork", "import os, sys\npid = os.fork()\nif pid == 0:\n    print('child'); sys.exit(3)\n"
         "print('parent', os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"),
    code("multiprocessing",
         "import multiprocessing as m\n"
         "if __name__ == '__main__':\n"
         "    with m.get_context('fork').Pool(2) as p:\n"
         "        print(p.map(abs, [-1, -2]))"),
    code("asyncio",
         "import asyncio\n"
         "async def f():\n"
         "    await asyncio.sleep(0)\n"
         "    raise OSError('x')\n"
         "asyncio.run(f())"),
    code("a recursion error", "def f(n): return f(n + 1)\ntry:\n    f(0)\nexcept RecursionError as e:\n    print(e)"),
    code("how deep a recursion gets", "def f(): f()\nf()", known_difference=
         "one frame of ours is below the command, so its recursion ends one call earlier"),
    code("frames below the command",
         "import traceback, warnings\n"
         "traceback.print_stack()\n"
         "warnings.warn('x', stacklevel=2)",
         known_difference="one frame of ours is below the command, and who asks for frames is shown it"),
    code("a trace function that stays", "import sys\nsys.settrace(lambda frame, *_: print(frame.f_code.co_name))",
         known_difference="one call of ours follows the command, and who traces calls is shown it"),
    code("its own command line", "print(open('/proc/self/cmdline', 'rb').read())", known_difference=
         "the kernel keeps the arguments and environment that a process was started with"),
    code("a memory error", "x = bytearray(1 << 62)"),
    code("import this", "import this"),
    code("modules after an import", "import sys, json\nprint(sorted(sys.modules))"),
    code("import from the working directory", "import beside; print(beside.__file__, beside.__cached__)",
         files={"beside.py": "print('beside', __name__)\n"}),
    code("import of what fails", "import beside", files={"beside.py": "def f():\n    raise OSError('no')\nf()\n"}),
    code("import of nothing", "import nothing_like_this"),
    code("pickle of a class in __main__",
         "import pickle\n"
         "class C: pass\n"
         "print(type(pickle.loads(pickle.dumps(C()))), C.__module__)"),
    code("inspect",
         "import inspect\n"
         "def f(): pass\n"
         "try:\n"
         "    print(inspect.getsource(f))\n"
         "except OSError as e:\n"
         "    print(e)"),
    code("format_exc",
         "import traceback\n"
         "try:\n"
         "    1/0\n"
         "except Exception:\n"
         "    print(traceback.format_exc())"),
    code("logging an exception",
         "import logging\n"
         "logging.basicConfig(format='%(levelname)s %(module)s %(lineno)d %(message)s')\n"
         "try:\n"
         "    1/0\n"
         "except Exception:\n"
         "    logging.exception('oops')"),
    code("help on a builtin", "help(len)"),
    code("breakpoint without input", "x = 1\nbreakpoint()\nprint(x)"),
    code("another python",
         "import subprocess, sys\n"
         "subprocess.run([sys.executable, '-c', 'import sys; print(sys.argv, sys.path)'])"),
    code("where packages come from", "import site, sysconfig\nprint(site.getsitepackages(), site.getusersitepackages(),"
         " site.ENABLE_USER_SITE)\nprint(sysconfig.get_paths())"),
    code("more code than a pipe holds", "print(len('" + "x" * 120_000 + "'))"),
    code("many variables", "import os; print(len(os.environ), os.environ['V299'])",
         env={f"V{i}": "x" * 100 for i in range(300)}),
    code("a trace function",
         "import sys\n"
         "sys.settrace(lambda *_: None)\n"
         "def f(): pass\n"
         "f()\n"
         "print(sys.gettrace() is not None)"),
    code("garbage collector",
         "import gc\n"
         "print(gc.isenabled(), gc.get_threshold(), gc.garbage, gc.get_freeze_count())"),
    code("objects that the collector knows",
         "import gc, os, sys\n"
         "known = {id(one) for one in gc.get_objects()}\n"
         "print(id(os.__dict__) in known, id(sys.modules) in known, len(known) > 1000,\n"
         "      any(one is os.__dict__ for one in gc.get_referrers(os.path)))"),
    code("the module that it is",
         "import __main__, gc, inspect, sys\n"
         "class C: pass\n"
         "def f(): pass\n"
         "print(__main__.__dict__ is globals(), sys.modules['__main__'] is __main__, type(__builtins__), list(globals()), repr(__main__))\n"
         "print(C.__module__, f.__globals__ is globals(), inspect.getmodule(f) is __main__, __annotations__, __main__.__class__)\n"
         "x: int = 1\n"
         "print(__annotations__, any(one is __main__ for one in gc.get_objects()))"),
    code("pickles of what is in the main module",
         "import pickle\n"
         "class C: value = 5\n"
         "print(pickle.loads(pickle.dumps(C())).value, pickle.loads(pickle.dumps(C)) is C)"),
    code("processes that come from it",
         "import multiprocessing, os\n"
         "def work(n): return n * n\n"
         "if __name__ == '__main__':\n"
         "    with multiprocessing.get_context('fork').Pool(2) as pool: print(pool.map(work, range(4)))\n"
         "    pid = os.fork()\n"
         "    if pid == 0: import gc; print(gc.get_freeze_count(), gc.collect() >= 0, flush=True); os._exit(3)\n"
         "    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"),
    code("what is told at the end",
         "import atexit, sys, weakref\n"
         "class C:\n"
         "    def __init__(self, name): self.name = name\n"
         "    def __del__(self): print('gone', self.name, sys is not None, len(globals()) > 5, '__main__' in (sys.modules or {}))\n"
         "def f(): return one\n"
         "one, f.two, sys.three, print_ = C('one'), C('two'), C('three'), print\n"
         "C.four = C('four')\n"
         "__builtins__.five = C('five')\n"
         "atexit.register(lambda: print('at exit', f().name, list(globals())[:4]))\n"
         "import json, os\n"
         "json.six = C('six')\n"
         "os.getcwd = lambda kept=C('seven'): kept"),
    code("objects that are set aside stay so",
         "import gc\n"
         "gc.collect(); gc.freeze(); before = gc.get_freeze_count() > 1000\n"
         "gc.get_objects(); gc.get_referrers(gc)\n"
         "print(before, gc.get_freeze_count() > 1000)"),
    code("the collector by another way",
         "import importlib, os\n"
         "gc = importlib.import_module('gc')\n"
         "print(any(one is os.__dict__ for one in gc.get_objects()), any(one is os.__dict__ for one in gc.get_referrers(os.path)))"),
    code("the collector within a function and a module",
         "def f():\n"
         "    from beside import count\n"
         "    return count\n"
         "print(f())",
         files={"beside.py": "import gc\ncount = gc.get_freeze_count()\n"}),
    code("hooks of its own see what happens",
         "import sys\n"
         "seen = []\n"
         "sys.addaudithook(lambda event, values: seen.append(event) if event in ('import', 'gc.get_objects') else None)\n"
         "import gc, colorsys\n"
         "gc.get_objects()\n"
         "print(seen.count('gc.get_objects'), 'import' in seen)"),
    code("cycles with destructors at the end",
         "import os, weakref\n"
         "class C:\n"
         "    def __del__(self): print('gone', self.name, __name__)\n"
         "for name in 'one', 'two':\n"
         "    c = C()\n"
         "    c.self, c.name = c, name\n"
         "def f(c=c): return f\n"
         "os.kept = c\n"
         "weakref.finalize(f, print, 'finalized')"),

    script("prints", "print(1)\n"),
    *[script(f"destructors after {what}",
             "import sys\n"
             "class C:\n"
             "    def __del__(self): print('gone', __name__, sys, '__file__' in globals())\n"
             "c = C()\n"
             "def f(): return c\n"
             f"{how}\n") for what, how in (("sys.exit", "sys.exit(3)"), ("an error", "1 / 0"), ("a deleted file", "del __file__"),
                                         ("an error with a collector", "import gc; gc.collect(); 1 / 0"))],
    script("destructors and the module at the end",
           "import sys, __main__\n"
           "class C:\n"
           "    def __del__(self): print('gone', __name__, '__file__' in globals())\n"
           "c = C()\n"
           "print(__main__.__dict__ is globals(), __file__ == sys.argv[0], list(globals()), __cached__)\n"),
    script("no newline at the end", "print(1)"),
    script("empty", ""),
    script("arguments", "import sys; print(sys.argv)", "a", "-x", ""),
    script("what __main__ holds", SHOW_MAIN),
    script("what sys holds", SHOW_SYS, "x"),
    script("nested functions with their source", NESTED),
    script("sys.last_* at exit", LAST + "def f(): 1/0\nf()\n"),
    script("__file__ at exit", LAST),
    script("sys.exit and __file__ at exit", LAST + "sys.exit(2)\n"),
    script("a syntax error", "print(1)\ndef f(:\n    pass\n"),
    script("an unfinished bracket", "print(1)\nx = (1,\n"),
    script("an unfinished string", "x = '''abc\ndef\n"),
    script("wrong indentation", "if 1:\n    a = 1\n  b = 2\n"),
    script("tabs and spaces", "if 1:\n\tprint(1)\n        print(2)\n"),
    script("a syntax error in a long line", "x = [" + "1, " * 200 + "2 3]\n"),
    script("a syntax warning", "x = '\\d'\nprint(x is 'y')\n"),
    script("lines of another system", b"print(1)\r\nprint(2)\r\n1/0\r\n"),
    script("a byte order mark", b"\xef\xbb\xbfprint('\xc3\xa4')\n1/0\n"),
    script("another encoding", b"# coding: latin-1\nprint('\xe4')\n1/0 # \xe4\n"),
    script("an encoding that valid UTF-8 does not have", "# coding: latin-1\nprint(ascii('ä'))\n"),
    script("an encoding that does not exist", "# coding: nothing\nprint(1)\n"),
    script("bytes that are no text", b"print(1)\nx = '\xff'\n"),
    script("a NUL byte", b"print(1)\n\0\n"),
    script("a first line for the kernel", "#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\nprint('ä')\n1/0\n"),
    script("import of a module beside it", "import beside\nprint(beside.f.__module__)\nbeside.f()\n",
           files={"beside.py": "def f():\n    raise OSError('no')\n"}),
    script("sees itself as a module", "import main, sys\nprint(__name__, main.__name__, main.__file__ == __file__)\n"),
    script("KeyboardInterrupt", "def f():\n    raise KeyboardInterrupt\nf()\n"),
    script("its own source",
           "import inspect\n"
           "def f():\n"
           "    return 1\n"
           "print(inspect.getsource(f))\n"
           "print(open(__file__).read()[:6])\n"),
    script("dataclass and typing", "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\nprint(P(1))\n"
           "import typing\nprint(typing.get_type_hints(P))\n"),
    script("annotations of the module", "x: int = 1\nprint(__annotations__)\n"),
    script("multiprocessing by spawn",
           "import multiprocessing as m\n"
           "def f(x): return x + 1\n"
           "if __name__ == '__main__':\n"
           "    with m.get_context('spawn').Pool(1) as p:\n"
           "        print(p.map(f, [1]))\n"),
    script("unittest",
           "import unittest\n"
           "class T(unittest.TestCase):\n"
           "    def test(self): self.assertEqual(1, 1)\n"
           "result = unittest.TestResult()\n"
           "unittest.defaultTestLoader.loadTestsFromName('__main__').run(result)\n"
           "print(result)\n"),
    script("warnings",
           "import warnings\n"
           "warnings.warn('careful')\n"
           "def f(): warnings.warn('caller', DeprecationWarning, 2)\n"
           "f()\n"),
    script("argparse",
           "import argparse\n"
           "p = argparse.ArgumentParser()\n"
           "p.add_argument('--n', type=int)\n"
           "print(p.parse_args())\n", "--n", "x"),
    Case("python FILE: by another path", ["python3", "./sub/../sub/main.py"],
         files={"sub/main.py": "import sys, other\nprint(__file__, sys.argv, sys.path[0])\n1/0\n", "sub/other.py": ""}),
    Case("python FILE: missing", ["python3", "missing.py", "x"]),
    Case("python FILE: a directory", ["python3", "sub"], files={"sub/x": ""}),
    Case("python FILE: a directory with __main__", ["python3", "sub", "x"],
         files={"sub/__main__.py": "import sys\nprint(sys.argv, sys.path[0], __file__)\n1/0\n"}),
    Case("python FILE: an archive", ["python3", "app.zip", "x"],
         files={"app.zip": archive("__main__.py", "import sys\nprint(sys.argv)\n")}),
    Case("python FILE: no file at all", ["python3", "/dev/null"]),
    Case("python FILE: of another name", ["python3", "no-module name.txt"],
         files={"no-module name.txt": "print(__file__)\n1/0\n"}),

    module("a package", "tool", files=PACKAGE),
    module("a package that fails", "tool", "x", files=PACKAGE),
    module("a module", "main", "x", files={"main.py": SHOW_MAIN + SHOW_SYS}),
    module("a module inside a package", "tool.part", files=PACKAGE),
    module("KeyboardInterrupt", "main", files={"main.py": "raise KeyboardInterrupt\n"}),
    module("__file__ at exit", "main", files={"main.py": LAST}),
    module("a syntax error", "main", files={"main.py": "x = = 1\n"}),
    module("json.tool --help", "json.tool", "--help"),
    module("json.tool", "json.tool", "in.json", files={"in.json": '{"a": [1, 2]}'}),
    module("missing", "nothing_like_this"),
    module("missing inside a package", "tool.nothing", files=PACKAGE),
    module("a package without __main__", "json"),
    module("timeit", "timeit", "-n1", "-r1", "-u", "sec", "raise ValueError"),
    module("compileall", "compileall", "-q", ".", files={"bad.py": "x ="}),
]

SHOW_MODULE = """
console.log(process.argv, process.execArgv, process.argv0, process.execPath, process.title, process._eval);
console.log(__filename, __dirname, module, require.main === module, Object.keys(require.cache));
console.log(Object.keys(globalThis), Object.getOwnPropertyNames(globalThis).length, this === module.exports);
console.log(Object.keys(process).sort(), require('module').globalPaths, require('module').runMain);
"""

NODE = [
    node_script("prints", "console.log(1)"),
    node_script("what a module sees", SHOW_MODULE, "a", "-b", "", "ü 日本"),
    node_script("an uncaught error", "console.log('out');\nfunction f() {\n  throw new TypeError('x');\n}\nf();\n"),
    node_script("an error with a cause", "throw new Error('a', {cause: new Error('b')});"),
    node_script("what is thrown is no error", "throw {a: 1};"),
    node_script("null is thrown", "throw null;"),
    node_script("a syntax error", "const a = ;\n"),
    node_script("a syntax error in what it requires", "require('./bad');", files={"bad.js": "let x = {;\n"}),
    node_script("a stack overflow",
                "function f() { f(); }\n"
                "try { f(); } catch (e) { console.log(e.name, e.message); }"),
    node_script("how an error sees the stack",
                "console.log(new Error('e').stack);\n"
                "setTimeout(() => console.log(new Error('t').stack));\n"
                "Promise.resolve().then(() => console.log(new Error('p').stack));"),
    node_script("how a rejection sees the stack", "Promise.resolve().then(() => { throw new Error('p'); });"),
    node_script("an error in a tick", "process.nextTick(() => { throw new Error('t'); });"),
    node_script("numbers of descriptors", "console.log(require('fs').openSync('/dev/null'));", known_difference=
                "node opens its own while the request's are open, so they lie elsewhere"),
    node_script("an unhandled rejection", "Promise.reject(new Error('x'));"),
    node_script("an unhandled rejection that is no error",
                "Promise.reject(5); process.on('exit', (c) => console.log('exit', c));"),
    node_script("handlers of last resort",
                "process.on('uncaughtException', (e, o) => console.log(e.message, o));\n"
                "process.on('unhandledRejection', (e) => console.log('rejected', e.message));\n"
                "Promise.reject(new Error('r'));\n"
                "setTimeout(() => console.log('on'), 1);\n"
                "throw new Error('x');"),
    node_script("process.exit", "process.on('exit', (c) => console.log('bye', c)); process.exit(5);"),
    node_script("process.exitCode", "process.exitCode = 6; process.on('beforeExit', () => console.log('before'));"),
    node_script("order of callbacks",
                "setTimeout(() => console.log('timeout'), 500);\n"  # node counts from its own start, however slow that is
                "setImmediate(() => console.log('immediate'));\n"
                "process.nextTick(() => console.log('tick'));\n"
                "Promise.resolve().then(() => console.log('promise'));\n"
                "queueMicrotask(() => console.log('micro'));\n"
                "console.log('main');"),
    node_script("environment",
                "console.log(process.env, process.env.HOME);\n"
                "delete process.env.GIVEN; process.env.MORE = '1';\n"
                "console.log(require('child_process').execSync('env').toString());",
                env={"GIVEN": "a=b", "EMPTY": "", "Ü": "ö"}),
    node_script("time zone", "console.log(new Date(0).toString(), Intl.DateTimeFormat().resolvedOptions());",
                env={"TZ": "Asia/Tokyo"}),
    node_script("no time zone given", "console.log(new Date(0).toString(), Intl.DateTimeFormat().resolvedOptions());"),
    node_script("working directory and umask",
                "console.log(process.cwd(), process.umask());\n"
                "require('fs').writeFileSync('new', '');\n"
                "console.log(require('fs').statSync('new').mode.toString(8));"),
    node_script("SIGTERM to itself", "process.kill(process.pid, 'SIGTERM'); setTimeout(() => {}, 5000);"),
    node_script("SIGINT handled", "process.on('SIGINT', () => { console.log('caught'); process.exit(2); });\n"
                "process.kill(process.pid, 'SIGINT'); setTimeout(() => {}, 5000);"),
    node_script("abort", "process.abort();"),
    node_script("a lot of output",
                "process.stdout.write('x'.repeat(200000)); process.stderr.write('y'.repeat(200000));"),
    node_script("input that is closed", "process.stdin.on('data', console.log).on('end', () => console.log('end'));\n"
                "console.log(require('fs').readFileSync(0, 'utf8'));"),
    node_script("streams",
                "for (const s of [process.stdin, process.stdout, process.stderr])\n"
                "  console.log(s.constructor.name, s.fd, s.isTTY, s._type, s.writableHighWaterMark, "
                "s.listenerCount('error'));"),
    node_script("requires what is beside it",
                "console.log(require('./beside').where, module.children.length, require('./data'));\n"
                "console.log(Object.keys(require.cache), require.resolve.paths('x'));",
                files={"beside.js": "exports.where = __filename; exports.main = require.main.filename;\n"
                       "console.log(module.parent.filename, exports.main);", "data.json": '{"a": 1}'}),
    node_script("requires a package", "console.log(require('thing'));",
                files={"node_modules/thing/package.json": '{"main": "./lib.js"}',
                       "node_modules/thing/lib.js": "module.exports = __filename;"}),
    node_script("requires nothing", "require('./nothing');"),
    node_script("a module of the new kind",
                "import fs, {readFileSync} from 'node:fs';\n"
                "import {x} from './x.mjs';\n"
                "console.log(import.meta.url, import.meta.filename, process.argv, x, await Promise.resolve(2), "
                "typeof require);\n", "a", file="main.mjs", files={"x.mjs": "export const x = 1;\n"}),
    node_script("a module of the new kind that fails",
                "function f() {\n"
                "  throw new Error('x');\n"
                "}\n"
                "await 0;\n"
                "f();\n", file="main.mjs"),
    node_script("a module of the new kind that lacks an import", "import './nothing.mjs';\n", file="main.mjs"),
    node_script("a module of the new kind by its package",
                "import path from 'path';\n"
                "console.log(path.basename(import.meta.url));\n", files={"package.json": '{"type": "module"}'}),
    node_script("a module of the new kind by its syntax",
                "import path from 'path';\n"
                "console.log(path.basename(import.meta.url));\n"),
    node_script("import()", "import('./x.mjs').then((m) => console.log(m.x, m));",
                files={"x.mjs": "export const x = 1;\n"}),
    node_script("top-level await that never ends", "await new Promise(() => {});\n", file="main.mjs"),
    node_script("a worker",
                "const {Worker, isMainThread, workerData} = require('worker_threads');\n"
                "if (isMainThread)\n"
                "  new Worker(__filename, {workerData: 1, argv: ['w']}).on('exit', (c) => console.log('exit', c));\n"
                "else\n"
                "  console.log(workerData, process.argv, process.execArgv, Object.keys(require.cache),\n"
                "    process.env.GIVEN, Object.keys(process).sort());", env={"GIVEN": "1"}),
    node_script("a worker that fails", "const {Worker, isMainThread} = require('worker_threads');\n"
                "if (isMainThread) new Worker(__filename); else throw new Error('w');"),
    node_script("a child by fork",
                "if (process.send) { process.send([process.argv, process.execArgv]); process.disconnect(); }\n"
                "else require('child_process').fork(__filename, ['x']).on('message', (m) => console.log(m));"),
    node_script("a child that shares the output",
                "require('child_process').spawnSync('sh', ['-c', 'echo out; echo err >&2'], {stdio: 'inherit'});"),
    node_script("output that a child finds untouched", "require('child_process').spawnSync('grep', ['flags',\n"
                "  '/proc/self/fdinfo/0', '/proc/self/fdinfo/1', '/proc/self/fdinfo/2'], {stdio: 'inherit'});"),
    node_script("warnings", "process.emitWarning('careful'); new Buffer(1); setTimeout(() => console.log('end'), 5);"),
    node_script("a leak that node warns of",
                "const e = new (require('events'))(); for (let i = 0; i < 11; i++) e.on('x', () => {});"),
    node_script("random numbers", "console.log(Math.random(), require('crypto').randomUUID());",
                output_must_differ=True),
    node_script("async context",
                "const h = require('async_hooks'); console.log(h.executionAsyncId(), h.triggerAsyncId());"),
    node_script("features",
                "console.log(process.features, process.config.variables.napi_build_version, process.version,\n"
                "  process.allowedNodeEnvironmentFlags.size, process.getuid(), process.listenerCount('warning'));"),
    node_script("strict globals", "'use strict'; try { undeclared = 1; } catch (e) { console.log(e.message); }\n"
                "console.log(typeof fetch, typeof crypto.subtle, typeof WebSocket, structuredClone({a: 1}));"),
    node_script("console of all kinds",
                "console.table([{a: 1}]); console.error('e'); console.group('g'); console.log('%s %d', 'x', 1);\n"
                "console.trace('t'); console.assert(false, 'no');"),
    Case("node FILE: without its ending", ["node", "main"],
         files={"main.js": "console.log(process.argv, __filename);"}),
    Case("node FILE: a directory", ["node", "sub"],
         files={"sub/index.js": "console.log(process.argv, __filename, module.id);"}),
    Case("node FILE: by another path", ["node", "./sub/../sub/main.js"],
         files={"sub/main.js": "console.log(process.argv); x();"}),
    Case("node FILE: missing", ["node", "missing.js", "x"]),
    Case("node FILE: JSON", ["node", "a.json"], files={"a.json": "{}"}),

    node_code("prints", "console.log(1)"),
    node_code("nothing", ""),
    node_code("what code sees", SHOW_MODULE, "a", "-b", ""),
    node_code("builtin modules as names",
              "console.log(fs.existsSync('/'), os.EOL, path.sep, typeof http.get, util.inspect(1));\n"
              "fs = 1; console.log(fs, Object.keys(globalThis).includes('fs'));"),
    node_code("crypto", "console.log(typeof crypto.createHash); var later = 1; console.log(globalThis.later);"),
    node_code("require from the working directory", "console.log(require('./beside'));",
              files={"beside.js": "module.exports = module.parent.id;"}),
    node_code("variables become global",
              "var a = 1; let b = 2; function c() {} console.log(globalThis.a, globalThis.b, typeof globalThis.c);"),
    node_code("import() in code that code makes", "eval('imp' + 'ort(\"./x.mjs\")').then((m) => console.log(m.x));",
              files={"x.mjs": "export const x = 1;\n"},
              known_difference="programs have no way to the loader that node's own -e has: 20 warns of it, 18 refuses"),
    node_code("process.exit", "process.exit(3)"),
    node_code("many lines", "const a = [1, 2];\nfor (const x of a) {\n  console.log(x);\n}\n"),
    node_code("an uncaught error", "function f() {\n  throw new Error('x');\n}\nf()"),
    node_code("an unhandled rejection", "Promise.reject(new RangeError('x'))"),
    node_code("an error later", "setTimeout(() => { throw new Error('later'); })"),
    node_code("a syntax error", "foo bar"),
    node_code("an unfinished string", "console.log('x"),
    node_code("environment", "console.log(process.env.GIVEN, process.cwd())", env={"GIVEN": "1"}),
    node_code("a worker", "new (require('worker_threads').Worker)('console.log(process.argv.length)', {eval: true})"),
    node_code("options of a worker",
              "new (require('worker_threads').Worker)('console.log(process.execArgv)', {eval: true})",
              known_difference="a worker inherits -e from the command line that the kernel knows, where it is not"),
]

CASES = PYTHON + NODE
