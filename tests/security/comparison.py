#!/usr/bin/env python3
"""The scorecard of several drivers side by side, and the page that shows it.

    comparison.py --products build/release [--write] [--drivers native,…]

Runs scorecard.py for each driver, prints one table with a line per group of attacks, and with --write puts it into
SECURITY.md between its marks. Needs root. A driver with problems is told, and nothing is written.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "SECURITY.md"
BEGIN, END = "<!-- scorecard:begin -->\n", "<!-- scorecard:end -->\n"
DRIVERS = ("native", "rootless", "docker", "gvisor")
# Whom `rootless` runs as, as in CMakeLists.txt.
ORDINARY_USER = "61917"
RESULTS = ("denied", "REACHED", "not covered", "not applicable")
# By number of the security recipe's list, or by name what is beyond it.
GROUPS = {
    "mounts, namespaces, roots": [1, 2, 3, 4, 5, 6, 7, 13, 31, "remount_writable", "umount_masks", "host_name", "set_host_name"],
    "the kernel's calls": [9, 10, 11, 12, 14, 15, 43, "fanotify_call"],
    "the kernel's files, devices": [18, 19, 20, 21, 22, "cgroup_files", "cgroup_path", "proc_attr_redirect", "proc_sys_write", "sysfs_read",
                                    "device_in_volume"],
    "users and rights": [23, 28, 29, "raise_capabilities", "regain_by_exec", "sudo_mount", "sudo_secret", "home_of_root"],
    "files, descriptors, the file API": [24, 25, 26, 30, 32, 33],
    "other processes, memory, terminals": [8, 27, 40, 42, "signal_victim", "prlimit_victim", "oom_score_victim", "launcher_files",
                                           "launcher_memory", "launcher_signal"],
    "network and sockets": [16, 17, "abstract_socket", "netlink_link", "netlink_sockets", "path_socket"],
    "using everything up": [35, 36, 37, 38, 39, "core_limit", "oom_score_own", "sudo_fork_bomb"],
    "other sandboxes, the own agent": [44, 45, "shared_layers", "neighbour_files", "kill_agent"],
}


def group_of(attack):
    """By name first: one number may have attacks of two groups."""
    for key in (attack["name"], attack["dossier"]):
        for group, members in GROUPS.items():
            if key in members:
                return group
    raise ValueError(f"{attack['name']} is in no group of comparison.py")


def listed(products):
    program = os.path.join(products, "libexec/atoll/atoll-attack")
    return json.loads(subprocess.run([program, "--list"], capture_output=True, check=True).stdout)["attacks"]


def results_of(driver, products):
    """Of each attack by name; none if there were problems."""
    with tempfile.TemporaryDirectory(prefix="atoll-scorecard-") as place:
        told = os.path.join(place, "results.json")
        environment = dict(os.environ, **({"ATOLL_SECURITY_USER": ORDINARY_USER} if driver == "rootless" else {}))
        done = subprocess.run(["/usr/bin/python3", "-B", str(HERE / "scorecard.py"), "--driver", driver, "--atoll", f"{products}/bin/atoll",
                               "--libexec", f"{products}/libexec/atoll", "--json", told], env=environment, stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            print(done.stdout, file=sys.stderr)
            return None
        return {row["name"]: row["result"] for row in json.loads(pathlib.Path(told).read_text())}


def cell(attacks, results):
    counts = [sum(results[attack["name"]] == result for attack in attacks) for result in RESULTS]
    return " / ".join(map(str, counts))


def table(attacks, by_driver):
    lines = ["| attacks | " + " | ".join(f"`{driver}`" for driver in by_driver) + " |",
             "|---|" + "---|" * len(by_driver)]
    for group in GROUPS:
        members = [attack for attack in attacks if group_of(attack) == group]
        lines.append(f"| {group} | " + " | ".join(cell(members, results) for results in by_driver.values()) + " |")
    lines.append(f"| **all {len(attacks)}** | " + " | ".join(f"**{cell(attacks, results)}**" for results in by_driver.values()) + " |")
    return "\n".join(lines) + "\n"


def with_table(page, text):
    before, rest = page.split(BEGIN)
    return before + BEGIN + text + END + rest.split(END)[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--products", required=True)
    parser.add_argument("--drivers", default=",".join(DRIVERS))
    parser.add_argument("--write", action="store_true", help="into SECURITY.md, too")
    asked = parser.parse_args()
    attacks = listed(asked.products)
    by_driver = {driver: results_of(driver, asked.products) for driver in asked.drivers.split(",")}
    failed = [driver for driver, results in by_driver.items() if results is None]
    if failed:
        print(f"problems with {', '.join(failed)}", file=sys.stderr)
        return 1
    text = table(attacks, by_driver)
    print(text)
    if asked.write:
        PAGE.write_text(with_table(PAGE.read_text(), text))
    return 0


if __name__ == "__main__":
    sys.exit(main())
