"""Offline scoring of SQA3D localization: a prediction file against the dataset's own annotations."""

from pathlib import Path

import msgspec

from nav_eval import jsonl
from nav_eval.errors import RecordError
from nav_eval.metrics.localization import UNANSWERED, LocalizationError, accuracies, best_errors, mean_accuracies


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """Up to three guesses for one situation."""

    positions: list[list[float]]
    rotations: list[list[float]]
    id: str | int | None = None


class Predictions(msgspec.Struct, frozen=True, kw_only=True):
    predictions: list[Prediction]


class _Position(msgspec.Struct, frozen=True):
    x: float
    y: float
    z: float = 0.0


class _Rotation(msgspec.Struct, frozen=True, kw_only=True):
    """Read by key: files with the keys in another order are about."""

    x: float = msgspec.field(name="_x")
    y: float = msgspec.field(name="_y")
    z: float = msgspec.field(name="_z")
    w: float = msgspec.field(name="_w")


class Annotation(msgspec.Struct, frozen=True, kw_only=True):
    """A true pose in SQA3D's own format."""

    position: _Position
    rotation: _Rotation
    id: str | int | None = None
    question_id: str | int | None = None


class Annotations(msgspec.Struct, frozen=True, kw_only=True):
    annotations: list[Annotation]


def score_file(predictions: Path, ground_truth: Path) -> dict[str, float]:
    """The share of situations below each threshold."""
    return mean_accuracies([error for _, error in _errors(predictions, ground_truth)])


def score_lines(predictions: Path, ground_truth: Path) -> list[dict[str, str | float]]:
    """0 or 1 for each situation and threshold."""
    return [{"id": name, **accuracies(error)} for name, error in _errors(predictions, ground_truth)]


def _errors(predictions: Path, ground_truth: Path) -> list[tuple[str, LocalizationError]]:
    truths = jsonl.read_document(ground_truth, Annotations).annotations
    answers = jsonl.read_document(predictions, Predictions).predictions
    if not truths:
        raise RecordError(f"{ground_truth} holds no annotations; there is nothing to score.")
    matched = _match(answers, truths, path=predictions)
    return [
        (name, _error(matched.get(name), truth, where=f"{predictions}, annotation {name}"))
        for name, truth in zip(_names(truths, path=ground_truth), truths, strict=True)
    ]


def _names(truths: list[Annotation], *, path: Path) -> list[str]:
    """Each annotation's own id, or its place in the file where the file has none."""
    names = [_name(truth, place) for place, truth in enumerate(truths)]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise RecordError(f"{path}: the id {twice} occurs more than once; ids must be unique.")
    return names


def _name(truth: Annotation, place: int) -> str:
    for identifier in (truth.id, truth.question_id):
        if identifier is not None:
            return str(identifier)
    return str(place)


def _match(answers: list[Prediction], truths: list[Annotation], *, path: Path) -> dict[str, Prediction]:
    """By id if the predictions have ids, else by order; situations without an answer count as wrong."""
    names = _names(truths, path=path)
    given = [answer.id is not None for answer in answers]
    if any(given) and not all(given):
        raise RecordError(f"{path}: prediction {given.index(False)} has no id although others have; give all or none.")
    if len(answers) > len(truths):
        raise RecordError(f"{path}: {len(answers)} predictions for {len(truths)} annotations; remove the extra ones.")
    if not any(given):
        return dict(zip(names, answers, strict=False))
    matched: dict[str, Prediction] = {}
    known = set(names)
    for answer in answers:
        name = str(answer.id)
        if name not in known:
            raise RecordError(
                f"{path}: prediction with id {name} matches no annotation; ids are id, question_id or place."
            )
        if name in matched:
            raise RecordError(f"{path}: two predictions have the id {name}; give one per annotation.")
        matched[name] = answer
    return matched


def _error(answer: Prediction | None, truth: Annotation, *, where: str) -> LocalizationError:
    if answer is None:
        return UNANSWERED
    rotation = (truth.rotation.x, truth.rotation.y, truth.rotation.z, truth.rotation.w)
    try:
        return best_errors(
            position=(truth.position.x, truth.position.y),
            rotation=rotation,
            guessed_positions=answer.positions,
            guessed_rotations=answer.rotations,
        )
    except RecordError as error:
        raise RecordError(f"{where}: {error}") from error
