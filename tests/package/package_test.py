"""The packages as they are: what is in them, units that systemd takes, a tarball that runs on a system with libc alone."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from packages import USER, add_user, make_bare_root, only, packed, run_in

HERE = pathlib.Path(__file__).resolve().parent
IN_BOTH = """
    bin/atoll lib/systemd/system/atoll.service
    lib/systemd/system/atoll-launcher.service lib/systemd/system/atoll-launcher.socket lib/sysusers.d/atoll.conf
    lib/tmpfiles.d/atoll.conf libexec/atoll/atoll-launcher libexec/atoll/atoll-agent libexec/atoll/atoll-sudo
    libexec/atoll/atoll-pool libexec/atoll/atoll-oci libexec/atoll/atoll-statx.so libexec/atoll/atoll-attack libexec/atoll/warm/python3.py libexec/atoll/warm/node.js
    share/bash-completion/completions/atoll share/zsh/vendor-completions/_atoll share/fish/vendor_completions.d/atoll.fish
    share/doc/atoll/README.md share/doc/atoll/guide.md share/doc/atoll/cli.md share/doc/atoll/operations.md
""".split()
IN_DEB = """
    include/atoll.h lib/libatoll.so lib/pkgconfig/atoll.pc share/doc/atoll/copyright share/man/man1/atoll.1.gz
    include/atoll/client.h include/atoll/async_client.h lib/libatoll-client.a lib/pkgconfig/atoll-client.pc
    lib/cmake/atoll-client/atoll-client-config.cmake share/doc/atoll/sdk-cpp.md
