#!/usr/bin/env python3
"""Tests of check_layers.py on small trees made for the purpose."""

import pathlib
import tempfile
import unittest

import check_layers


def problems_of(files):
    """Checks a tree of {path: list of includes, each with its quotes or brackets}."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, included in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("// A file.\n" + "".join(f"#include {i}\n" for i in included))
        return check_layers.check(root)


class TreeTest(unittest.TestCase):
    def assert_clean(self, files):
        self.assertEqual(problems_of(files), [])

    def assert_one(self, files, where, what):
        problems = problems_of(files)
        self.assertEqual(len(problems), 1, problems)
        self.assertTrue(problems[0].startswith(where), problems[0])
        self.assertIn(what, problems[0])


class Layers(TreeTest):
    def test_a_folder_may_include_itself_and_what_stands_above(self):
        self.assert_clean({"src/net/a.cc": ['"net/a.h"', '"base/fd.h"', '"os/pidfd.h"', "<vector>"]})

    def test_a_folder_may_not_include_what_stands_below(self):
        self.assert_one(
            {"src/net/a.cc": ['"net/a.h"', '"core/engine.h"']}, "src/net/a.cc:3:", "net may not include core"
        )

    def test_tests_keep_the_order_too(self):
        self.assert_one({"src/os/a_test.cc": ['"net/a.h"']}, "src/os/a_test.cc:2:", "os may not include net")

    def test_suites_outside_src_may_include_everything(self):
        self.assert_clean({"tests/e2e/a_test.cc": ['"app/wiring.h"', '"drivers/local/local_driver.h"']})

    def test_the_cpp_client_stands_below_the_drivers_and_above_the_command_line(self):
        self.assert_clean({"src/cli/a.cc": ['"client/client.h"'], "sdk/cpp/client/a.cc": ['"net/a.h"']})
        self.assert_one(
            {"sdk/cpp/client/a.cc": ['"core/engine.h"']}, "sdk/cpp/client/a.cc:2:", "client may not include core"
        )

    def test_drivers_never_include_each_other(self):
        self.assert_one(
            {
                "src/drivers/local/local_driver.h": [],
                "src/drivers/docker/docker_driver.cc": ['"drivers/local/local_driver.h"'],
            },
            "src/drivers/docker/docker_driver.cc:2:",
            "never include each other",
        )

    def test_drivers_may_share_a_client_folder(self):
        self.assert_clean(
            {
                "src/drivers/oci_http/oci_client.h": [],
                "src/drivers/docker/docker_driver.cc": ['"drivers/oci_http/oci_client.h"'],
            }
        )

    def test_the_table_of_drivers_sees_all_of_them(self):
        self.assert_clean(
            {
                "src/drivers/local/local_driver.h": [],
                "src/drivers/registry.cc": ['"drivers/local/local_driver.h"'],
            }
        )

    def test_core_sees_the_contract_but_no_driver(self):
        self.assert_clean({"src/core/engine.h": ['"driver/driver.h"', '"store/store.h"']})
        self.assert_one(
            {"src/core/engine.cc": ['"drivers/registry.h"']}, "src/core/engine.cc:2:", "core never includes drivers/"
        )

    def test_api_sees_neither_store_nor_drivers(self):
        self.assert_one({"src/api/a.cc": ['"store/store.h"']}, "src/api/a.cc:2:", "api never includes store/")
        self.assert_one({"src/api/a.cc": ['"drivers/registry.h"']}, "src/api/a.cc:2:", "api never includes drivers/")

    def test_an_unknown_folder_must_be_given_its_place(self):
        self.assert_one({"src/misc/a.cc": ['"base/fd.h"']}, "src/misc/a.cc:2:", "no known layer")

    def test_includes_are_full_paths(self):
        self.assert_one({"src/net/a.cc": ['"b.h"']}, "src/net/a.cc:2:", "full path")
        self.assert_one({"src/net/a.cc": ['"net/../base/fd.h"']}, "src/net/a.cc:2:", "climbs")


class StaticPrograms(TreeTest):
    def test_they_see_base_os_native_and_the_protocol(self):
        self.assert_clean({"agent/main.cc": ['"base/fd.h"', '"guest/protocol.h"', '"guest/frame_reader.h"']})
        self.assert_clean({"src/native/launcher/main.cc": ['"native/expiry.h"', '"os/pidfd.h"']})

    def test_they_see_nothing_else(self):
        self.assert_one({"agent/main.cc": ['"guest/agent_guest.h"']}, "agent/main.cc:2:", "sees only")
        self.assert_one({"src/native/launcher/main.cc": ['"json/value.h"']}, "src/native/launcher/main.cc:2:", "sees only")

    def test_they_include_no_asio_boost_or_fmt(self):
        for heavy in ("<boost/asio.hpp>", "<fmt/core.h>", '"base/task.h"'):
            self.assert_one({"agent/main.cc": [heavy]}, "agent/main.cc:2:", "static program")

    def test_nor_through_a_header_of_ours(self):
        self.assert_one(
            {"agent/main.cc": ['"os/process.h"'], "src/os/process.h": ['"base/task.h"'], "src/base/task.h": []},
            "agent/main.cc:1:",
            "through os/process.h",
        )

    def test_their_tests_may_use_more(self):
        self.assert_clean({"agent/main_test.cc": ['"guest/agent_guest.h"', "<boost/asio.hpp>"]})


class HeavyHeaders(TreeTest):
    def test_they_stay_in_sources(self):
        for heavy in ("boost/asio.hpp", "boost/asio/ip/tcp.hpp", "boost/beast/http.hpp", "boost/json.hpp",
                      "yaml-cpp/yaml.h", "sqlite3.h", "openssl/evp.h", "CLI/CLI.hpp"):
            self.assert_clean({"src/store/a.cc": [f"<{heavy}>"]})
            self.assert_one({"src/store/a.h": [f"<{heavy}>"]}, "src/store/a.h:2:", "belongs into a .cc file")

    def test_awaitable_and_the_executor_are_welcome_anywhere(self):
        self.assert_clean(
            {"src/net/a.h": ["<boost/asio/awaitable.hpp>", "<boost/asio/any_io_executor.hpp>", "<tl/expected.hpp>"]}
        )

    def test_json_headers_may_show_the_json_library(self):
        self.assert_clean({"src/json/value.h": ["<boost/json/value.hpp>"]})

    def test_an_internal_header_may_but_only_its_folder_reads_it(self):
        tree = {"src/net/tls_internal.h": ["<openssl/ssl.h>"], "src/net/tls.cc": ['"net/tls_internal.h"']}
        self.assert_clean(tree)
        self.assert_one({**tree, "src/net/tls.h": ['"net/tls_internal.h"']}, "src/net/tls.h:2:", "is internal")
        self.assert_one({**tree, "src/api/a.cc": ['"net/tls_internal.h"']}, "src/api/a.cc:2:", "is internal")


class TheWholeTree(unittest.TestCase):
    def test_an_include_in_a_line_comment_is_no_include(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "src/base/a.cc"
            path.parent.mkdir(parents=True)
            path.write_text('// #include "core/engine.h"\n')
            self.assertEqual(check_layers.check(pathlib.Path(folder)), [])


if __name__ == "__main__":
    unittest.main()
