"""Archives made at random out of what readers stumble over: names in each other's way, links, numbers, attributes."""

import random
import tarfile

from support.archives import File, Image, folder, hardlink, symlink, tar

NAMES = (
    "a", "b", "c", "a/b", "a/b/c", "b/a", "c/a", "./a", "a/", "etc", "etc/hosts", "sbin", "sbin/docker-init", "dev",
    "dev/pts", "proc", "sys/x", "tmp/x", "rpc", "rpc/x", "obs/x", "weights/x", ".wh.a", "a/.wh.b", "b/.wh..wh..opq",
    ".wh..wh.plnk/x", ".wh..wh.aufs", ".wh.rpc", "no space left on device", "x" * 255, "é" * 127, "A\\b", "a\nb",
    "\x7f", ".dockerenv", "a b", "lib", "usr/lib", "lib/x",
)  # fmt: skip
TARGETS = (*NAMES, "/", "..", "/proc/self", "/dev/null", "../../..", "/a/b", "usr/lib", "x" * 3000, "a/../b")
PAX = (
    {"mtime": "1.5"}, {"mtime": "-1"}, {"mtime": "-62135596800"}, {"mtime": "253402300799"}, {"mtime": "soon"},
    {"uid": "4294967294"}, {"uid": "4294967296"}, {"gid": "0"}, {"atime": "9" * 11}, {"ctime": "1."},
    {"SCHILY.xattr.user.a": "b"}, {"SCHILY.xattr.user.a": "b" * 1900}, {"SCHILY.xattr.user.a": "b" * 3000},
    {"SCHILY.xattr.security.capability": "\x01\x00\x00\x02" + "\x00" * 16},
    {"SCHILY.xattr.security.capability": "\x00\x00\x00\x03" + "\x00" * 20},
    {"SCHILY.xattr.security.selinux": "system_u:object_r:etc_t:s0"}, {"SCHILY.xattr.trusted.x": "y"},
    {"SCHILY.xattr.system.posix_acl_default": "x"}, {"SCHILY.xattr.nothing": "x"}, {"comment": "x"},
    {"SCHILY.xattr.security.ima": "\x03\x02"}, {"SCHILY.xattr.security.evm": "\x03\x02"}, {"hdrcharset": "BINARY"},
)  # fmt: skip
MODES = (0o644, 0, 0o7777, 0o4755)


def make_archive(seed: int) -> bytes:
    """The same bytes for the same number."""
    chance = random.Random(seed)
    layers = tuple(_make_layer(chance) for _ in range(chance.randint(1, 3)))
    image = Image(layers=layers, process=_make_process(chance))
    return tar(getattr(image, chance.choice(("docker", "oci", "both")))())


def _make_layer(chance: random.Random) -> bytes:
    form = chance.choice((tarfile.PAX_FORMAT, tarfile.PAX_FORMAT, tarfile.GNU_FORMAT))
    return tar([_make_entry(chance) for _ in range(chance.randint(1, 6))], form=form)


def _make_entry(chance: random.Random) -> File:
    name, target = chance.choice(NAMES), chance.choice(TARGETS)
    mode, pax = chance.choice(MODES), chance.choice(PAX) if chance.random() < 0.2 else {}
    return chance.choice(
        (
            File(name, b"x", mode=mode, pax=pax),
            File(name, b"x", mode=mode, pax=pax),
            File(name, type=tarfile.DIRTYPE, mode=mode, pax=pax),
            folder(name),
            symlink(name, target),
            hardlink(name, target),
            File(name, type=tarfile.CHRTYPE, device=(0, 0), mode=mode),
            File(name, type=chance.choice((b"7", b"D", b"X", b"\0"))),
        )
    )


def _make_process(chance: random.Random) -> dict[str, object]:
    odd: dict[str, object] = {}
    if chance.random() < 0.3:
        odd["WorkingDir"] = "/" + chance.choice(NAMES).lstrip("./")
    if chance.random() < 0.3:
        odd["Volumes"] = {"/" + chance.choice(NAMES).lstrip("./"): {}}
    if chance.random() < 0.2:
        odd["Cmd"] = [chance.choice(("/a", "a", "", "\x7f", "x" * 5000))]
    if chance.random() < 0.2:
        odd["StopSignal"] = chance.choice(("SIGTERM", "9", "SIGNOTHING", "RTMIN+3", "0"))
    if chance.random() < 0.2:
        odd["Env"] = chance.choice((["A=b", "A=c"], ["A"], ["A=" + "x" * 90_000], ["=x"], ["A=\n"]))
    return odd
