"""The examples, compiled against an installed library and run, as a reader of docs/library.md would."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRODUCTS = pathlib.Path(os.environ["ATOLL_BIN"]).resolve().parents[1]
COMPILERS = [name for name in ("clang++-19", "g++") if shutil.which(name)]
QUOTED = re.compile(r"```cpp\n(#include.*?)```", re.DOTALL)


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = pathlib.Path(tempfile.mkdtemp(prefix="atoll-examples-"))
        cls.addClassCleanup(shutil.rmtree, cls.place)
        # As installed: nothing names the checkout, and the library finds its programs beside itself.
        for directory in ("lib", "libexec"):
            shutil.copytree(PRODUCTS / directory, cls.place / directory, symlinks=True,
                            ignore=shutil.ignore_patterns("atoll-bench"))
        (cls.place / "include").mkdir()
        shutil.copy(ROOT / "src/lib/atoll.h", cls.place / "include")

    def compile(self, source):
        program = self.place / source.stem
        self.assertTrue(COMPILERS)
        for compiler in COMPILERS:
            self.compile_with(compiler, source, program)
        return program

    def compile_with(self, compiler, source, program):
        subprocess.run([compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", f"-I{self.place}/include", source, "-o", program,
                        f"-L{self.place}/lib", "-latoll", f"-Wl,-rpath,{self.place}/lib"], check=True, timeout=300)

    def run_it(self, program, *arguments):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ATOLL_")}
        return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=120, env=environment)

    def test_the_first_program_of_the_manual(self):
        source = self.place / "first.cc"
        source.write_text(QUOTED.search((ROOT / "docs/library.md").read_text())[1])
        done = self.run_it(self.compile(source))
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "42\n", ""))

    def test_the_reward_loop_counts_what_passes(self):
        done = self.run_it(self.compile(ROOT / "examples/reward_loop.cc"), "42")
        # Of 0 … 41 every seventh never ends, and of the others every third is right.
        self.assertRegex(done.stdout, r"^12 of 42 candidates passed, 6 never ended; [0-9.]+ per second\n$", done.stderr)

    def test_the_test_runner_tells_good_from_bad(self):
        program = self.compile(ROOT / "examples/test_runner.cc")
        good, bad = self.place / "good.py", self.place / "bad.py"
        good.write_text("assert 1 + 1 == 2\n")
        bad.write_text("import os\nassert os.listdir('/home/user') == ['nobody expects this']\n")
        done = self.run_it(program, good)
        self.assertEqual(done.returncode, 0, done)
        self.assertRegex(done.stdout, rf"^ok +{re.escape(str(good))} \([0-9.]+ ms\)\n$")
        done = self.run_it(program, good, bad)
        self.assertEqual(done.returncode, 1)
        self.assertIn("AssertionError", done.stderr)
        self.assertEqual(self.run_it(program, self.place / "none.py").returncode, 2)


if __name__ == "__main__":
    unittest.main()
