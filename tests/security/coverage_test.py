"""The list of attacks is whole: every number of the security recipe is covered or says why not, every name is new."""

import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

from live import LIBEXEC

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

NUMBERS = range(1, 47)
LAYERS = {"user_namespace", "mount_namespace", "pid_namespace", "ipc_namespace", "uts_namespace", "cgroup_namespace",
          "network_namespace", "root", "proc_masks", "capabilities", "no_new_privileges", "seccomp", "landlock",
          "rlimits", "cgroups", "descriptors", "file_api"}
# Beyond the recipe: what was asked for by name.
WANTED_CVES = {"CVE-2019-5736", "CVE-2022-0492", "CVE-2024-21626", "CVE-2025-31133", "CVE-2025-52565",
               "CVE-2025-52881"}
# Without it there is no other layer that an attack could be stopped by: it is tested through `root`.
WITHOUT_ATTACK = {"mount_namespace"}


class Coverage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        program = os.path.join(LIBEXEC, "atoll-attack")
        cls.listed = json.loads(subprocess.run([program, "--list"], capture_output=True, check=True).stdout)
        cls.attacks = cls.listed["attacks"]

    def test_every_number_is_covered_or_says_why_not(self):
        covered = {attack["dossier"] for attack in self.attacks} - {0}
        excused = {one["dossier"]: one["why"] for one in self.listed["uncovered"]}
        self.assertEqual(sorted(covered | set(excused)), list(NUMBERS))
        self.assertFalse(covered & set(excused), "covered and excused at once")
        self.assertTrue(all(excused.values()))

    def test_every_wanted_cve_has_an_attack(self):
        self.assertLessEqual(WANTED_CVES, {attack["cve"] for attack in self.attacks})

    def test_names_are_used_once(self):
        names = [attack["name"] for attack in self.attacks]
        self.assertEqual(len(names), len(set(names)))

    def test_every_attack_says_what_stops_it(self):
        for attack in self.attacks:
            with self.subTest(attack["name"]):
                self.assertTrue(attack["title"])
                self.assertTrue(attack["stopped_by"])
                self.assertLessEqual(set(attack["stopped_by"]) | set(attack["rootless"]), LAYERS)

    def test_every_layer_stops_something(self):
        used = {layer for attack in self.attacks for layer in attack["stopped_by"]}
        self.assertEqual(used, LAYERS - WITHOUT_ATTACK)

    def test_every_setting_can_be_played(self):
        from engine import Engine
        for attack in self.attacks:
            self.assertTrue(hasattr(Engine, f"play_{attack['setting']}"), attack["name"])

    def test_every_file_registers_an_attack_and_says_what_it_is(self):
        for path in sorted((HERE / "attacks").glob("*.cc")):
            text = path.read_text()
            with self.subTest(path.name):
                self.assertTrue(text.startswith("// "))
                self.assertRegex(text, re.compile(r"^\s*ATTACK\(", re.MULTILINE))

    def test_what_a_driver_does_not_cover_is_an_attack(self):
        names = {attack["name"] for attack in self.attacks}
        from engine import LIMITS
        from scorecard import REFUSED, not_covered_by
        for path in (HERE / "not_covered").glob("*.txt"):
            excused = not_covered_by(path.stem)
            self.assertLessEqual(set(excused), names, path.name)
            self.assertTrue(all(excused.values()), path.name)
            # What is refused is a limit.
            self.assertLessEqual({name for name, why in excused.items() if why.startswith(REFUSED)}, set(LIMITS), path.name)

    def test_the_page_compares_all_of_them(self):
        """Each attack is in one group, and each cell of the table in SECURITY.md counts its whole group."""
        from comparison import DRIVERS, GROUPS
        rows = self.rows_of_the_page()
        self.assertEqual(len(rows), len(GROUPS) + 1)
        for title, cells in rows:
            wanted = len(self.members_of(title) if title in GROUPS else self.attacks)
            self.assertEqual([sum(cell) for cell in cells], [wanted] * len(DRIVERS), f"{title}: update_scorecard")
        by_driver = zip(*(cells for _, cells in rows[:-1]))
        self.assertEqual([[sum(counts) for counts in zip(*column)] for column in by_driver], rows[-1][1], "update_scorecard")

    def test_the_page_tells_of_what_is_not_covered(self):
        """Each cell counts what not_covered/ names of its group, and nothing else; beyond that the host may lack something."""
        from comparison import DRIVERS
        from scorecard import NOT_APPLICABLE, not_covered_by
        for title, cells in self.rows_of_the_page()[:-1]:
            members = self.members_of(title)
            for driver, (_, reached, not_covered, not_applicable) in zip(DRIVERS, cells):
                excused = [why.startswith(NOT_APPLICABLE) for name, why in not_covered_by(driver).items() if name in members]
                with self.subTest(driver=driver, group=title):
                    self.assertEqual(reached, 0)
                    self.assertEqual(not_covered, excused.count(False), "update_scorecard")
                    self.assertGreaterEqual(not_applicable, excused.count(True), "update_scorecard")

    def members_of(self, group):
        from comparison import group_of
        return {attack["name"] for attack in self.attacks if group_of(attack) == group}

    @staticmethod
    def rows_of_the_page():
        """Title and, of each driver, the four numbers."""
        from comparison import BEGIN, END, PAGE
        parts = [[part.strip(" *") for part in row.strip("|").split("|")] for row in PAGE.read_text().split(BEGIN)[1].split(END)[0].splitlines()[2:]]
        return [(title, [[int(number) for number in cell.split("/")] for cell in cells]) for title, *cells in parts]


if __name__ == "__main__":
    unittest.main()
