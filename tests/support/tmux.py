"""A tmux of our own with a shell in it: typed on, resized, and looked at as a person sees it."""

import os
import shutil
import subprocess
import tempfile
import time

from live import is_alive, wait_until

PROMPT = "$ "


class Tmux:
    def __init__(self, columns=80, rows=24, env=None):
        self.runs = 0
        self.directory = tempfile.mkdtemp(prefix="atoll-tmux-")
        self.socket = os.path.join(self.directory, "socket")
        environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": self.directory, **(env or {})}
        settings = os.path.join(self.directory, "bashrc")
        with open(settings, "w") as file:
            file.write(f"PS1='{PROMPT}'\n")
        self.tmux("-u", "-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows),
                  f"bash --noprofile --rcfile {settings}", env=environment)
        self.pid = int(self.tmux("display-message", "-p", "#{pid}"))
        try:
            self.expect(PROMPT.strip())
        except AssertionError:
            self.__exit__()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tmux("kill-server")
        wait_until(lambda: not is_alive(self.pid), "tmux has left")
        shutil.rmtree(self.directory)

    def tmux(self, *words, env=None):
        done = subprocess.run(["tmux", "-S", self.socket, *words], env=env, capture_output=True, text=True, timeout=30)
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout

    # What a person does.

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def key(self, *names):
        self.tmux("send-keys", *names)

    def run(self, command):
        """Types a command that ends, and waits until it has; gives what it showed."""
        self.key("C-l")
        self.runs += 1  # an earlier end may be on the screen for a moment yet
        typed = command + f"; echo the''end{self.runs}=$?"
        end = f"theend{self.runs}="
        self.type(typed)
        self.key("Enter")
        self.expect(end)
        self.expect_prompt()
        lines = self.lines()
        at = next(i for i, line in enumerate(lines) if end in line)
        before = lines[at].partition(end)[0]
        columns = int(self.tmux("display-message", "-p", "#{window_width}"))
        first = -(-len(PROMPT + typed) // columns)
        return lines[first:at] + ([before] if before else [])

    def resize(self, columns, rows):
        self.tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def record(self, path):
        """Everything that is written to the terminal from now on, byte for byte."""
        self.tmux("pipe-pane", f"cat > {path}")
        wait_until(lambda: os.path.exists(path), "what is written is recorded")

    # What a person sees.

    def lines(self, *flags):
        """The rows of the screen, without empty ones at the end."""
        shown = self.tmux("capture-pane", "-p", *flags).split("\n")
        while len(shown) > 1 and not shown[-1].strip():
            shown.pop()
        return [line.rstrip() for line in shown]

    def screen(self, *flags):
        return "\n".join(self.lines(*flags))

    def coloured(self):
        return self.screen("-e")

    def shell(self):
        """The pid of the shell in it."""
        return int(self.tmux("display-message", "-p", "#{pane_pid}"))

    def modes(self):
        """What stty tells of the terminal, whole, however wide it is."""
        return "".join(self.run("stty -g"))

    def has_second_screen(self):
        return self.tmux("display-message", "-p", "#{alternate_on}").strip() == "1"

    def expect(self, text, seconds=30):
        deadline = time.monotonic() + seconds
        while text not in self.screen():
            if time.monotonic() > deadline:
                raise AssertionError(f"{text!r} is not shown, but:\n{self.screen()}")
            time.sleep(0.03)
        return self.screen()

    def expect_prompt(self):
        try:
            wait_until(lambda: self.lines()[-1].endswith(PROMPT.strip()), "the prompt is back", seconds=30)
        except AssertionError as problem:
            raise AssertionError(f"{problem}; it shows:\n{self.screen()}") from None

    def expect_gone(self, text, seconds=30):
        wait_until(lambda: text not in self.screen(), f"{text!r} goes from\n{self.screen()}", seconds)
