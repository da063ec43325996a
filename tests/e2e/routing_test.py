"""Routing as a person uses it: strategies, run modes, the comparison, health and failover of a live daemon."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from engines import Engine, lacking
from live import ATOLL, NOTHING, Daemon, census, wait_until

RUNTIME = tempfile.mkdtemp(prefix="atoll-e2e-")  # where embedded runs live
STRONGEST = "native" if os.geteuid() == 0 else "rootless"
STRATEGIES = ("priority", "fastest", "cheapest", "round_robin", "weighted")


def tearDownModule():
    shutil.rmtree(RUNTIME)


class World(unittest.TestCase):
    """A work tree and a home of its own for each case, and engines of others that are not there."""

    def setUp(self):
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="atoll-routing-"))
        self.addCleanup(shutil.rmtree, self.base)
        os.chmod(self.base, 0o755)
        self.tree, self.home = self.base / "tree", self.base / "home"
        for directory in (self.tree / ".git", self.home / ".config" / "atoll"):
            directory.mkdir(parents=True)
        self.state = "/nonexistent/atoll"

    def tearDown(self):
        self.assertEqual(census(RUNTIME), NOTHING)

    def environment(self, **more):
        kept = {k: v for k, v in os.environ.items()
                if k not in ("XDG_CONFIG_HOME", "SUDO_UID") and (not k.startswith("ATOLL_") or k == "ATOLL_LIBEXEC")}
        nowhere = f"unix://{self.base}/nobody.sock"
        return {**kept, "HOME": str(self.home), "ATOLL_STATE": self.state, "XDG_RUNTIME_DIR": RUNTIME,
                "DOCKER_HOST": nowhere, "CONTAINER_HOST": nowhere, **more}

    def atoll(self, *words, code=0, **more):
        done = subprocess.run([ATOLL, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                              cwd=self.tree, env=self.environment(**more))
        self.assertEqual(done.returncode, code, (words, done.stdout, done.stderr))
        return done

    def told(self, *words, code=0, **more):
        return json.loads(self.atoll(words[0], "--json", *words[1:], code=code, **more).stdout)


class WithoutDaemon(World):
    def test_a_strategy_changes_the_order_and_not_the_set(self):
        able = {}
        for strategy in STRATEGIES:
            plan = self.told("plan", "--strategy", strategy)
            self.assertEqual(plan["strategy"], strategy)
            able[strategy] = sorted(one["driver"] for one in plan["drivers"] if one["verdict"] != "refused")
        self.assertEqual(len({str(names) for names in able.values()}), 1, able)
        self.assertIn(STRONGEST, able["priority"])
        fastest = self.told("plan", "--strategy", "fastest")["drivers"]
        starts = [one["start_ms"] for one in fastest if one["verdict"] != "refused" and "start_ms" in one]
        self.assertEqual(starts, sorted(starts))
        self.assertIn("as it declares", fastest[0]["reason"])

    def test_an_unknown_strategy_is_a_usage_error_that_names_all(self):
        done = self.atoll("plan", "--strategy", "fastes", code=2)
        self.assertIn("did you mean fastest?", done.stderr)

    def test_a_run_mode_is_a_route_and_the_floor_holds(self):
        if STRONGEST == "native":
            self.assertEqual(self.told("run", "--run-mode", "docker", "--", "true")["driver"], "native")
            self.assertEqual(self.told("run", "--", "true", ATOLL_RUN_MODE="wasm")["driver"], "native")
        plan = self.told("plan", "--run-mode", "wasm", "--min-isolation", "sentry", code=1)
        reasons = " / ".join(one["reason"] for one in plan["drivers"])
        self.assertIn("wasm is not configured here", reasons)
        self.assertFalse(plan["served"])
        self.assertEqual(self.told("run", "--run-mode", "local", "--", "true")["driver"], "local")
        self.assertIn("--driver says already", self.atoll("plan", "--run-mode", "auto", "--driver", "local", code=2).stderr)
        self.assertIn("work is not divided", self.atoll("plan", "--run-mode", "hybrid_aws", code=125).stderr)

    def test_a_run_mode_of_a_file(self):
        (self.tree / "atoll.yaml").write_text("run_mode: docker\nsandbox: {strategy: fastest}\n")
        plan = self.told("plan", code=0 if STRONGEST == "native" else 1)
        self.assertEqual((plan["run_mode"], plan["strategy"]), ("docker", "fastest"))
        self.assertEqual(self.told("plan", "--driver", STRONGEST)["driver"], STRONGEST)
        self.assertNotIn("run_mode", self.told("plan", "--driver", STRONGEST))
        (self.home / ".config" / "atoll" / "atoll.yaml").write_text("sandbox: {driver: gvisor}\n")
        refused = self.atoll("plan", code=126)
        self.assertIn("may isolate less than gvisor", refused.stderr)

    def test_the_comparison_has_a_row_for_every_driver(self):
        text = self.atoll("drivers", "--compare").stdout
        for name in self.told("drivers"):
            self.assertIn(name["name"], text)
        for column in ("ISOLATION", "START", "PRICE/H", "NETWORK", "KEEPS", "LIMITS", "BEST FOR"):
            self.assertIn(column, text)
        self.assertIn("declared", text)
        self.assertIn("free", text)


class WithDaemon(World):
    def setUp(self):
        super().setUp()
        self.daemon = Daemon(arguments=["--strategy", "round_robin", "--driver-weight", "subprocess=3"]).start()
        self.addCleanup(self.daemon.end)
        self.state = self.daemon.state

    def test_starts_are_measured_and_shown(self):
        for _ in range(3):
            self.atoll("run", "--driver", STRONGEST, "--", "true")
        views = {one["name"]: one for one in self.told("drivers")}
        self.assertEqual(views[STRONGEST]["health"], "healthy")
        self.assertEqual(views[STRONGEST]["circuit"], "closed")
        self.assertGreater(views[STRONGEST]["measured_start_ms"], 0)
        self.assertGreaterEqual(views[STRONGEST]["measured_starts"], 3)
        self.assertEqual(views[STRONGEST]["price_per_hour"], 0)
        self.assertEqual(views["subprocess"]["weight"], 3)
        self.assertIn("measured", self.atoll("drivers", "--compare").stdout)
        plan = self.told("plan", "--strategy", "fastest", "--min-isolation", "container")
        chosen = next(one for one in plan["drivers"] if one["driver"] == STRONGEST)
        self.assertTrue(chosen["start_measured"])

    def test_the_daemons_strategy_takes_turns(self):
        drivers = [self.told("run", "--", "true")["driver"] for _ in range(4)]
        self.assertGreater(len(set(drivers)), 1, drivers)
        self.assertEqual(self.told("run", "--strategy", "priority", "--min-isolation", "container", "--", "true")["driver"], STRONGEST)

    def test_metrics_tell_of_drivers(self):
        self.atoll("run", "--", "true")
        text = self.daemon.call("GET", "/metrics").body.decode()
        self.assertIn(f'atoll_driver_healthy{{driver="{STRONGEST}"}} 1', text)


class Sized(World):
    """Labels and room that an operator has given to drivers."""

    def setUp(self):
        super().setUp()
        config = self.base / "serve.yaml"
        config.write_text(f"serve: {{driver_labels: {{{STRONGEST}: 'zone=eu,fast'}}, driver_capacity: {{{STRONGEST}: 1}}}}\n")
        self.daemon = Daemon(arguments=["--config", str(config), "--driver-labels", "subprocess=zone=us", "--parked", "0"]).start()
        self.addCleanup(self.daemon.end)
        self.state = self.daemon.state

    def test_a_label_leads_to_who_has_it(self):
        self.assertEqual(self.told("plan", "--driver-label", "zone=us", "--min-isolation", "process")["driver"], "subprocess")
        plan = self.told("plan", "--driver-label", "zone=eu")
        self.assertEqual(plan["driver"], STRONGEST)
        reasons = {one["driver"]: one["reason"] for one in plan["drivers"]}
        self.assertEqual(reasons["subprocess"], "subprocess has the label zone=us, zone=eu was asked")
        views = {one["name"]: one for one in self.told("drivers")}
        self.assertEqual(views[STRONGEST]["labels"], {"zone": "eu", "fast": ""})

    def test_a_full_driver_is_passed_over_and_has_room_again(self):
        first = self.daemon.call("POST", "/v1/sandboxes", {"driver": STRONGEST})
        self.assertEqual(first.status, 201, first)
        views = {one["name"]: one for one in self.told("drivers")}
        self.assertEqual((views[STRONGEST]["capacity"]["sandboxes"], views[STRONGEST]["capacity"]["sandboxes_now"]), (1, 1))
        self.assertEqual(self.told("run", "--driver-label", "zone=us", "--", "true")["driver"], "subprocess")
        refused = self.daemon.call("POST", "/v1/sandboxes", {"driver": STRONGEST})
        self.assertEqual((refused.status, refused.json["code"], refused.json["limit"]), (503, "unavailable", "driver_sandboxes"), refused)
        self.assertGreaterEqual(int(refused.headers["Retry-After"]), 1)
        self.assertEqual([stage["name"] for stage in refused.json["stages"]], ["route"])
        record = self.daemon.call("GET", f"/v1/sandboxes/{refused.json['sandbox']}/start")
        self.assertEqual((record.status, record.json["state"]), (200, "failed"), record)
        plan = self.told("plan", "--driver", STRONGEST, code=1)
        self.assertIn(f"{STRONGEST} is full: it has 1 of 1 sandboxes, and 1 more is asked", plan["drivers"][0]["reason"])
        self.assertEqual(self.daemon.call("DELETE", f"/v1/sandboxes/{first.json['id']}").status, 204)
        self.assertEqual(self.told("run", "--driver", STRONGEST, "--", "true")["driver"], STRONGEST)

    def test_what_is_no_capacity_is_a_usage_error(self):
        self.assertIn("is no capacity", self.atoll("serve", "--driver-capacity", "subprocess=lots", code=2).stderr)


@unittest.skipIf(lacking("docker") and os.environ.get("ATOLL_MUST_RUN") != "1", "there is no docker here")
class Failover(World):
    """An engine that dies and comes back under a daemon that works with it: those who may go elsewhere do, and nobody goes lower."""

    def setUp(self):
        super().setUp()
        self.engine = Engine("docker").start()
        self.addCleanup(lambda: self.assertEqual(self.engine.stop(), []))
        libexec = {name: os.environ[name] for name in ("ATOLL_LIBEXEC",) if name in os.environ}
        self.daemon = Daemon(arguments=["--parked", "0"]).start(env={**libexec, **self.engine.environment})
        self.addCleanup(self.daemon.end)
        self.state = self.daemon.state

    def run_by(self, *words, code=0):
        return self.told("run", "--run-mode", "docker", *words, "--", "sh", "-c", "echo here", code=code)

    def test_a_run_mode_goes_on_with_its_next_driver_and_comes_back(self):
        self.assertEqual(self.run_by()["driver"], "docker")
        session = self.session("a")
        self.assertEqual(self.view(session["sandbox"])["driver"], "docker")
        self.assertEqual(self.daemon.call("DELETE", f"/v1/sessions/{session['id']}").status, 204)

        self.engine.kill()

        done = self.run_by()
        self.assertEqual((done["driver"], done["stdout"]), ("native", "here\n"))
        refused = self.daemon.call("POST", "/v1/runs", {"exec": {"argv": ["true"]}, "sandbox": {"run_mode": "docker", "min_isolation": "sentry"}})
        self.assertGreaterEqual(refused.status, 400, refused)
        self.assertEqual(refused.json["stage"], "route")
        self.assertIn("sentry", json.dumps(refused.json))
        named = self.daemon.call("POST", "/v1/runs", {"exec": {"argv": ["true"]}, "sandbox": {"driver": "docker"}})
        self.assertEqual(named.status, 503, named)  # whoever names one gets no other
        session = self.session("b")
        self.assertEqual(self.view(session["sandbox"])["driver"], "native")
        self.assertEqual(self.daemon.call("DELETE", f"/v1/sessions/{session['id']}").status, 204)

        self.engine.start()

        wait_until(lambda: self.run_by()["driver"] == "docker", "the engine is asked again", 90)

    def session(self, key):
        answer = self.daemon.call("POST", "/v1/sessions", {"scope": "workspace", "key": key, "on_last": "kill", "sandbox": {"run_mode": "docker"}})
        self.assertEqual(answer.status, 201, answer)
        self.daemon.made.add(answer.json["sandbox"])
        return answer.json

    def view(self, box):
        return self.daemon.call("GET", f"/v1/sandboxes/{box}").json


class Priced(World):
    """Prices that an operator has said, of what is on this host."""

    def setUp(self):
        super().setUp()
        config = self.base / "serve.yaml"
        config.write_text("serve: {driver_prices: {subprocess: 0.01+0.1/cpu+0.02/gib}}\n")
        self.daemon = Daemon(arguments=["--config", str(config), "--driver-price", f"{STRONGEST}=0.2"]).start()
        self.addCleanup(self.daemon.end)
        self.state = self.daemon.state

    def cheapest(self, *words):
        plan = self.told("plan", "--strategy", "cheapest", *words)
        return plan["driver"], {one["driver"]: one for one in plan["drivers"]}

    def test_the_cheapest_is_that_of_the_size_that_is_asked(self):
        profile = ("--profile", "none", "--min-isolation", "process")
        _, drivers = self.cheapest(*profile)
        self.assertEqual(drivers[STRONGEST]["price_per_hour"], 0.2)
        self.assertAlmostEqual(drivers["subprocess"]["price_per_hour"], 0.15)
        _, drivers = self.cheapest(*profile, "--memory", "16g")
        self.assertAlmostEqual(drivers["subprocess"]["price_per_hour"], 0.43)
        able = [one for one in drivers.values() if one["verdict"] != "refused"]
        prices = [one["price_per_hour"] for one in able]
        self.assertEqual(prices, sorted(prices))
        self.assertIn("cheapest: it costs $0.2 an hour", drivers[STRONGEST]["reason"])

    def test_a_run_goes_to_the_cheapest_and_never_below_the_floor(self):
        done = self.told("run", "--strategy", "cheapest", "--min-isolation", "container", "--", "true")
        plan, _ = self.cheapest("--min-isolation", "container")
        self.assertEqual(done["driver"], plan)
        self.assertNotEqual(plan, "subprocess")

    def test_the_comparison_has_the_prices(self):
        text = self.atoll("drivers", "--compare").stdout
        self.assertRegex(text, rf"{STRONGEST} .*\$0\.2 ")
        self.assertRegex(text, r"subprocess .*\$0\.15 ")

    def test_what_is_no_price_is_a_usage_error(self):
        wrong = self.atoll("serve", "--driver-price", "subprocess=cheap", code=2).stderr
        self.assertIn("'cheap' is no price", wrong)
        self.assertIn("no driver is called subproces", self.atoll("serve", "--driver-price", "subproces=1", code=2).stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
