# A python3 that is started before anybody has said what it shall run.
#
# It is initialised completely, writes "r" to descriptor 4 and waits for one command on descriptor 3: byte strings with
# NUL between them, namely the working directory, the umask in octal, the number of arguments, the arguments, and the
# environment as NAME=VALUE. Nothing at all means that nobody needs it. It then becomes what `python3 -c CODE`,
# `python3 FILE` or `python3 -m MODULE` would have been, down to the names in __main__, the tracebacks and the way it
# ends. So it imports only what every interpreter has loaded when it starts. One that ends before the "r" is of no use.
import _signal
import io
import os
import posix
import sys
import time
from _frozen_importlib import BuiltinImporter
from _weakref import ref


class WithoutOurFrames:
    """Shows an exception as if the command were the outermost code. All else the interpreter does as ever."""

    file = __file__

    def __enter__(self):
        pass

    def __exit__(self, kind, error, trace, sys=sys):  # a default, because the global names are the command's by then
        if error is None:
            return
        while trace and trace.tb_frame.f_code.co_filename == self.file:
            trace = trace.tb_next
        error.__traceback__ = trace
        if sys.version_info < (3, 11) and not isinstance(error, SystemExit):
            # These raise again with the traceback as it was caught, so it is put right where it is shown.
            shown_by = sys.excepthook

            def hook(kind, error, _):
                sys.excepthook = shown_by
                sys.last_traceback = error.__traceback__ = trace
                shown_by(kind, error, trace)
            sys.excepthook = hook


def set_aside():
    """Keeps what is here already away from the collector, which looks three times through everything at the end.

    That is a quarter of the time of a short command. Whoever imports gc or asks it for objects finds them all back.
    """
    import gc

    # What 3.12 has set aside by itself would be put back with ours. And the interpreter uses our globals without holding them
    # while it shows how a file has failed.
    def put_back(event, values, once=[] if gc.get_freeze_count() else [gc.unfreeze], kept=globals()):
        if once and (event.startswith("gc.") or event == "import" and values[0] == "gc"):
            once.pop()()

    # With names of its own, because the interpreter holds it to the last, and would hold the command's with it.
    sys.addaudithook(type(set_aside)(put_back.__code__, {}, "put_back", put_back.__defaults__))
    del sys.modules["gc"]
    if put_back.__defaults__[0]:
        gc.freeze()


def fresh_main():
    """A __main__ that was not set aside: what a command keeps in it ends with it, destructors and all."""
    main = type(sys)("__main__")
    main.__dict__.update((name, value) for name, value in globals().items() if name.startswith("__"))
    sys.modules["__main__"] = main
    return main


class EndOfFile:
    """At the end of a file, but not after sys.exit(), the interpreter deletes the __file__ of the __main__ that it knows, which is
    ours. So this is our __file__, and goes with the command's."""

    def __init__(self, main):
        self.main = ref(main)

    def __del__(self):
        main = self.main()
        for name in ("__file__", "__cached__") if main else ():
            main.__dict__.pop(name, None)


def receive():
    if not (3, 9) <= sys.version_info < (3, 14):
        # What is done here for others than these is not known to be right; a command that was given it must not seem to have run.
        os.write(2, b"atoll: this python3 cannot wait for a command\n")
        os._exit(125)
    # The first time takes a millisecond longer, so it is now.
    replace_environment(dict(os.environb))
    compile_text("", "<string>")
    set_aside()
    os.write(4, b"r")
    with open(3, "rb", buffering=0) as pipe:
        request = pipe.read()
    os.close(4)
    if not request:
        os._exit(0)
    directory, umask, count, *rest = request.split(b"\0")
    os.chdir(directory)
    os.umask(int(umask, 8))
    return rest[:int(count)], dict(variable.split(b"=", 1) for variable in rest[int(count):])


def replace_environment(variables):
    kept = {}
    if b"LC_CTYPE" in os.environb:
        # In the C locale an interpreter sets this when it starts, for itself and its children.
        kept[b"LC_CTYPE"] = os.environb[b"LC_CTYPE"]
    for environment in os.environb, posix.environ:
        environment.clear()
        environment.update({**variables, **kept})
    time.tzset()


def compile_file(path):
    if not os.path.isfile(path):
        raise OSError  # a pipe among them: what is read from it here would be gone
    with open(path, "rb") as file:
        return compile_text(file.read(), path)


def compile_text(source, path):
    # Warnings are held back until it is certain that nobody compiles, and warns, once more.
    shown, sys.stderr = sys.stderr, io.StringIO()
    try:
        code = compile(source, path, "exec", dont_inherit=True)
        warnings = sys.stderr.getvalue()
    finally:
        sys.stderr = shown
    sys.stderr.write(warnings)
    return code


def start_again(arguments, variables):
    # What cannot be compiled (also a directory, an archive, a missing file) is rare and has rules and messages of its
    # own. An interpreter that starts anew knows them. It finds the signals as this one found them.
    _signal.signal(_signal.SIGPIPE, _signal.SIG_DFL)
    _signal.signal(_signal.SIGXFSZ, _signal.SIG_DFL)
    os.execve(sys.executable, arguments, variables)


def prepare():
    """Makes this process the one that was asked for and returns the code that it shall run, and where."""
    arguments, variables = receive()
    module = fresh_main()
    main = module.__dict__
    replace_environment(variables)
    words = [os.fsdecode(argument) for argument in arguments]
    what, code = words[1], None
    if hasattr(sys, "orig_argv"):
        sys.orig_argv = words
    del sys.path_importer_cache[__file__]
    try:
        if what in ("-c", "-m"):
            sys.argv = [what] + words[3:]
            sys.path[0] = "" if what == "-c" else os.getcwd()
            main["__loader__"] = BuiltinImporter
            del main["__file__"], main["__cached__"]
            if what == "-c":
                code = compile_text(words[2] + "\n", "<string>")
        else:
            sys.argv = words[1:]
            path = what if what.startswith("/") else os.getcwd() + "/" + what
            sys.path[0] = os.path.dirname(os.path.realpath(path))
            sys.path_importer_cache[path] = None  # the interpreter's note that the file is no archive
            main["__loader__"] = type(__loader__)("__main__", path)
            main["__file__"] = path
            code = compile_file(path)
            globals()["__file__"] = EndOfFile(module)
    except Exception:
        start_again(arguments, variables)
    if what == "-c" and sys.version_info >= (3, 13):
        import linecache  # since then tracebacks show the lines of -c
        key = code if hasattr(linecache, "_interactive_cache") else "<string>"
        linecache._register_code(key, words[2] + "\n", "<string>")
    if what == "-m":
        import runpy
        runpy._run_module_as_main(words[2])
        raise SystemExit  # at the end of a file the interpreter deletes __file__, which a module keeps
    return code, main


with WithoutOurFrames():
    exec(*prepare())
