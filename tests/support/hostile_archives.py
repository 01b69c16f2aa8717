"""Uploads that want something else than to be run, with the reason for which each is refused."""

import json
import tarfile
from collections.abc import Callable
from dataclasses import replace

from nav_eval_worker.archives import (
    ArchiveDamaged,
    ArchiveInvalid,
    ArchiveTooLarge,
    ArchiveUnsafe,
    NotOneImage,
    WrongPlatform,
)
from support.archives import (
    APP,
    BASE,
    INDEX_TYPE,
    PACKERS,
    File,
    Image,
    blob_file,
    descriptor,
    digest,
    folder,
    hardlink,
    hexdigest,
    index_blob,
    oci_top,
    replaced,
    symlink,
    tar,
    without,
)

GOOD = tar(Image().docker())
LAYER = next(file.name for file in Image().docker() if file.name.endswith("layer.tar"))
PLAIN = tar([File("etc/motd", b"hello")], form=tarfile.USTAR_FORMAT)
CONFIG = f"{hexdigest(Image().config)}.json"


def outer(*extra: File) -> bytes:
    """A good archive with more in it."""
    return tar([*extra, *Image().docker()])


def inner(*extra: File, form: int = tarfile.PAX_FORMAT) -> bytes:
    """A good archive whose top layer has more in it; all digests are right."""
    return tar(Image(layers=(BASE, tar(extra, form=form))).docker())


def with_layer(layer: bytes) -> bytes:
    """A good archive whose top layer is a tar of our making."""
    return tar(Image(layers=(BASE, layer)).docker())


def configured(**process: object) -> bytes:
    return tar(Image(process=process).docker())


def of_manifest(**changes: object) -> bytes:
    files = Image().docker()
    entry = json.loads(next(file.data for file in files if file.name == "manifest.json"))[0]
    return tar(replaced(files, "manifest.json", json.dumps([entry | changes]).encode()))


def two_images() -> bytes:
    one, two = Image(), Image(process={"Cmd": ["other"]})
    entries = [json.loads(next(f.data for f in i.docker() if f.name == "manifest.json"))[0] for i in (one, two)]
    config = File(f"{hexdigest(two.config)}.json", two.config)
    return tar([*replaced(one.docker(), "manifest.json", json.dumps(entries).encode()), config])


def two_oci_images() -> bytes:
    one, two = Image(), Image(process={"Cmd": ["other"]})
    files = without(one.oci(), "index.json")
    top = oci_top([descriptor(one.manifest()), descriptor(two.manifest())])[:1]
    return tar([*files, blob_file(two.config), blob_file(two.manifest()), *top])


def two_faces() -> bytes:
    """manifest.json shows one image, index.json another."""
    shown, hidden = Image(), Image(process={"Cmd": ["evil"]})
    files = [*shown.both(), blob_file(hidden.config), blob_file(hidden.manifest())]
    return tar(replaced(files, "index.json", index_blob([descriptor(hidden.manifest())])))


def foreign_index() -> bytes:
    image = Image()
    item = descriptor(image.manifest(), platform={"os": "linux", "architecture": "arm64"})
    return tar(replaced(image.oci(), "index.json", index_blob([item])))


def nested_indexes(depth: int) -> bytes:
    image = Image()
    item, blobs = descriptor(image.manifest()), []
    for _ in range(depth):
        blobs.append(index_blob([item]))
        item = descriptor(blobs[-1], INDEX_TYPE)
    return tar([*replaced(image.oci(), "index.json", index_blob([item])), *map(blob_file, blobs)])


def linked_blob() -> bytes:
    """A blob's name leads to other bytes by a link."""
    image, evil = Image(), Image(process={"Cmd": ["evil"]}).config
    name = f"blobs/sha256/{hexdigest(image.config)}"
    return tar([*without(image.oci(), name), File("evil", evil), symlink(name, "../../evil")])


