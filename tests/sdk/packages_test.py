"""The packages as they would be published: what is in them, that they are typed, and that they can be loaded."""

import json
import subprocess
import tarfile
import unittest
import zipfile

import installed
from installed import ROOT, SDK, TOOLS, run

TSC = TOOLS / "node/node_modules/.bin/tsc"
STRICT = ["--strict", "--noEmit", "--module", "NodeNext", "--target", "ES2022", "--lib", "ES2022,ESNext.Disposable", "--types", "node",
          "--typeRoots", TOOLS / "node/node_modules/@types"]


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.packages = installed.packages()

    def one(self, pattern):
        found, = self.packages.glob(pattern)
        return found

    def test_the_wheel(self):
        with zipfile.ZipFile(self.one("*.whl")) as wheel:
            names = set(wheel.namelist())
            metadata = next(wheel.read(name).decode() for name in names if name.endswith("/METADATA"))
        sources = {path.relative_to(SDK / "python/src").as_posix() for path in (SDK / "python/src/atoll").rglob("*")
                   if path.is_file() and "__pycache__" not in path.parts}
        self.assertEqual({name for name in names if name.startswith("atoll/")}, sources)
        self.assertIn("atoll/py.typed", names)
        self.assertTrue(any(name.endswith("licenses/LICENSE") for name in names))
        self.assertIn("License-Expression: Apache-2.0", metadata)
        self.assertIn("Requires-Python: >=3.9", metadata)
        self.assertNotIn("Requires-Dist", metadata)

    def test_the_sdist_is_whole(self):
        """The wheel was made from it; its own files are those that a packager needs."""
        with tarfile.open(self.one("*.tar.gz")) as archive:
            names = {name.partition("/")[2] for name in archive.getnames()}
        self.assertLessEqual({"LICENSE", "README.md", "pyproject.toml", "src/atoll/py.typed"}, names)

    def test_the_tarball_for_npm(self):
        with tarfile.open(self.one("*.tgz")) as archive:
            names = set(archive.getnames())
            package = json.load(archive.extractfile("package/package.json"))
        for name in "LICENSE", "README.md", "dist/esm/index.js", "dist/esm/index.d.ts", "dist/cjs/index.js", "dist/cjs/index.d.ts":
            self.assertIn(f"package/{name}", names)
        self.assertEqual({name for name in names if not name.startswith("package/dist/")},
                         {"package/LICENSE", "package/README.md", "package/package.json"})
        self.assertNotIn("dependencies", package)
        self.assertNotIn("scripts", package)
        for kind in package["exports"]["."].values():
            for target in kind.values():
                self.assertIn("package/" + target.removeprefix("./"), names)

    def test_both_have_the_version_of_the_project(self):
        version = next(line.split()[2] for line in (ROOT / "CMakeLists.txt").read_text().splitlines()
                       if line.startswith("project(atoll VERSION"))
        self.assertEqual(run(installed.python(), "-c", "import atoll; print(atoll.__version__)").strip(), version)
        self.assertEqual(json.loads((SDK / "typescript/package.json").read_text())["version"], version)
        self.assertEqual(run("node", "-e", "import('@atoll/sdk').then(m => console.log(m.VERSION))",
                             cwd=installed.node_project()).strip(), version)

    def test_python_loads_nothing_else(self):
        code = "import sys, atoll, atoll.aio; print(sorted(n for n in sys.modules if 'site-packages' in (getattr(sys.modules[n], '__file__', '') or '')))"
        loaded = run(installed.python(), "-W", "error", "-c", code)
        self.assertTrue(all(name.startswith("atoll") for name in eval(loaded)), loaded)

    def test_node_loads_it_both_ways(self):
        project = installed.node_project()
        as_module = run("node", "-e", "import('@atoll/sdk').then(m => console.log(Object.keys(m).sort().join()))", cwd=project)
        as_script = run("node", "--input-type=commonjs", "-e",
                        "console.log(Object.keys(require('@atoll/sdk')).sort().join())", cwd=project)
        self.assertIn("Sandbox", as_module)
        self.assertEqual(as_module, as_script)

    def test_the_surface_is_the_same_in_both_and_over_asyncio(self):
        code = ("import atoll, atoll.aio as aio, inspect\n"
                "def words(c): return sorted(n.replace('__a', '__').replace('aclose', 'close') for n, v in vars(c).items() "
                "if callable(v) or isinstance(v, (property, classmethod)))\n"
                "for n in aio.__all__:\n"
                "    a, b = getattr(aio, n), getattr(atoll, n)\n"
                "    if inspect.isclass(a) and n != 'Forward': assert [w for w in words(a) if w[:2] != '__'] == "
                "[w for w in words(b) if w[:2] != '__'], n\n"
                "    elif not inspect.isclass(a): assert inspect.signature(a).parameters.keys() == "
                "inspect.signature(b).parameters.keys(), n\n")
        run(installed.python(), "-c", code)
        python = run(installed.python(), "-c", "import atoll; print(','.join(m for c in (atoll.Sandbox, atoll.Files, atoll.Client) "
                     "for m in vars(c) if m[0] != '_'))").strip().split(",")
        declared = "".join((SDK / "typescript/src" / name).read_text() for name in ("sandbox.ts", "files.ts", "client.ts"))
        own = {"id": "get id", "name": "get name", "state": "get state"}
        for name in python:
            word = own.get(name) or "".join(part.title() if at else part for at, part in enumerate(name.split("_")))
            self.assertRegex(declared, rf"\b{word}\b(<|\()", name)


