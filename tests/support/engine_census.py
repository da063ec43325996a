"""What a container engine has, seen from outside: whatever belongs to no container that it knows is a leak."""

import json
import os
import pathlib
import re


def leaks(engine, daemon, allowed, made):
    """Lines; none is good. `allowed`: ids of the containers that may be there, with all that is theirs. `made`: ids of those that
    were made: engines of others have their control groups beside ours."""
    found = [f"container {one['Names']} {one['State']}" for one in engine.containers() if one["Id"] not in allowed]
    volumes = json.loads(engine.ask("GET", "/v1.41/volumes")[1]).get("Volumes") or []
    found += [f"volume {one['Name']}" for one in volumes]
    networks = json.loads(engine.ask("GET", "/v1.41/networks")[1])
    found += [f"network {one['Name']}" for one in networks if one["Name"] not in ("none", "host", "bridge", "podman")]
    # A shim's or a monitor's arguments name its container.
    for pid, words in engine.processes():
        named = re.search(r"(?:containerd-shim\S* .*-id|conmon .*-c) ([0-9a-f]{64})", words)
        if named and named[1] not in allowed:
            found.append(f"process {pid} {words[:120]}")
    found += [f"mount {path}" for path in engine.mounts() if is_of_container(engine, path) and not of_allowed(engine, path, allowed)]
    found += [f"cgroup {path}" for path in engine.cgroups() - engine.groups
              if any(one in path for one in made - allowed)]
    for place in (f"{engine.root}/data/containers", f"{engine.root}/exec/containerd/daemon/io.containerd.runtime.v2.task/moby"):
        if os.path.isdir(place):
            found += [f"directory {place}/{name}" for name in os.listdir(place) if name not in allowed]
    ours = pathlib.Path(daemon.state, "engines", engine.name)
    boxes = {one["id"] for one in daemon.call("GET", "/v1/sandboxes").json["sandboxes"]}
    if ours.is_dir():
        found += [f"directory {path}" for path in ours.iterdir() if path.name not in boxes]
    return found


def is_of_container(engine, path):
    inside = path.removeprefix(engine.root)
    return bool(re.search(r"/(merged|shm|rootfs|userdata)(/|$)|/[0-9a-f]{64}", inside))


def of_allowed(engine, path, allowed):
    """By the container's own id, or by its layer, which has another."""
    if any(one in path for one in allowed):
        return True
    for one in allowed:
        told = json.loads(engine.ask("GET", f"/v1.41/containers/{one}/json")[1])
        layer = (told.get("GraphDriver", {}).get("Data") or {}).get("UpperDir", "")
        if layer and os.path.dirname(layer) == os.path.dirname(path):
            return True
    return False
