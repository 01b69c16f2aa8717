"""What the store refuses: one leaf per kind of answer that a caller gives to it."""

from nav_eval.errors import NavEvalError


class Refusal(NavEvalError):
    """This cannot be done; the message says why."""

    # A message may name values in braces, which are given beside it: whoever shows it to people can translate the
    # pattern first, and fill the values in then.
    def __init__(self, message: str | None = None, /, **values: object) -> None:
        super().__init__(message.format(**values) if message is not None and values else message)
        self.pattern = message or type(self).__doc__ or ""  #: as it stands in the code
        self.values = values


class StoreError(Refusal):
    """The store cannot do this; the message says why."""


class NotFound(StoreError):
    """There is nothing with this name or id."""


class NotAllowed(StoreError):
    """The one who asks may not do this."""


class BadCredentials(StoreError):
    """The token, password or invitation is not valid, or no longer; ask for a new one."""


class BadInvitation(BadCredentials):
    """This invitation is not valid, or no longer; ask the captain for a new one."""


class Conflict(StoreError):
    """This contradicts what is already there."""


class NameInUse(Conflict):
    """The name is taken; choose another one."""


class IllegalTransition(Conflict):
    """A submission cannot go from its state to the one asked for."""


class PhaseNotOpen(StoreError):
    """The phase takes no submissions now."""


class QuotaExceeded(StoreError):
    """The team has no submission left; the message says when the next one is possible."""

    def __init__(self, message: str | None = None, /, *, retry_seconds: int | None = None, **values: object) -> None:
        super().__init__(message, **values)
        self.retry_seconds = retry_seconds
        """Until the next one is possible, where time alone helps."""


class TooLarge(StoreError):
    """These are more bytes than are allowed, or than were announced."""


class LeaseLost(Conflict):
    """The job belongs to somebody else now, or to nobody: stop, and write nothing more."""


class BadRecord(StoreError):
    """A result cannot be kept as it is; the message names the field."""


class DangerousChange(Conflict):
    """The change would make published numbers wrong; the message lists what it touches."""


class OffsetMismatch(Conflict):
    """The upload continues elsewhere than where it ended; ask for its offset and go on from there."""


class UploadBusy(StoreError):
    """Another request is writing this upload; try again in a moment."""


class DigestMismatch(StoreError):
    """The bytes that arrived are not those that were announced; upload again."""


class BadKey(StoreError):
    """A blob cannot have this name."""


class BackupError(StoreError):
    """A backup cannot be written or read; the message names the file."""


class SchemaOutdated(StoreError):
    """The database has another version than this program; run `nav-eval admin migrate`."""
