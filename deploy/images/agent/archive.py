"""An image of one layer as an archive that Docker, Podman and OCI tools read."""

import hashlib
import io
import json
import tarfile
import time

PIECE = 1 << 20
OCI = "application/vnd.oci.image"


def digest_of(path):
    whole = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(PIECE):
            whole.update(piece)
    return whole.hexdigest()


def write_image(target, layer, config, epoch, name):
    """`layer` is a tar; `config` is what the image says about commands. Both ways to describe an image are in it: the one of
    `docker save` and the one of OCI."""
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch))
    layer_digest = digest_of(layer)
    blobs = {}

    def blob(kind, value):
        text = json.dumps(value, sort_keys=True).encode()
        digest = hashlib.sha256(text).hexdigest()
        blobs[digest] = text
        return {"mediaType": f"{OCI}.{kind}", "digest": f"sha256:{digest}", "size": len(text)}

    described = blob("config.v1+json", {
        "architecture": "amd64", "os": "linux", "created": created, "config": config,
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer_digest}"]},
        "history": [{"created": created, "created_by": "deploy/images/agent/build"}]})
    manifest = blob("manifest.v1+json", {
        "schemaVersion": 2, "mediaType": f"{OCI}.manifest.v1+json", "config": described,
        "layers": [{"mediaType": f"{OCI}.layer.v1.tar", "digest": f"sha256:{layer_digest}", "size": layer.stat().st_size}]})
    tag = name.rsplit(":", 1)[1]
    named = {**manifest, "annotations": {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": tag}}
    place = "blobs/sha256/"
    with tarfile.open(target, "w", format=tarfile.PAX_FORMAT) as archive:
        def add(path, size, source):
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode, entry.mtime = size, 0o644, epoch
            archive.addfile(entry, source)

        def add_text(path, value):
            text = value if isinstance(value, bytes) else json.dumps(value, sort_keys=True).encode()
            add(path, len(text), io.BytesIO(text))

        add_text("oci-layout", {"imageLayoutVersion": "1.0.0"})
        add_text("index.json", {"schemaVersion": 2, "mediaType": f"{OCI}.index.v1+json", "manifests": [named]})
        add_text("manifest.json", [{"Config": place + described["digest"][7:], "RepoTags": [name], "Layers": [place + layer_digest]}])
        for digest, text in sorted(blobs.items()):
            add_text(place + digest, text)
        with open(layer, "rb") as source:
            add(place + layer_digest, layer.stat().st_size, source)
