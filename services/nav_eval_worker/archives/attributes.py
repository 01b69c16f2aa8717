"""Extended attributes of files in layers: those that builders write, in a form that kernels and file systems take.

An engine sets what a layer says, and gives up on the whole image when the kernel refuses one. So we refuse first.
Builders write a file's capabilities, its signature or label, and `user.` notes; nothing else belongs into an image,
least of all the overlay file system's own orders.
"""

import struct
from collections.abc import Mapping

from nav_eval_worker.archives.errors import ArchiveUnsafe, quote

CAPABILITY = "security.capability"
_OVERLAY = ("trusted.overlay.", "user.overlay.", "user.fuseoverlayfs.")
_LABELS = ("security.selinux", "security.ima")
_NOTES = "user."
_LONGEST_NAME = 255
_MOST_BYTES = 2048
"""Of one file's attributes: ext4 keeps them in one block, beside what it keeps there itself."""
_ENTRY_BYTES = 16
_CAPABILITY_SIZES = {0x02000000: 20, 0x03000000: 24}
"""Of `vfs_cap_data` by its revision; the kernel takes no other."""
_REVISION = 0xFF000000


def check_attributes(attributes: Mapping[str, bytes], *, path: str, where: str) -> None:
    """Refuse what an engine would stumble over."""
    for name, value in attributes.items():
        if (reason := _find_fault(name, value)) is not None:
            raise ArchiveUnsafe(
                f"{where} has {reason}, {quote(name)} on {quote(path)}: build the image again with `docker build`."
            )
    size = sum(len(name.encode()) + len(value) + _ENTRY_BYTES for name, value in attributes.items())
    if size > _MOST_BYTES:
        raise ArchiveUnsafe(
            f"{where} has {size} bytes of attributes on {quote(path)}, beyond {_MOST_BYTES}: "
            "remove some with `setfattr`."
        )


def _find_fault(name: str, value: bytes) -> str | None:
    if name.startswith(_OVERLAY):
        return "the overlay attribute"
    if name == CAPABILITY:
        return None if _is_capability(value) else "capabilities that no kernel reads"
    if name in _LABELS:
        return None
    if not name.startswith(_NOTES) or name == _NOTES:
        return "an attribute that images do not have"
    is_name = "\ufffd" not in name and len(name.encode()) <= _LONGEST_NAME
    return None if is_name else "an attribute whose name is none"


def _is_capability(value: bytes) -> bool:
    if len(value) < 4:
        return False
    (magic,) = struct.unpack_from("<I", value)
    return _CAPABILITY_SIZES.get(magic & _REVISION) == len(value)