class Types(unittest.TestCase):
    def mypy(self, *words):
        return subprocess.run([str(word) for word in [
            TOOLS / "python/bin/mypy", "--strict", "--python-version", "3.9", "--python-executable", installed.python(),
            "--cache-dir", ROOT / "build/sdk/mypy", *words]], capture_output=True, text=True, timeout=120)

    def test_python_is_strictly_typed(self):
        done = self.mypy("-p", "atoll")
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_users_of_python_are_checked(self):
        good, bad = installed.PLACE / "uses/good.py", installed.PLACE / "uses/bad.py"
        good.parent.mkdir(exist_ok=True)
        good.write_text("import atoll\nbox = atoll.Sandbox.create(ttl_s=1, resources={'memory_mb': 5})\n"
                        "size: int = box.files.stat('x')['size']\ntext: str = box.exec(['ls'], cwd='x').stdout\n")
        bad.write_text("import atoll\natoll.Sandbox.create(ttl=1)\natoll.run('1', tmeout=3)\n"
                       "x: int = atoll.run('1').stdout\n")
        done = self.mypy(good, bad)
        wrong = [line.rpartition("/")[2].split(" ")[0] for line in done.stdout.splitlines() if " error: " in line]
        self.assertEqual(wrong, ["bad.py:2:", "bad.py:3:", "bad.py:4:"], done.stdout)

    def test_typescript_is_strictly_typed(self):
        done = subprocess.run([TSC, "-p", SDK / "typescript", "--noEmit", "--strict", "--incremental", "--tsBuildInfoFile",
                               installed.PLACE / "tsc.json", "--typeRoots", TOOLS / "node/node_modules/@types"],
                              capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_users_of_typescript_are_checked(self):
        project = installed.node_project()
        (project / "good.ts").write_text(
            'import { Sandbox } from "@atoll/sdk";\nconst box = await Sandbox.create({ ttl_s: 1, resources: { memory_mb: 5 } });\n'
            'const size: number = (await box.files.stat("x")).size;\nconst text: string = (await box.exec(["ls"], { cwd: "x" })).stdout;\n'
            "export { size, text };\n")
        (project / "bad.ts").write_text(
            'import { Client, Sandbox } from "@atoll/sdk";\nawait Sandbox.create({ ttl: 1 });\n'
            'await new Client().run("1", { tmeoutMs: 3 });\nconst x: number = (await new Client().run("1")).stdout;\nexport { x };\n')
        done = subprocess.run([TSC, *STRICT, "good.ts", "bad.ts"], capture_output=True, text=True, timeout=120, cwd=project)
        wrong = [line.split(",")[0] for line in done.stdout.splitlines() if "error TS" in line]
        self.assertEqual(wrong, ["bad.ts(2", "bad.ts(3", "bad.ts(4"], done.stdout)


if __name__ == "__main__":
    unittest.main()
