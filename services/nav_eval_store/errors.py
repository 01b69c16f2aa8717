"""What the store refuses: one leaf per kind of answer that a caller gives to it."""

from nav_eval.errors import NavEvalError


class Refusal(NavEvalError):
    """This cannot be done; the message says why."""

    is_translated = True
    """Whether pages show it. Such a message gives its values by name, so that the pattern can be translated first."""

    def __init__(self, message: str | None = None, /, **values: object) -> None:
        super().__init__(message.format(**values) if message is not None and values else message)
        self.pattern = message or type(self).__doc__ or ""  #: as it stands in the code
        self.values = values


class StoreError(Refusal):
    """The store cannot do this; the message says why."""


class OperatorError(StoreError):
    """Something that only those who run the installation, and programs, are told."""

    is_translated = False


class NotFound(StoreError):
    """There is nothing with this name or id."""


class NotAllowed(StoreError):
    """You are not allowed to do this."""


class BadCredentials(StoreError):
    """The token, password or invitation is invalid or has expired; ask for a new one."""


class BadInvitation(BadCredentials):
    """This invitation is invalid or has expired; ask the captain for a new one."""


class Conflict(StoreError):
    """This conflicts with what is already there."""


class NameInUse(Conflict):
    """The name is taken; choose another one."""


class IllegalTransition(Conflict):
    """A submission cannot go from its state to the one asked for."""


class PhaseNotOpen(StoreError):
    """The phase is not accepting submissions now."""


class QuotaExceeded(StoreError):
    """The team has no submissions left; the message says when the next one is possible."""

    def __init__(self, message: str | None = None, /, *, retry_seconds: int | None = None, **values: object) -> None:
        super().__init__(message, **values)
        self.retry_seconds = retry_seconds
        """Until the next one is possible, where time alone helps."""


class UploadTooLarge(StoreError):
    """This is more than is allowed, or than was announced."""


class LeaseLost(Conflict):
    """The job belongs to somebody else now, or to nobody: stop, and write nothing more."""

    is_translated = False


class BadRecord(OperatorError):
    """A result cannot be kept as it is; the message names the field."""


class DangerousChange(Conflict):
    """The change would make published numbers wrong; the message lists what it touches."""

    is_translated = False


class OffsetMismatch(Conflict):
    """The upload does not continue where it stopped; ask for its offset and resume from there."""


class UploadBusy(StoreError):
    """Another request is writing this upload; try again in a moment."""


class DigestMismatch(StoreError):
    """What arrived is not what was announced; upload it again."""


class BadKey(OperatorError):
    """A blob cannot have this name."""


class BackupError(OperatorError):
    """A backup cannot be written or read; the message names the file."""


class KeyMissing(OperatorError):
    """The key that secrets are kept with is not here; the message names it."""


class SecretDamaged(OperatorError):
    """A secret cannot be opened although its key is here; the message says whose it is."""


class SchemaOutdated(OperatorError):
    """The database has another version than this program; run `nav-eval admin migrate`."""
