#!/usr/bin/env python3
"""Tests of check_tree.py on small trees made for the purpose."""

import pathlib
import tempfile
import unittest

import check_tree

NOTE = "TO" "DO"


def problems_of(files):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return check_tree.check(root)


class Tree(unittest.TestCase):
    def assert_one(self, files, problem):
        problems = problems_of(files)
        self.assertEqual(len(problems), 1, problems)
        self.assertIn(problem, problems[0])

    def test_an_ordinary_tree_is_clean(self):
        self.assertEqual(
            problems_of(
                {
                    "src/a.h": "// A thing.\n#pragma once\n",
                    "src/a.cc": '#include "a.h"\n',
                    "README.md": "[a](src/a.h) [web](https://example.org/x) [here](#part)\n",
                    "run": "#!/usr/bin/env bash\necho hello\n",
                    "src/corpus/x": b"\xff\xfe" + NOTE.encode(),
                    "build/big.cc": "x\n" * 900,
                }
            ),
            [],
        )

    def test_long_files_are_found(self):
        self.assertEqual(problems_of({"a.cc": "x\n" * 700}), [])
        self.assert_one({"a.cc": "x\n" * 701}, "a.cc:1: 701 lines")
        self.assertEqual(problems_of({"a.py": "# Generated from b.yaml by c.py. Change those.\n" + "x\n" * 701}), [])
        self.assert_one({"a.py": "# Written by hand.\n" + "x\n" * 701}, "a.py:1: 702 lines")

    def test_notes_to_self_are_found(self):
        self.assert_one({"a.cc": f"int a;  // {NOTE}: later\n"}, "a.cc:1:")
        self.assertEqual(problems_of({"a.cc": f"int MAS{NOTE}N;\n"}), [])

    def test_empty_names_are_found(self):
        self.assert_one({"src/utils.cc": "int a;\n"}, "says nothing")
        self.assert_one({"src/helpers_test.cc": "int a;\n"}, "says nothing")
        self.assertEqual(problems_of({"src/utility_meter.cc": "int a;\n"}), [])

    def test_headers_introduce_themselves(self):
        self.assert_one({"a.h": "#pragma once\n"}, "first line")
        self.assert_one({"a.h": "// A thing.\n"}, "#pragma once")

    def test_whitespace_is_kept_in_order(self):
        self.assert_one({"a.cc": "int a; \n"}, "trailing blanks")
        self.assert_one({"a.cc": "\tint a;\n"}, "a tab")
        self.assert_one({"a.cc": "int a;"}, "no newline")

    def test_broken_scripts_are_found(self):
        self.assertTrue(problems_of({"run": "#!/usr/bin/env bash\nif true; then\n"}))

    def test_links_that_lead_nowhere_are_found(self):
        self.assert_one({"README.md": "text\n[a](docs/none.md)\n"}, "README.md:2:")
        self.assertEqual(problems_of({"README.md": "```\n[a](none.md)\n```\n"}), [])


if __name__ == "__main__":
    unittest.main()
