"""The packages as people get them: made once from the sources as they are, installed into a fresh environment each."""

import contextlib
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SDK = ROOT / "sdk"
TOOLS = pathlib.Path(os.environ.get("ATOLL_SDK_TOOLS", ROOT / "build/sdk-tools"))
PLACE = ROOT / "build/sdk"


def run(*words, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=300, **more)
    assert done.returncode == 0, f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}"
    return done.stdout


def sources():
    """A digest of everything that a package is made of."""
    digest = hashlib.sha256((TOOLS / "mark").read_bytes())
    parts = [*(SDK / "python").rglob("*"), *(SDK / "typescript").rglob("*"), SDK / "pack.py", ROOT / "LICENSE", pathlib.Path(__file__)]
    for path in sorted(parts):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(f"{path.relative_to(ROOT)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


@contextlib.contextmanager
def alone():
    PLACE.mkdir(parents=True, exist_ok=True)
    with open(PLACE / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def packages():
    """The directory with the packages, beside which they are installed."""
    if not (TOOLS / "mark").is_file():
        raise AssertionError("the tools that make the packages are missing: ./dev setup sdk")
    with alone():
        mark, wanted = PLACE / "mark", sources()
        if not mark.is_file() or mark.read_text() != wanted:
            for name in ("packages", "python", "node"):
                shutil.rmtree(PLACE / name, ignore_errors=True)
            run(sys.executable, "-B", SDK / "pack.py", PLACE / "packages")
            install_python()
            install_node()
            mark.write_text(wanted)
    return PLACE / "packages"


def install_python():
    run("/usr/bin/python3", "-m", "venv", "--without-pip", PLACE / "python")
    wheel, = (PLACE / "packages").glob("*.whl")
    run(TOOLS / "python/bin/pip", "--python", PLACE / "python/bin/python", "install", "--quiet", "--no-index", "--no-deps", wheel)


def install_node():
    project = PLACE / "node"
    project.mkdir()
    (project / "package.json").write_text('{"name": "somebody", "version": "1.0.0", "private": true, "type": "module"}\n')
    tarball, = (PLACE / "packages").glob("*.tgz")
    run("npm", "install", "--offline", "--no-audit", "--no-fund", "--loglevel=error", tarball, cwd=project)


def python():
    """The interpreter of an environment in which the package is installed, and nothing else."""
    packages()
    return PLACE / "python/bin/python"


def node_project():
    """A project that depends on the package, and on nothing else."""
    packages()
    return PLACE / "node"


def use_python_package():
    """Makes `import atoll` mean the installed package, here."""
    path = run(python(), "-c", "import atoll, os; print(os.path.dirname(os.path.dirname(atoll.__file__)))").strip()
    assert path.startswith(str(PLACE)), path
    sys.path.insert(0, path)
    import atoll
    assert atoll.__file__.startswith(str(PLACE)), atoll.__file__
