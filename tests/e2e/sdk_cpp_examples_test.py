"""The examples of the C++ client, built out of tree against what is installed, as a reader of docs/sdk-cpp.md would."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from live import Daemon

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRODUCTS = pathlib.Path(os.environ["ATOLL_BIN"]).resolve().parents[1]
QUOTED = re.compile(r"```cpp\n(#include.*?)```", re.DOTALL)


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = pathlib.Path(tempfile.mkdtemp(prefix="atoll-sdk-examples-"))
        cls.addClassCleanup(shutil.rmtree, cls.place)
        cls.prefix = PRODUCTS
        if (PRODUCTS / "cmake_install.cmake").exists():
            cls.prefix = cls.place / "installed"
            subprocess.run(["cmake", "--install", PRODUCTS, "--component", "client", "--prefix", cls.prefix],
                           check=True, stdout=subprocess.DEVNULL, timeout=60)
        cls.daemon = Daemon().start()
        cls.addClassCleanup(cls.daemon.end)

    def build(self, source, compiler, *targets):
        tree = pathlib.Path(tempfile.mkdtemp(dir=self.place))
        configured = subprocess.run(
            ["cmake", "-S", source, "-B", tree, f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DCMAKE_CXX_COMPILER={compiler}",
             "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror"], capture_output=True, text=True, timeout=120)
        self.assertEqual(configured.returncode, 0, configured.stderr)
        built = subprocess.run(["cmake", "--build", tree, "--target", *targets], capture_output=True, text=True, timeout=600)
        self.assertEqual(built.returncode, 0, built.stdout + built.stderr)
        return tree

    def run_it(self, *words, **more):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ATOLL_")}
        environment.update({"ATOLL_STATE": self.daemon.state}, **more)
        return subprocess.run(words, capture_output=True, text=True, timeout=120, env=environment)

    def test_the_judge_tells_good_from_bad(self):
        good, bad, slow = (self.place / f"{name}.py" for name in ("good", "bad", "slow"))
        good.write_text("print(int(input()) ** 2)\n")
        bad.write_text("print(int(input()) * 2)\n")
        slow.write_text("while True: pass\n")
        for compiler in "clang++-19", "g++":
            judge = self.build(ROOT / "examples/client", compiler, "judge") / "judge"
            done = self.run_it(judge, good)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "ok   program1.py\n", ""))
            done = self.run_it(judge, bad, slow)
            self.assertEqual(done.returncode, 1)
            self.assertIn("fail program1.py: for 7 it exited and said '14\n'", done.stdout)
            self.assertIn("fail program2.py: for 0 it timeout", done.stdout)
            done = self.run_it(judge, good, ATOLL_STATE="/no/such/place")
            self.assertEqual(done.returncode, 2)
            self.assertIn("atoll serve", done.stderr)

    def test_the_race_has_a_winner_and_ends(self):
        race = self.build(ROOT / "examples/client", "clang++-19", "race") / "race"
        done = self.run_it(race, "sleep 600", "echo quick", "exit 1")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "echo quick: quick\n", ""))
        self.assertEqual(self.run_it(race, "exit 1", "exit 2").returncode, 1)

    def test_the_first_program_of_the_manual(self):
        source = self.place / "first"
        source.mkdir()
        (source / "main.cc").write_text(QUOTED.search((ROOT / "docs/sdk-cpp.md").read_text())[1])
        (source / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.16)\nproject(first CXX)\nfind_package(atoll-client 0.1 REQUIRED)\n"
            "add_executable(first main.cc)\ntarget_link_libraries(first PRIVATE atoll::client)\n")
        done = self.run_it(self.build(source, "g++", "first") / "first")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "42\n", ""))

    def test_the_same_with_pkg_config(self):
        source, program = self.place / "first.cc", self.place / "by-pkg-config"
        source.write_text(QUOTED.search((ROOT / "docs/sdk-cpp.md").read_text())[1])
        where = dict(os.environ, PKG_CONFIG_PATH=f"{self.prefix}/lib/pkgconfig")
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "atoll-client"], env=where, check=True,
                               capture_output=True, text=True, timeout=30).stdout.split()
        subprocess.run(["clang++-19", "-std=c++20", source, *flags, "-o", program], check=True, timeout=300)
        self.assertEqual(self.run_it(program).stdout, "42\n")

    def test_nothing_but_its_own_names_is_seen(self):
        told = subprocess.run(["nm", "--defined-only", "--extern-only", self.prefix / "lib/libatoll-client.a"],
                              capture_output=True, text=True, check=True, timeout=60).stdout
        names = [line.split()[-1] for line in told.splitlines() if len(line.split()) == 3]
        self.assertGreater(len(names), 50)
        self.assertEqual([name for name in names if not re.match(r"_Z(NK?|T[ISV]N)12atoll_client", name)], [])


if __name__ == "__main__":
    unittest.main()