def renumbered(data: bytes, *, at: int, raw: bytes) -> bytes:
    """The first header with other bytes and a checksum that fits."""
    block = bytearray(data[:512])
    block[at : at + len(raw)] = raw
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block) + data[512:]


def with_raw_header(type_: bytes, body: bytes, size: int | None = None) -> bytes:
    """A good archive that begins with an extension header of our making."""
    info = tarfile.TarInfo("x")
    info.type, info.size = type_, len(body) if size is None else size
    return info.tobuf(tarfile.GNU_FORMAT) + body + bytes(-len(body) % 512) + GOOD


def pax(**records: str) -> bytes:
    return b"".join(record(key.replace("__", "."), value) for key, value in records.items())


def record(key: str, value: str) -> bytes:
    text = f" {key}={value}\n".encode()
    length = len(text) + len(str(len(text)))
    length = len(text) + len(str(length))
    return str(length).encode() + text


EVIL_PATH = "../../etc/cron.d/evil"
HOSTILE: dict[str, tuple[Callable[[], bytes], type[ArchiveInvalid], str]] = {
    # not an archive at all
    "empty": (lambda: b"", ArchiveDamaged, "empty"),
    "text": (lambda: b"FROM python:3.11\n" * 100, ArchiveDamaged, "not a tar"),
    "short text": (lambda: b"hello", ArchiveDamaged, "truncated"),
    "xz": (lambda: b"\xfd7zXZ\x00" + bytes(600), ArchiveInvalid, "packed with xz"),
    "zip": (lambda: b"PK\x03\x04" + bytes(600), ArchiveInvalid, "packed with zip"),
    "only zeros": (lambda: bytes(10240), ArchiveInvalid, "docker save"),
    "gzip of text": (lambda: PACKERS["gzip"](b"hello" * 500), ArchiveDamaged, "not a tar"),
    "a file system": (lambda: BASE, ArchiveInvalid, "systemd|absolute"),
    "neither manifest nor index": (lambda: tar([File("readme", b"x")]), ArchiveInvalid, "docker export"),
    "in a folder": (
        lambda: tar([replace(f, name=f"image/{f.name}") for f in Image().oci()]),
        ArchiveInvalid,
        "at its top",
    ),
    # broken on the way
    "truncated": (lambda: GOOD[: len(GOOD) // 2], ArchiveDamaged, "truncated"),
    "without its end": (
        lambda: GOOD.rstrip(b"\0") + bytes(-len(GOOD.rstrip(b"\0")) % 512),
        ArchiveDamaged,
        "truncated",
    ),
    "truncated gzip": (lambda: PACKERS["gzip"](GOOD)[:-9], ArchiveDamaged, "ends inside|truncated"),
    "truncated zstd": (lambda: PACKERS["zstd"](GOOD)[:-9], ArchiveDamaged, "truncated|zstd"),
    "flipped gzip": (lambda: PACKERS["gzip"](GOOD)[:-6] + b"\0" * 6, ArchiveDamaged, "gzip"),
    "garbage behind": (lambda: GOOD + b"x" * 700, ArchiveDamaged, "after its end"),
    "garbage behind gzip": (lambda: PACKERS["gzip"](GOOD) + b"garbage", ArchiveDamaged, "gzip"),
    "garbage behind zstd": (lambda: PACKERS["zstd"](GOOD) + b"garbage" * 9, ArchiveDamaged, "zstd"),
    "a second archive behind": (lambda: GOOD + GOOD, ArchiveDamaged, "after its end"),
    "a second archive in a second gzip member": (lambda: PACKERS["gzip"](GOOD) * 2, ArchiveDamaged, "after its end"),
    "wrong checksum": (lambda: GOOD[:10] + b"x" + GOOD[11:], ArchiveDamaged, "checksum"),
    "negative size": (lambda: renumbered(GOOD, at=124, raw=b"\xff" * 12), ArchiveDamaged, "number"),
    "size that is no number": (lambda: renumbered(GOOD, at=124, raw=b"12x45678901\0"), ArchiveDamaged, "number"),
    "size beyond all disks": (
        lambda: renumbered(GOOD, at=124, raw=b"\x80" + b"\x7f" * 11),
        ArchiveTooLarge,
        "a file of",
    ),
    "folder with data": (lambda: renumbered(GOOD, at=124, raw=b"00000001000\0"), ArchiveDamaged, "with data"),
    # paths of the outer archive
    "traversal": (lambda: outer(File(EVIL_PATH, b"x")), ArchiveUnsafe, "climbs out"),
    "traversal inside": (lambda: outer(File("a/../../b", b"x")), ArchiveUnsafe, "climbs out"),
    "absolute": (lambda: outer(File("/etc/cron.d/evil", b"x")), ArchiveUnsafe, "absolute"),
    "backslashes": (lambda: outer(File("..\\..\\evil", b"x")), ArchiveUnsafe, "forbidden character"),
    "NUL in a PAX path": (lambda: with_raw_header(b"x", pax(path="a\0b")), ArchiveDamaged, "NUL"),
    "endless path": (lambda: outer(File("a/" * 20 + "b" * 2000, b"x")), ArchiveTooLarge, "path beyond"),
    "deep path": (lambda: outer(File("a/" * 100 + "b", b"x")), ArchiveTooLarge, "deeper"),
    "symlink out": (lambda: outer(symlink("a/b", EVIL_PATH)), ArchiveUnsafe, "leads out"),
    "absolute symlink": (lambda: outer(symlink("a", "/etc/shadow")), ArchiveUnsafe, "absolute"),
    "hard link out": (lambda: outer(hardlink("a", EVIL_PATH)), ArchiveUnsafe, "climbs out"),
    "absolute hard link": (lambda: outer(hardlink("a", "/etc/shadow")), ArchiveUnsafe, "absolute"),
    "layer as a link to nothing": (
        lambda: tar([symlink(LAYER, "../nothing"), *without(Image().docker(), LAYER)]),
        ArchiveDamaged,
        "missing",
    ),
    "layers that link in a circle": (
        lambda: tar([symlink(LAYER, "../x"), symlink("x", LAYER), *without(Image().docker(), LAYER)]),
        ArchiveDamaged,
        "missing",
    ),
    "device": (lambda: outer(File("sda", type=tarfile.BLKTYPE, device=(8, 0))), ArchiveUnsafe, "block device"),
    "pipe": (lambda: outer(File("p", type=tarfile.FIFOTYPE)), ArchiveUnsafe, "named pipe"),
    "unknown type": (lambda: renumbered(GOOD, at=156, raw=b"Z"), ArchiveUnsafe, "unknown type"),
    "manifest.json twice": (lambda: outer(File("manifest.json", b"[]")), ArchiveUnsafe, "twice"),
    "twice in two spellings": (lambda: outer(File("./manifest.json", b"[]")), ArchiveUnsafe, "twice"),
    "a folder where a file is": (lambda: outer(folder("manifest.json/")), ArchiveUnsafe, "twice"),
    # tricks of the format
    "sparse, old": (lambda: renumbered(GOOD, at=156, raw=b"S"), ArchiveUnsafe, "sparse"),
    "sparse, PAX": (lambda: with_raw_header(b"x", pax(GNU__sparse__size="99999999999")), ArchiveUnsafe, "sparse"),
    "PAX bomb": (lambda: with_raw_header(b"x", record("comment", "x" * 100_000)), ArchiveTooLarge, "PAX header of"),
    "PAX bomb by size alone": (lambda: with_raw_header(b"x", b"", size=2**33 - 1), ArchiveTooLarge, "PAX header of"),
    "long name bomb": (lambda: with_raw_header(b"L", b"x" * 100_000), ArchiveTooLarge, "GNU long name of"),
    "PAX with a wrong length": (lambda: with_raw_header(b"x", b"99999 path=a\n"), ArchiveDamaged, "cannot be read"),
    "PAX without an end": (lambda: with_raw_header(b"x", b"10 path=aaa"), ArchiveDamaged, "cannot be read"),
    "PAX key twice": (lambda: with_raw_header(b"x", pax(path="a") + pax(path="b")), ArchiveDamaged, "twice"),
    "PAX size that is no number": (lambda: with_raw_header(b"x", pax(size="-1")), ArchiveDamaged, "no number"),
    "empty PAX path": (lambda: with_raw_header(b"x", pax(path="")), ArchiveDamaged, "empty name"),
    "global PAX that renames": (lambda: with_raw_header(b"g", pax(path="manifest.json")), ArchiveUnsafe, "global"),
    "a header that nothing follows": (
        lambda: with_raw_header(b"x", pax(path="a"))[:1024] + bytes(1024),
        ArchiveDamaged,
        "extension header",
    ),
    # documents
    "manifest.json is no JSON": (lambda: tar([File("manifest.json", b"[{]")]), ArchiveDamaged, "cannot be read"),
    "manifest.json of nothing": (lambda: tar([File("manifest.json", b"[]")]), NotOneImage, "0 images"),
    "manifest.json as an object": (lambda: tar([File("manifest.json", b"{}")]), ArchiveDamaged, "array"),
    "manifest.json is a layer": (lambda: tar([File("manifest.json", APP)]), ArchiveTooLarge, "no JSON"),
    "deep JSON": (lambda: tar([File("manifest.json", b"[" * 500_000)]), ArchiveDamaged, "cannot be read"),
    "deep JSON in a field": (
        lambda: tar(
            [File("manifest.json", b'[{"Config":"c","Layers":[],"X":' + b"[" * 200_000 + b"]" * 200_000 + b"}]")]
        ),
        ArchiveDamaged,
        "cannot be read",
    ),
    "huge JSON": (
        lambda: tar([File("manifest.json", b"[" + b" " * 5_000_000 + b"]")]),
        ArchiveTooLarge,
        "sensible size",
    ),
    "much JSON": (
        lambda: tar([File(f"{i}.json", b"[" + b" " * 4_000_000 + b"]") for i in range(5)]),
        ArchiveTooLarge,
        "JSON documents",
    ),
    "not UTF-8": (lambda: tar([File("manifest.json", b'[{"Config":"\xff","Layers":[]}]')]), ArchiveDamaged, "read"),
    "config by traversal": (lambda: of_manifest(Config=EVIL_PATH), ArchiveUnsafe, "climbs out"),
    "config by absolute path": (lambda: of_manifest(Config="/etc/passwd"), ArchiveUnsafe, "absolute"),
    "layer by traversal": (lambda: of_manifest(Layers=[EVIL_PATH, LAYER]), ArchiveUnsafe, "climbs out"),
    "config that is a layer": (lambda: of_manifest(Config=LAYER), ArchiveTooLarge, "no JSON"),
    "layer that is the config": (lambda: of_manifest(Layers=[LAYER, CONFIG]), ArchiveDamaged, "no tar"),
    "fewer layers than named": (lambda: of_manifest(Layers=[LAYER]), ArchiveDamaged, "2 layers"),
    "layers in another order": (
        lambda: tar(Image(top={"rootfs": {"type": "layers", "diff_ids": [digest(APP), digest(BASE)]}}).docker()),
        ArchiveDamaged,
        "has the digest",
    ),
    "300 layers": (lambda: of_manifest(Layers=[LAYER] * 300), ArchiveInvalid, "300 layers"),
    "no layers": (lambda: tar(Image(layers=()).oci()), ArchiveDamaged, "0 layers"),
    # digests
    "missing layer": (lambda: tar(without(Image().docker(), LAYER)), ArchiveDamaged, "missing"),
    "missing config": (lambda: tar(without(Image().docker(), CONFIG)), ArchiveDamaged, "missing"),
    "changed layer": (lambda: tar(replaced(Image().docker(), LAYER, APP)), ArchiveDamaged, "has the digest"),
    "changed config": (
        lambda: tar(replaced(Image().docker(), CONFIG, Image().config + b" ")),
        ArchiveDamaged,
        "digest",
    ),
    "changed blob": (
        lambda: tar(replaced(Image().oci(), f"blobs/sha256/{hexdigest(BASE)}", APP)),
        ArchiveDamaged,
        "another digest",
    ),
    "missing blob": (lambda: tar(without(Image().oci(), f"blobs/sha256/{hexdigest(BASE)}")), ArchiveDamaged, "lacks"),
    "blob by a link": (linked_blob, ArchiveDamaged, "and the digest"),
    "blob of another size": (
        lambda: tar(replaced(Image().oci(), "index.json", index_blob([descriptor(Image().manifest()) | {"size": 3}]))),
        ArchiveDamaged,
        "should have 3 bytes",
    ),
    "blob by a path": (
        lambda: tar(
            replaced(Image().oci(), "index.json", index_blob([{"digest": "sha256:../../manifest.json", "size": 1}]))
        ),
        ArchiveDamaged,
        "not by a sha256",
    ),
    # not one image for us
    "two images": (two_images, NotOneImage, "2 images"),
    "two OCI images": (two_oci_images, NotOneImage, "2 images"),
    "two faces": (two_faces, NotOneImage, "different images"),
    "nested too deep": (lambda: nested_indexes(9), ArchiveInvalid, "nests"),
    "arm64": (lambda: tar(Image(top={"architecture": "arm64"}).docker()), WrongPlatform, "linux/arm64.*--platform"),
    "windows": (lambda: tar(Image(top={"os": "windows"}).docker()), WrongPlatform, "windows/amd64"),
    "arm64 index": (foreign_index, WrongPlatform, "linux/arm64"),
    "no architecture": (lambda: tar(Image(top={"architecture": ""}).docker()), WrongPlatform, "linux/"),
    # layers
    "traversal in a layer": (lambda: inner(File(EVIL_PATH, b"x")), ArchiveUnsafe, "layer.*climbs out"),
    "absolute path in a layer": (lambda: inner(File("/etc/x", b"x")), ArchiveUnsafe, "layer.*absolute"),
    "hard link out of a layer": (lambda: inner(hardlink("a", "../../etc/shadow")), ArchiveUnsafe, "hard link.*climbs"),
    "absolute hard link in a layer": (
        lambda: inner(hardlink("a", "/etc/shadow")),
        ArchiveUnsafe,
        "hard link.*absolute",
    ),
    "disk in a layer": (lambda: inner(File("dev/sda", type=tarfile.BLKTYPE, device=(8, 0))), ArchiveUnsafe, "block"),
    "memory in a layer": (
        lambda: inner(File("dev/mem", type=tarfile.CHRTYPE, device=(1, 1))),
        ArchiveUnsafe,
        "character",
    ),
    "memory by another name": (
        lambda: inner(File("dev/null", type=tarfile.CHRTYPE, device=(1, 1))),
        ArchiveUnsafe,
        "character device",
    ),
    "pipe in a layer": (lambda: inner(File("p", type=tarfile.FIFOTYPE)), ArchiveUnsafe, "named pipe"),
    "link at /proc": (lambda: inner(symlink("proc", "/tmp")), ArchiveUnsafe, "symbolic link at '/proc'"),
    "link at /rpc": (lambda: inner(symlink("./rpc", "/proc/self/fd/7")), ArchiveUnsafe, "symbolic link at '/rpc'"),
    "file at /tmp": (lambda: inner(File("tmp", b"x")), ArchiveUnsafe, "file at '/tmp'"),
    "hard link at /obs": (lambda: inner(hardlink("obs", "etc/passwd")), ArchiveUnsafe, "hard link at '/obs'"),
    "file twice in a layer": (lambda: inner(File("a", b"1"), File("a", b"2")), ArchiveUnsafe, "twice"),
    "file over a link in a layer": (lambda: inner(symlink("a", "/etc"), File("./a", b"2")), ArchiveUnsafe, "twice"),
    "whiteout of the parent": (lambda: inner(File("etc/.wh...")), ArchiveUnsafe, "deletes"),
    "whiteout of nothing": (lambda: inner(File("etc/.wh.")), ArchiveUnsafe, "deletes"),
    "overlay attribute": (
        lambda: inner(File("a", b"x", pax={"SCHILY.xattr.trusted.overlay.redirect": "/etc"})),
        ArchiveUnsafe,
        "overlay attribute",
    ),
    "sparse file in a layer": (
        lambda: inner(File("a", b"x", pax={"GNU.sparse.realsize": "1"})),
        ArchiveUnsafe,
        "layer.*sparse",
    ),
    # what an engine's own reader or the kernel stumbles over: each of these once counted as our fault
    "hard link to nothing": (lambda: inner(hardlink("a", "nothing")), ArchiveDamaged, "hard link to 'nothing'"),
    "hard link into another layer": (lambda: inner(hardlink("a", "etc/passwd")), ArchiveDamaged, "folder that is not"),
    "hard link to a folder": (lambda: inner(folder("d"), hardlink("a", "d")), ArchiveDamaged, "no file before it"),
    "hard link before its file": (
        lambda: inner(hardlink("a", "b"), File("b", b"x")),
        ArchiveDamaged,
        "no file before it",
    ),
    "hard link to itself": (lambda: inner(hardlink("a", "a")), ArchiveDamaged, "no file before it"),
    "file below a file": (lambda: inner(File("a", b"x"), File("a/b", b"x")), ArchiveDamaged, "below a file"),
    "folder below a file": (lambda: inner(File("a", b"x"), folder("a/b")), ArchiveDamaged, "below a file"),
    "folder twice in a layer": (lambda: inner(folder("d"), File("d/f"), folder("./d/")), ArchiveUnsafe, "twice"),
    "folder over a file": (lambda: inner(File("a", b"x"), folder("a/")), ArchiveUnsafe, "file and as a folder"),
    "file over a folder": (lambda: inner(File("a/b", b"x"), File("a", b"x")), ArchiveUnsafe, "file and as a folder"),
    "link over a folder": (lambda: inner(folder("a"), symlink("a", "/no")), ArchiveUnsafe, "file and as a folder"),
    "file below a link to nothing": (
        lambda: inner(symlink("a", "/nowhere"), File("a/b", b"x")),
        ArchiveDamaged,
        "folder that is not there",
    ),
    "file below a link to a file": (
        lambda: inner(File("f", b"x"), symlink("a", "f"), File("a/b", b"x")),
        ArchiveDamaged,
        "below a file",
    ),
    "file below a link to itself": (lambda: inner(symlink("a", "a"), File("a/b", b"x")), ArchiveDamaged, "circle"),
    "file below links in a circle": (
        lambda: inner(symlink("a", "b"), symlink("b", "/a"), File("a/c", b"x")),
        ArchiveDamaged,
        "circle",
    ),
    "mount point by a detour": (
        lambda: inner(folder("d"), symlink("d/up", ".."), symlink("d/up/rpc", "/etc")),
        ArchiveUnsafe,
        "symbolic link at '/rpc'",
    ),
    "file twice by a detour": (
        lambda: inner(File("d/f", b"1"), symlink("e", "d"), File("e/f", b"2")),
        ArchiveUnsafe,
        "twice",
    ),
    "whiteout of what the layer brings": (lambda: inner(File("a", b"x"), File(".wh.a")), ArchiveUnsafe, "deletes it"),
    "file below a whiteout": (lambda: inner(File(".wh.a"), File("a/b", b"x")), ArchiveDamaged, "below a file"),
    "whiteout that is a folder": (lambda: inner(folder(".wh.a")), ArchiveUnsafe, "deletes by a folder"),
    "link in the place of the root": (lambda: inner(symlink("./", "/etc")), ArchiveUnsafe, "its root"),
    "contiguous file": (lambda: inner(File("a", b"x", type=tarfile.CONTTYPE)), ArchiveUnsafe, "unknown type '7'"),
    "GNU directory dump": (lambda: inner(File("a", type=b"D")), ArchiveUnsafe, "unknown type 'D'"),
    "volume label": (lambda: inner(File("a", type=b"V")), ArchiveUnsafe, "unknown type 'V'"),
    "PAX time that is none": (lambda: inner(File("a", pax={"mtime": "yesterday"})), ArchiveDamaged, "PAX mtime"),
    "PAX time with an exponent": (lambda: inner(File("a", pax={"atime": "1e9"})), ArchiveDamaged, "PAX atime"),
    "PAX time without end": (lambda: inner(File("a", pax={"mtime": "9" * 12})), ArchiveDamaged, "year 9999"),
    "PAX user that is none": (lambda: inner(File("a", pax={"uid": "root"})), ArchiveDamaged, "PAX uid"),
    "negative PAX group": (lambda: inner(File("a", pax={"gid": "-1"})), ArchiveDamaged, "PAX gid"),
    "PAX user beyond all": (lambda: inner(File("a", pax={"uid": str(2**32 - 1)})), ArchiveDamaged, "PAX uid"),
    "user that is no number": (lambda: with_layer(renumbered(APP, at=108, raw=b"12x")), ArchiveDamaged, "number"),
    "negative user": (lambda: with_layer(renumbered(APP, at=108, raw=b"\xff" * 8)), ArchiveDamaged, "number"),
    "time that is no number": (lambda: with_layer(renumbered(APP, at=136, raw=b"now")), ArchiveDamaged, "number"),
    "device number that is none": (lambda: with_layer(renumbered(APP, at=329, raw=b"x")), ArchiveDamaged, "number"),
    "header of star": (lambda: with_layer(renumbered(PLAIN, at=508, raw=b"tar\0")), ArchiveUnsafe, "`star`"),
    "header of star, outside": (lambda: renumbered(GOOD, at=508, raw=b"tar\0"), ArchiveUnsafe, "`star`"),
    "another dialect": (lambda: with_layer(renumbered(PLAIN, at=257, raw=b"ustar x\0")), ArchiveDamaged, "not a tar"),
    "prefix in a GNU header": (lambda: with_layer(renumbered(APP, at=345, raw=b"etc")), ArchiveDamaged, "number"),
    "rest of a GNU header": (lambda: with_layer(renumbered(APP, at=400, raw=b"etc")), ArchiveDamaged, "incremental"),
    "global PAX with an attribute": (
        lambda: with_raw_header(b"g", record("SCHILY.xattr.user.a", "b")),
        ArchiveUnsafe,
        "global",
    ),
    "short capabilities": (
        lambda: inner(File("a", pax={"SCHILY.xattr.security.capability": "\x01\x00\x00\x02"})),
        ArchiveUnsafe,
        "capabilities that no kernel",
    ),
    "capabilities of no revision": (
        lambda: inner(File("a", pax={"SCHILY.xattr.security.capability": "\0" * 20})),
        ArchiveUnsafe,
        "capabilities that no kernel",
    ),
    "attribute without a name": (lambda: inner(File("a", pax={"SCHILY.xattr.user.": "x"})), ArchiveUnsafe, "images do"),
    "attribute with a long name": (
        lambda: inner(File("a", pax={f"SCHILY.xattr.user.{'x' * 300}": "x"})),
        ArchiveUnsafe,
        "name is none",
    ),
    "attribute with a long value": (
        lambda: inner(File("a", pax={"SCHILY.xattr.user.a": "x" * 5000})),
        ArchiveUnsafe,
        "bytes of attributes",
    ),
    "access list": (
        lambda: inner(File("a", pax={"SCHILY.xattr.system.posix_acl_access": "x"})),
        ArchiveUnsafe,
        "images do not have",
    ),
    "link of five thousand bytes": (lambda: inner(symlink("a", "x/" * 2500)), ArchiveUnsafe, "endless"),
    "126 layers": (lambda: of_manifest(Layers=[LAYER] * 126), ArchiveInvalid, "126 layers"),
    "garbage behind a layer": (
        lambda: tar(Image(layers=(BASE + b"x" * 512,)).docker()),
        ArchiveDamaged,
        "after its end",
    ),
    "truncated layer": (lambda: tar(Image(layers=(BASE[:1500],)).docker()), ArchiveDamaged, "layer.*truncated"),
    "layer of text": (lambda: tar(Image(layers=(b"hello" * 200,)).docker()), ArchiveDamaged, "no tar"),
    "layer of nothing": (lambda: tar(Image(layers=(b"",)).docker()), ArchiveDamaged, "no tar"),
    "gzip layer of text": (
        lambda: tar(replaced(Image().docker(), LAYER, PACKERS["gzip"](b"x" * 999))),
        ArchiveDamaged,
        "tar",
    ),
    # configuration
    "working directory in /proc": (lambda: configured(WorkingDir="/proc/self/fd/8"), ArchiveUnsafe, "kernel"),
    "working directory by detour": (lambda: configured(WorkingDir="/app/../proc/self/fd/8"), ArchiveUnsafe, "plain"),
    "working directory by slashes": (lambda: configured(WorkingDir="//proc//self/fd/8"), ArchiveUnsafe, "kernel"),
    "volume over everything": (lambda: configured(Volumes={"/": {}}), ArchiveUnsafe, "VOLUME"),
    "volume over /dev": (lambda: configured(Volumes={"/dev/shm": {}}), ArchiveUnsafe, "kernel"),
    "volumes without end": (lambda: configured(Volumes={f"/v{i}": {} for i in range(99)}), ArchiveUnsafe, "99 VOLUME"),
    "working directory below our mount": (lambda: configured(WorkingDir="/rpc/x"), ArchiveUnsafe, "folder of ours"),
    "volume below our mount": (lambda: configured(Volumes={"/obs/x": {}}), ArchiveUnsafe, "folder of ours"),
    "working directory below a volume": (
        lambda: configured(Volumes={"/app": {}}, WorkingDir="/app/src"),
        ArchiveInvalid,
        "VOLUME '/app'",
    ),
    "working directory with a long part": (lambda: configured(WorkingDir=f"/{'x' * 300}"), ArchiveUnsafe, "255 per"),
    "volume with a long part": (lambda: configured(Volumes={f"/{'é' * 200}": {}}), ArchiveUnsafe, "255 per"),
    "command that no kernel starts": (lambda: configured(Cmd=["x" * 200_000]), ArchiveInvalid, "per word"),
    "environment that no kernel starts": (
        lambda: configured(Env=[f"V{i}={'x' * 90_000}" for i in range(9)]),
        ArchiveInvalid,
        "per word",
    ),
    "nothing to start": (lambda: configured(Entrypoint=None, Cmd=None), ArchiveInvalid, "neither ENTRYPOINT"),
    "NUL in the command": (lambda: configured(Cmd=["a\0b"]), ArchiveUnsafe, "NUL"),
    "ENV without a name": (lambda: configured(Env=["=x"]), ArchiveInvalid, "ENV"),
    "user with control characters": (lambda: configured(User="a\nb"), ArchiveUnsafe, "USER"),
    "signal that is none": (lambda: configured(StopSignal="; rm -rf /"), ArchiveInvalid, "STOPSIGNAL"),
    "command of numbers": (lambda: configured(Cmd=[1, 2]), ArchiveDamaged, "cannot be read"),
}