""".split()
STATIC = ["atoll-launcher", "atoll-agent", "atoll-sudo", "atoll-pool", "atoll-oci"]


def text_of(*command, **more):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **more).stdout


@unittest.skipUnless(shutil.which("cpack") and shutil.which("dpkg-shlibdeps"), "needs the packages cmake and dpkg-dev")
class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = cls.enterClassContext(packed())
        cls.deb, cls.tarball = only(cls.directory, "atoll_*_amd64.deb"), only(cls.directory, "atoll-*-linux-x86_64.tar.gz")
        cls.tree = cls.directory / "deb"
        subprocess.run(["dpkg-deb", "-x", cls.deb, cls.tree], check=True)
        subprocess.run(["tar", "-xzf", cls.tarball, "-C", cls.directory], check=True)
        cls.unpacked = only(cls.directory, "atoll-*-linux-x86_64")

    def test_everything_is_in_both(self):
        missing = [name for name in [*IN_BOTH, *IN_DEB] if not (self.tree / "usr" / name).exists()]
        missing += [name for name in [*IN_BOTH, "install.sh"] if not (self.unpacked / name).exists()]
        self.assertEqual(missing, [])
        # Nothing beside, and nothing that anybody but root could change.
        listed = [line.split(None, 5) for line in text_of("dpkg-deb", "-c", self.deb).splitlines()]
        strange = [line for line in listed if not line[5].startswith("./usr/") and line[5] != "./"]
        strange += [line for line in listed if line[1] != "root/root" or (line[0][0] != "l" and line[0][8] == "w")]
        strange += [line for line in listed if re.search(r"[sS]", line[0][1:])]
        self.assertEqual(strange, [])

    def test_only_libc_is_needed(self):
        needed = re.findall(r"NEEDED\s+(\S+)", text_of("objdump", "-p", self.unpacked / "bin/atoll"))
        self.assertLessEqual(set(needed), {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"})
        for name in STATIC:
            self.assertNotIn("NEEDED", text_of("objdump", "-p", self.unpacked / "libexec/atoll" / name), name)

    def test_units_are_what_systemd_takes(self):
        with tempfile.TemporaryDirectory() as directory:
            for unit in (self.tree / "usr/lib/systemd/system").iterdir():
                text = unit.read_text().replace("file:///usr", f"file://{self.tree}/usr")
                text = re.sub(r"(?m)^ExecStart=/usr", f"ExecStart={self.tree}/usr", text)
                pathlib.Path(directory, unit.name).write_text(text)
            units = sorted(str(path) for path in pathlib.Path(directory).iterdir())
            environment = {**os.environ, "SYSTEMD_UNIT_PATH": directory + ":"}
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", *units], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, env=environment)
            self.assertEqual((done.returncode, done.stdout), (0, ""))
            # What systemd calls exposure, 0 to 10: the daemon's must not grow unnoticed.
            shown = text_of("systemd-analyze", "security", "--offline=true", "--no-pager", f"{directory}/atoll.service")
            exposure = float(re.search(r"exposure level for atoll.service: ([0-9.]+)", shown).group(1))
            self.assertLessEqual(exposure, 4.0, shown)

    def test_users_and_directories_are_what_systemd_takes(self):
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, "etc"))
            subprocess.run(["systemd-sysusers", f"--root={root}", self.tree / "usr/lib/sysusers.d/atoll.conf"], check=True)
            line = next(line for line in pathlib.Path(root, "etc/passwd").read_text().splitlines() if "atoll" in line)
            self.assertRegex(line, r"^atoll:x:\d+:\d+:Atoll daemon:/var/lib/atoll:/usr/sbin/nologin$")
            subprocess.run(["systemd-tmpfiles", f"--root={root}", "--create", self.tree / "usr/lib/tmpfiles.d/atoll.conf"],
                           check=True)
            self.assertEqual(os.stat(os.path.join(root, "var/lib/atoll-launcher")).st_mode & 0o777, 0o711)
            self.assertEqual(os.stat(os.path.join(root, "var/lib/atoll")).st_uid, int(line.split(":")[2]))

    def test_lintian_finds_nothing(self):
        done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", self.deb], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    # The tarball.

    def bare_root(self):
        root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="atoll-bare-")))
        root.chmod(0o755)
        make_bare_root(root)
        add_user(root)
        shutil.copytree(self.unpacked, root / "opt/atoll", symlinks=True)
        return root

    def succeed(self, root, command, **more):
        done = run_in(root, command, **more)
        self.assertEqual(done.returncode, 0, done)
        return done.stdout

    @unittest.skipUnless(os.geteuid() == 0, "another root needs root")
    def test_the_tarball_works_where_there_is_only_libc(self):
        root = self.bare_root()
        told = self.succeed(root, "/opt/atoll/install.sh")
        self.assertIn("installed in /usr/local", told)
        self.assertIn("try: atoll run -- echo hello", told)
        self.assertEqual(self.succeed(root, "atoll run --driver native -- echo hello"), "hello\n")
        self.succeed(root, "/opt/atoll/install.sh --uninstall")
        left = [path for path in (root / "usr/local").rglob("*") if not path.is_dir()]
        self.assertEqual(left, [])

    @unittest.skipUnless(os.geteuid() == 0, "another root needs root")
    def test_the_tarball_needs_no_root(self):
        root = self.bare_root()
        told = self.succeed(root, "/opt/atoll/install.sh", uid=USER)
        self.assertIn("installed in /home/user/.local", told)
        self.assertIn("try: /home/user/.local/bin/atoll run -- echo hello", told)
        self.assertEqual(self.succeed(root, "~/.local/bin/atoll run --driver rootless -- echo hello", uid=USER), "hello\n")
        # Again is an upgrade, and a daemon of one's own works, too.
        self.succeed(root, "/opt/atoll/install.sh", uid=USER)
        self.assertEqual(self.succeed(
            root, "PATH=$HOME/.local/bin:$PATH; setsid atoll serve --listen none >log 2>&1 </dev/null & "
            "for i in 1 2 3 4 5 6 7 8 9 10; do grep -q ready ~/log && break; sleep 1; done; "
            "PATH=$HOME/.local/bin:$PATH; box=$(atoll create) && atoll exec $box -- echo inside; atoll down", uid=USER),
            "inside\n")
        self.succeed(root, "/opt/atoll/install.sh --uninstall", uid=USER)
        left = [str(path) for path in (root / "home/user/.local").rglob("*") if not path.is_dir()]
        self.assertEqual([path for path in left if "/state/" not in path], [])

    @unittest.skipUnless(os.geteuid() == 0, "another root needs root")
    def test_an_older_system_is_told_what_it_lacks(self):
        root = self.bare_root()
        # As an older loader does it: the program does not start, and says which version it wants.
        (root / "opt/atoll/bin/atoll").write_text("#!/bin/sh\necho \"version GLIBC_2.36 not found\" >&2; exit 1\n")
        done = run_in(root, "/opt/atoll/install.sh")
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("GLIBC_2.36 not found", done.stderr)
        self.assertIn("needs the GNU C library 2.36 or newer", done.stderr)
        self.assertFalse((root / "usr/local").exists())

    def test_install_sh_refuses_what_it_does_not_know(self):
        for arguments, code in (["--frobnicate"], 2), (["--prefix", "relative"], 1):
            done = subprocess.run([self.unpacked / "install.sh", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, code, done)


if __name__ == "__main__":
    unittest.main()
