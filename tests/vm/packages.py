"""Which of this host's installed packages make up the guest, and which of their files."""

import os
import pathlib
import re
import subprocess
import sys

# Beside the packages that Debian calls essential.
GUEST_PACKAGES = """
    base-files base-passwd bash btrfs-progs busybox-static coreutils e2fsprogs findutils git iproute2 kmod libcap2-bin
    mount passwd procps psmisc python3 python3-minimal util-linux
""".split()
LEFT_OUT = re.compile(r"/usr/share/(doc|man|info|locale|lintian|bash-completion|zsh|common-licenses|bug|pixmaps)/")

INFO = pathlib.Path("/var/lib/dpkg/info")


class Installed:
    """What dpkg has installed here."""

    def __init__(self):
        form = "${db:Status-Abbrev}\t${binary:Package}\t${Package}\t${Version}\t${Essential}\t" \
               "${Pre-Depends}, ${Depends}\t${Provides}\n"
        self.versions, self.depends, self.providers, self.essential, self.full_names = {}, {}, {}, [], {}
        for line in run("dpkg-query", "-W", "-f", form).splitlines():
            status, full, name, version, essential, depends, provides = line.split("\t")
            if not status.startswith("ii") or full.endswith(":i386"):
                continue
            self.versions[name], self.full_names[name] = version, full
            self.depends[name] = depends
            if essential == "yes":
                self.essential.append(name)
            for word in provides.split(","):
                self.providers.setdefault(word.split("(")[0].strip(), name)

    def closure(self, wanted):
        """The named packages, the essential ones, and all that they depend on."""
        found, left = set(), [*self.essential, *wanted]
        while left:
            name = left.pop()
            if name in found:
                continue
            if name not in self.versions:
                raise LookupError(f"the guest needs the package {name}, which is not installed here")
            found.add(name)
            for group in self.depends[name].split(","):
                choices = [re.split(r"[ :(]", choice.strip())[0] for choice in group.split("|")]
                for choice in filter(None, choices):
                    real = choice if choice in self.versions else self.providers.get(choice)
                    if real:
                        left.append(real)
                        break
        return sorted(found)

    def files_of(self, names):
        """Their files below /usr, /etc, /var and /opt; what is said to be in /bin, /lib and so on is in /usr."""
        paths = set()
        for line in run("dpkg", "-L", *(self.full_names[name] for name in names)).splitlines():
            if line.startswith("/"):
                paths.add(under_usr(line.rstrip("/.") or "/"))
        kept = {p for p in paths if p.startswith(("/usr/", "/etc/", "/var/", "/opt/")) and not LEFT_OUT.match(p + "/")}
        # Made by maintainer scripts: compiled python, and the links of update-alternatives.
        for path in [p for p in kept if p.endswith(".py")]:
            directory, name = os.path.split(path)
            compiled = f"{directory}/__pycache__/{name.removesuffix('.py')}.{sys.implementation.cache_tag}.pyc"
            if os.path.exists(compiled):
                kept.add(compiled)
        for directory in "/usr/bin", "/usr/sbin":
            for entry in os.scandir(directory):
                if entry.is_symlink() and os.readlink(entry.path).startswith("/etc/alternatives/"):
                    choice = os.readlink(entry.path)
                    if os.path.lexists(choice) and under_usr(os.readlink(choice)) in kept:
                        kept.update((entry.path, choice))
        return sorted(p for p in kept if os.path.lexists(p))


    def records_of(self, names):
        """What dpkg inside must know to install another package: the text of its status file, and what goes with it."""
        full = [self.full_names[name] for name in names]
        paths = [path for name in full for path in INFO.glob(f"{name}.*") if path.stem == name]
        return run("dpkg-query", "-s", *full), [str(path) for path in paths]


def under_usr(path):
    return "/usr" + path if re.match(r"/(bin|sbin|lib|lib32|lib64|libx32)(/|$)", path) else path


def libraries_of(program):
    """The shared libraries that a program needs, by the loader's word; none for a static one or a script."""
    with open(program, "rb") as file:
        if file.read(4) != b"\x7fELF":
            return []
    listed = subprocess.run(["ldd", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    if missing := re.findall(r"^\s*(\S+) => not found", listed, re.MULTILINE):
        raise LookupError(f"{program} needs {', '.join(missing)}, which is not here")
    return re.findall(r"(/\S+) \(0x", listed)


def owners_of(libraries):
    """The packages that hold these files, and the files that no package holds."""
    # Packages still name files of /lib that are in /usr/lib by now.
    names = {under_usr(os.path.realpath(library)): library for library in libraries}
    both = [spelt for name in names for spelt in (name, name.removeprefix("/usr"))]
    shown = subprocess.run(["dpkg-query", "-S", *both], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                           text=True).stdout if both else ""
    owners = set()
    for line in shown.splitlines():
        package, _, path = line.partition(": ")
        owners.add(package.split(":")[0])
        names.pop(under_usr(path), None)
    return owners, sorted(names.values())


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
