"""Debian's cloud kernel: downloaded once, unpacked into the cache, never installed."""

import pathlib
import re
import shutil
import subprocess

PACKAGE = "linux-image-cloud-amd64"  # names the current kernel's package, which holds the files


class Kernel:
    """An unpacked kernel package: its image, its version and its modules."""

    def __init__(self, directory):
        self.directory = directory
        self.image = next((directory / "boot").glob("vmlinuz-*"))
        self.version = self.image.name.removeprefix("vmlinuz-")
        self.modules = directory / "lib/modules" / self.version

    def with_dependencies(self, *names):
        """The files of modules, as paths below `modules`, in an order in which insmod takes them."""
        needs = {}
        for line in (self.modules / "modules.dep").read_text().splitlines():
            path, _, others = line.partition(":")
            needs[path] = others.split()
        by_name = {pathlib.Path(path).name.removesuffix(".ko").replace("-", "_"): path for path in needs}
        ordered = []
        for name in names:
            path = by_name[name.replace("-", "_")]
            # modules.dep names the closest dependency first.
            ordered += [p for p in [*reversed(needs[path]), path] if p not in ordered]
        return ordered


def ensure_kernel(cache):
    """The kernel in the cache; the network is asked only when there is none."""
    ready = cache / "kernel"
    if not ready.is_dir():
        fresh = cache / "kernel.new"
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        package = download(cache, fresh)
        subprocess.run(["dpkg-deb", "-x", package, fresh], check=True)
        package.unlink()
        subprocess.run(["/sbin/depmod", "-b", fresh, Kernel(fresh).version], check=True)
        fresh.rename(ready)
    return Kernel(ready)


def download(cache, directory):
    # The machine's package lists may be absent, or older than the archive; then lists of our own are fetched. Either
    # way works for anyone, as nothing is installed.
    own = cache / "apt"
    (own / "lists/partial").mkdir(parents=True, exist_ok=True)
    private = ["-o", f"Dir::State::Lists={own / 'lists'}", "-o", f"Dir::Cache={own}"]
    try:
        for options in [], private:
            if options:
                run_apt("apt-get", *options, "-q", "update")
            try:
                shown = run_apt("apt-cache", *options, "show", "--no-all-versions", PACKAGE)
                named = re.search(r"^Depends:.*?(linux-image-[0-9][^ ,]*)", shown, re.MULTILINE)
                if not named:
                    raise RuntimeError(f"{PACKAGE} names no kernel")
                run_apt("apt-get", *options, "-q", "download", named.group(1), cwd=directory)
                return next(directory.glob("*.deb"))
            except RuntimeError:
                if options:
                    raise
    finally:
        shutil.rmtree(own)


def run_apt(*command, cwd=None):
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout
