"""Why an upload is refused: one leaf per kind of reason, each sentence ends with what to do next.

All of them end a submission with the cause `image_invalid`. A full disk or a lost connection is not
among them: those stay `OSError`, because they are ours.
"""

from nav_eval.agents.failures import ImageInvalid


class ArchiveInvalid(ImageInvalid):
    """The archive cannot be used; save one linux/amd64 image with `docker save` and upload it again."""


class ArchiveDamaged(ArchiveInvalid):
    """The archive is truncated or its bytes are not what they claim to be; save it again and upload it again."""


class ArchiveTooLarge(ArchiveInvalid):
    """The archive goes beyond a limit of this phase; make the image smaller and upload it again."""


class ArchiveUnsafe(ArchiveInvalid):
    """The archive holds something that could reach outside its container; remove it and upload it again."""


class NotOneImage(ArchiveInvalid):
    """The archive must hold exactly one image; save it alone with `docker save NAME:TAG -o image.tar`."""


class WrongPlatform(ArchiveInvalid):
    """The image is not for linux/amd64; build it with `docker build --platform linux/amd64`."""


_LONGEST = 100


def quote(text: str) -> str:
    """A team's text as it may stand in a message or a log: printable, quoted and short."""
    return ascii(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")
