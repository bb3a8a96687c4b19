"""Engines and file systems for tests of build caches: each is made, used and removed by the test that asks for it."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "fleet")]
import harness  # noqa: E402

engine_api = harness.engine_api


class Missing(Exception):
    """What a case needs isn't here; the text says what."""


def toolchain():
    """The newest toolchain image without a C compiler that this machine's engine has: what the engine says of it."""
    found = [image for image in harness.ENGINE.call("GET", "/images/json")
             if (image.get("Labels") or {}).get("cupel.image.cc") == "0"]
    if not found:
        raise Missing("this machine's engine has no toolchain image without a C compiler: 'cupel image build 1.26 --without-cc'")
    return max(found, key=lambda image: [int(part) for part in image["Labels"]["cupel.image.go"].split(".")])


@contextlib.contextmanager
def mounted(kind, options=()):
    """A new file system of this kind: ext4 and the like in a file of its own, tmpfs, or a bind mount of a folder."""
    with tempfile.TemporaryDirectory(prefix="cupel-fs-", dir="/var/tmp") as scratch:
        place = pathlib.Path(scratch) / "mounted"
        place.mkdir()
        if kind == "tmpfs":
            command = ["mount", "-t", "tmpfs", "-o", "size=3g,mode=0711", "tmpfs", place]
        elif kind == "bind":
            (pathlib.Path(scratch) / "folder").mkdir()
            command = ["mount", "--bind", pathlib.Path(scratch) / "folder", place]
        else:
            if not shutil.which(f"mkfs.{kind}"):
                raise Missing(f"mkfs.{kind} is not installed")
            image = pathlib.Path(scratch) / "image"
            with open(image, "wb") as file:
                file.truncate(4 << 30)
            made = subprocess.run([f"mkfs.{kind}", "-q", *options, image], capture_output=True, text=True, check=False)
            if made.returncode != 0:
                raise Missing(f"mkfs.{kind}: {made.stderr}")
            command = ["mount", "-o", "loop", image, place]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Missing(f"{kind} can't be mounted here: {done.stderr.strip()}")
        try:
            place.chmod(0o711)
            yield place
        finally:
            harness.run(["umount", place])


@contextlib.contextmanager
def own_engine(kind):
    """An engine with a store of its own (tests/integration/engines/own_engine) that holds toolchain()'s image; its socket."""
    folder = f"/var/lib/cupel-own-engines/{kind}-{os.urandom(4).hex()}"
    script = subprocess.Popen([HERE.parent / "engines" / "own_engine", kind, folder], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        said = ""
        for line in script.stdout:
            said += line
            if line == "ready\n":
                break
        else:
            raise Missing(said)
        copy_image(folder + "/engine.sock", toolchain()["Id"])
        yield folder + "/engine.sock"
    finally:
        script.stdin.close()
        script.wait()
        script.stdout.close()


def copy_image(socket, image):
    """From this machine's engine to the other, as one stream; the labels make it a toolchain there as well."""
    source = engine_api.EngineConnection(harness.ENGINE_SOCKET, 300)
    with contextlib.closing(source), contextlib.closing(engine_api.EngineConnection(socket, 300)) as target:
        source.request("GET", f"/images/{image}/get")
        archive = source.getresponse()
        target.request("POST", "/images/load?quiet=1", iter(lambda: archive.read(1 << 20), b""),
                       {"Content-Type": "application/x-tar"}, encode_chunked=True)
        answer = target.getresponse()
        text = answer.read()
        if answer.status != 200 or b"errorDetail" in text:
            raise Missing(f"the image can't be loaded: {answer.status} {text[:300]!r}")


def unpacked_images(bin_dir, folder):
    """Makes bubblewrap's image of the toolchain in `folder`, as users do; returns the folder."""
    done = subprocess.run([pathlib.Path(bin_dir) / "cupel", "image", "build", "1.26", "--without-cc", "--engine", "bubblewrap",
                           "--image-dir", folder], capture_output=True, text=True, check=False, timeout=600)
    if done.returncode != 0:
        raise Missing(f"no unpacked image: {done.stderr}")
    return folder


