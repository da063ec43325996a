"""The tarball in other releases of Debian, fetched from its archive: a newer one runs it, an older one is told why not."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from packages import USER, add_user, only, packed, run_in


@unittest.skipUnless(shutil.which("mmdebstrap") and os.geteuid() == 0, "needs the package mmdebstrap, and root")
class OtherSystems(unittest.TestCase):
    def system(self, release, *packages):
        """The essential packages of a release and these, with the tarball in /opt."""
        root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix=f"atoll-{release}-")))
        root.chmod(0o755)
        include = [f"--include={','.join(packages)}"] if packages else []
        done = subprocess.run(["mmdebstrap", "--variant=essential", *include, release, root], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, timeout=600)
        if done.returncode != 0:
            self.skipTest(f"Debian's archive gives no {release}: {done.stderr[-500:]}")
        add_user(root)
        with packed() as made:
            subprocess.run(["tar", "-xzf", only(made, "*.tar.gz"), "-C", root / "opt"], check=True)
        return root

    def test_a_newer_one(self):
        root = self.system("trixie")
        for uid, driver in (0, "native"), (USER, "rootless"):
            with self.subTest(driver=driver):
                done = run_in(root, "/opt/atoll-*/install.sh", uid=uid)
                self.assertEqual(done.returncode, 0, done)
                atoll = "~/.local/bin/atoll" if uid else "atoll"
                command = "sh -c 'cat /etc/debian_version; echo $((6*7))'"
                done = run_in(root, f"{atoll} run --driver {driver} -- {command}", uid=uid)
                self.assertEqual(done.returncode, 0, done)
                self.assertRegex(done.stdout, r"^(13|trixie)\S*\n42\n$")

    def test_an_older_one(self):
        root = self.system("bullseye")
        done = run_in(root, "/opt/atoll-*/install.sh")
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("GLIBC", done.stderr)
        self.assertIn("needs the GNU C library 2.36 or newer", done.stderr)
        self.assertFalse((root / "usr/local/bin/atoll").exists())

    def test_chromium_has_no_sandbox_of_its_own_inside(self):
        root = self.system("bookworm", "chromium")
        self.assertEqual(run_in(root, "/opt/atoll-*/install.sh").returncode, 0)
        page = "--headless --disable-gpu --dump-dom 'data:text/html,<p>hello</p>'"
        done = run_in(root, f"atoll run --memory 2g --timeout 60s -- /usr/lib/chromium/chromium {page}")
        self.assertNotEqual(done.returncode, 0, done)
        self.assertIn("No usable sandbox!", done.stderr)
        done = run_in(root, f"atoll run --memory 2g --timeout 60s -- /usr/lib/chromium/chromium --no-sandbox {page}")
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("<p>hello</p>", done.stdout)


if __name__ == "__main__":
    unittest.main()
