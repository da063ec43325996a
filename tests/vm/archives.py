"""Archives written from nothing: a cpio for the kernel to start from, a tar with owners that are not ours."""

import io
import os
import stat
import tarfile


class Initramfs:
    """A cpio in the `newc` form, in memory."""

    def __init__(self):
        self.bytes = io.BytesIO()
        self.count = 0

    def add(self, name, mode, data=b""):
        self.count += 1
        spelt = name.encode() + b"\0"
        fields = [self.count, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(spelt), 0]
        self.bytes.write(b"070701" + b"".join(b"%08X" % field for field in fields) + spelt)
        self.pad()
        self.bytes.write(data)
        self.pad()

    def pad(self):
        self.bytes.write(b"\0" * (-self.bytes.tell() % 4))

    def directory(self, name):
        self.add(name, stat.S_IFDIR | 0o755)

    def file(self, name, data, mode=0o755):
        self.add(name, stat.S_IFREG | mode, data)

    def finished(self):
        self.add("TRAILER!!!", 0)
        return self.bytes.getvalue()


class RootTar:
    """A tar of files of a root file system. Everything is root's unless said otherwise."""

    def __init__(self, file):
        self.tar = tarfile.open(fileobj=file, mode="w", format=tarfile.GNU_FORMAT)
        self.parents = set()

    def entry(self, path, kind, mode, uid=0, gid=0, data=b"", target=""):
        self.make_parents(path)
        entry = tarfile.TarInfo(path.lstrip("/"))
        entry.type, entry.mode, entry.uid, entry.gid, entry.linkname = kind, mode, uid, gid, target
        entry.size = len(data)
        self.tar.addfile(entry, io.BytesIO(data))

    def make_parents(self, path):
        parent = os.path.dirname(path.rstrip("/"))
        if parent not in ("", "/") and parent not in self.parents:
            self.directory(parent)

    def directory(self, path, mode=0o755, uid=0, gid=0):
        if path not in self.parents:
            self.parents.add(path)
            self.entry(path, tarfile.DIRTYPE, mode, uid, gid)

    def file(self, path, data, mode=0o644, uid=0, gid=0):
        self.entry(path, tarfile.REGTYPE, mode, uid, gid, data if isinstance(data, bytes) else data.encode())

    def link(self, path, target):
        self.entry(path, tarfile.SYMTYPE, 0o777, target=target)

    def copy(self, source, path=None, mode=None):
        """A file, link or empty directory of the host. A system group stays, for setgid programs."""
        path = path or source
        status = os.lstat(source)
        gid = status.st_gid if status.st_gid < 100 else 0
        permissions = stat.S_IMODE(status.st_mode) if mode is None else mode
        if stat.S_ISLNK(status.st_mode):
            self.link(path, os.readlink(source))
        elif stat.S_ISDIR(status.st_mode):
            self.directory(path, permissions, gid=gid)
        elif stat.S_ISREG(status.st_mode):
            with open(source, "rb") as file:
                self.make_parents(path)
                entry = tarfile.TarInfo(path.lstrip("/"))
                entry.size, entry.mode, entry.gid, entry.mtime = status.st_size, permissions, gid, int(status.st_mtime)
                self.tar.addfile(entry, file)

    def copy_tree(self, source, path):
        for directory, names, files in os.walk(source):
            inside = os.path.normpath(os.path.join(path, os.path.relpath(directory, source)))
            self.directory(inside)
            for name in sorted(files) + [n for n in names if os.path.islink(os.path.join(directory, n))]:
                self.copy(os.path.join(directory, name), os.path.join(inside, name))

    def close(self):
        self.tar.close()
