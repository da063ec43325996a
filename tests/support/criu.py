"""CRIU, which Debian 12 has too old a version of for current kernels: the next release's, with its libraries, in a directory by itself.

    criu.py DIRECTORY     fetches it from Debian's archive, once; DIRECTORY/bin/criu is what runs it

Nothing of it is installed: it runs with the loader and the libraries that it was built with.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

RELEASE = "trixie"
HERE = pathlib.Path(__file__).resolve().parent
PLACE = HERE.parents[1] / "build" / "criu"
# The right to read another user's limits, which root has nearly everywhere.
CAP_SYS_RESOURCE = 24
WRAPPER = """#!/bin/sh
exec {loader} {preload}--library-path {libraries} {program} "$@"
"""


def archive():
    """Where this system has its own packages from."""
    told = subprocess.run(["apt-get", "indextargets", "--no-release-info", "--format", "$(REPO_URI) $(COMPONENT) $(CODENAME) $(SUITE) $(RELEASE)",
                           "Created-By: Packages"], capture_output=True, text=True, check=True).stdout
    own = dict(line.split("=", 1) for line in pathlib.Path("/etc/os-release").read_text().splitlines() if "=" in line)["VERSION_CODENAME"]
    for line in told.splitlines():
        words = line.split()
        if "main" in words and own in words:
            return words[0]
    raise SystemExit(f"apt knows no archive of {own}")


def download(place):
    """The package and all that it needs, into place/cache/archives, with lists and a status of its own."""
    for name in ("lists/partial", "cache/archives/partial"):
        (place / name).mkdir(parents=True)
    (place / "status").touch()
    (place / "sources.list").write_text(f"deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] {archive()} {RELEASE} main\n")
    (place / "apt.conf").write_text(f"""
Dir::Etc::sourcelist "{place}/sources.list";
Dir::Etc::sourceparts "/nonexistent";
Dir::State "{place}";
Dir::State::lists "{place}/lists";
Dir::State::status "{place}/status";
Dir::Cache "{place}/cache";
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Retries "3";
""")
    environment = {**os.environ, "APT_CONFIG": f"{place}/apt.conf", "LC_ALL": "C.UTF-8"}
    for words in (["update"], ["--yes", "--download-only", "install", "criu"]):
        subprocess.run(["apt-get", "-q", *words], env=environment, check=True, stdout=sys.stderr)
    return sorted((place / "cache/archives").glob("*.deb"))


def may_read_limits():
    """Whether root has the right here that CRIU reads the limits of processes with."""
    held = next(line for line in pathlib.Path("/proc/self/status").read_text().splitlines() if line.startswith("CapEff:"))
    return bool(int(held.split()[1], 16) >> CAP_SYS_RESOURCE & 1)


def install(directory):
    directory = pathlib.Path(directory).resolve()
    if (directory / "bin/criu").exists():
        return directory
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="criu-", dir=directory.parent) as place:
        place = pathlib.Path(place)
        made = place / "made"
        for package in download(place):
            subprocess.run(["dpkg-deb", "--extract", package, made], check=True)
        (made / "bin").mkdir(exist_ok=True)
        libraries = next((made / "usr/lib").glob("*-linux-gnu"))
        preload = ""
        if not may_read_limits():
            # They stand in /proc as well, for everybody.
            subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", made / "limits.so", HERE / "limits_in_proc.c", "-ldl"], check=True)
            preload = f"--preload {directory}/limits.so "
        at = directory / libraries.relative_to(made)
        wrapper = made / "bin/criu"
        wrapper.write_text(WRAPPER.format(loader=at / next(libraries.glob("ld-linux-*")).name, preload=preload, libraries=at,
                                          program=directory / "usr/sbin/criu"))
        wrapper.chmod(0o755)
        shutil.rmtree(directory, ignore_errors=True)
        os.rename(made, directory)
    return directory


def found():
    """The directory to put first into PATH; none where there is no CRIU that will do."""
    if (PLACE / "bin/criu").exists():
        return str(PLACE / "bin")
    own = shutil.which("criu", path="/usr/sbin:/usr/bin:/sbin:/bin")
    told = subprocess.run([own, "--version"], capture_output=True, text=True).stdout.split() if own else []
    version = told[1] if len(told) > 1 else "0"
    return os.path.dirname(own) if int(version.split(".")[0]) >= 4 else None


if __name__ == "__main__":
    install(sys.argv[1] if len(sys.argv) > 1 else PLACE)
