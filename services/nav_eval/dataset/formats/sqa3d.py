"""SQA3D's situations: `sqa3d`. Where does someone stand who describes what they see?

Either a localization file, or the pair of questions and annotations joined by `question_id`. Poses
stay in SQA3D's own frame (Z up, origin at the centre of the scan, rotation about Z), because the
metric is defined there; `info["frame"]` says so. Rotations are read by key: published code reads
them by order, and a file saved again with sorted keys is then wrong without a word.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from nav_eval.dataset.episode import Episode, Goal, Instruction, PrivateEpisode, PublicEpisode, check_episodes
from nav_eval.dataset.json_records import RecordPlace, read_array
from nav_eval.dataset.loader import DatasetRequest, register_dataset
from nav_eval.errors import DatasetError
from nav_eval.records.geometry import Coordinate, Pose

FRAME = "sqa3d"

_FILES = "v1_balanced_{kind}_{split}_scannetv2.json"
_QUESTIONS, _ANNOTATIONS, _LOCALIZATION = "questions", "sqa_annotations", "localization"


class _RawPosition(msgspec.Struct, kw_only=True, gc=False):
    x: Coordinate
    y: Coordinate
    z: Coordinate


class _RawRotation(msgspec.Struct, kw_only=True, gc=False):
    x: float = msgspec.field(name="_x")
    y: float = msgspec.field(name="_y")
    z: float = msgspec.field(name="_z")
    w: float = msgspec.field(name="_w")


class _RawAnnotation(msgspec.Struct, kw_only=True, gc=False):
    scene_id: str
    position: _RawPosition
    rotation: _RawRotation
    id: str | int | None = None
    question_id: str | int | None = None
    situation: str | None = None
    alternative_situation: tuple[str, ...] = ()
    answers: list[dict[str, Any]] = []

    def pose(self) -> Pose:
        p, r = self.position, self.rotation
        return Pose((p.x, p.y, p.z), (r.x, r.y, r.z, r.w))


class _RawQuestion(msgspec.Struct, kw_only=True, gc=False):
    question_id: str | int
    scene_id: str
    situation: str
    question: str = ""
    alternative_situation: tuple[str, ...] = ()


class _AnnotationDocument(msgspec.Struct, kw_only=True, gc=False):
    annotations: list[_RawAnnotation]


class _QuestionDocument(msgspec.Struct, kw_only=True, gc=False):
    questions: list[_RawQuestion]


@register_dataset("sqa3d")
def load_sqa3d(request: DatasetRequest) -> Iterator[Episode]:
    """A localization file, either file of a pair, or their folder with a split."""
    path = _find_annotation_file(request)
    questions = _read_questions(request, path)
    _, annotations = read_array(request.source(path), _AnnotationDocument, _RawAnnotation, array="annotations")
    return check_episodes(_make_episodes(annotations, questions, RecordPlace(path)), path)


@register_dataset("sqa3d_qa")
def load_sqa3d_questions(request: DatasetRequest) -> Iterator[Episode]:
    """The pair of questions and annotations; the agent is told the situation and then the question."""
    path = _find_annotation_file(request, kinds=(_ANNOTATIONS,))
    if _ANNOTATIONS not in path.name:
        raise DatasetError(f"{path} has no questions; name the file of questions, or of sqa_annotations.")
    questions = _read_questions(request, path)
    _, annotations = read_array(request.source(path), _AnnotationDocument, _RawAnnotation, array="annotations")
    return check_episodes(map(_ask_question, _make_episodes(annotations, questions, RecordPlace(path))), path)


def _ask_question(episode: Episode) -> Episode:
    told = episode.public.instruction
    situation = "" if told is None else told.text.strip()
    text = f"{situation} {str(episode.private.info['question']).strip()}".strip()
    public = msgspec.structs.replace(episode.public, instruction=Instruction(text=text))
    return msgspec.structs.replace(episode, public=public)


def _find_annotation_file(request: DatasetRequest, *, kinds: Sequence[str] = (_LOCALIZATION, _ANNOTATIONS)) -> Path:
    path = request.fill(request.path)
    if not path.is_dir():
        return path.with_name(path.name.replace(_QUESTIONS, _ANNOTATIONS))
    if request.split is None:
        raise DatasetError(f"{path} is a folder; give a split: train, val or test.")
    names = [_FILES.format(kind=kind, split=request.split) for kind in kinds]
    for name in names:
        if (path / name).is_file():
            return path / name
    raise DatasetError(f"{path} has neither {' nor '.join(names)}.")


def _read_questions(request: DatasetRequest, path: Path) -> dict[str, _RawQuestion]:
    """The other half of a pair; a localization file needs none."""
    if _ANNOTATIONS not in path.name:
        return {}
    source = request.source(path.with_name(path.name.replace(_ANNOTATIONS, _QUESTIONS)))
    _, questions = read_array(source, _QuestionDocument, _RawQuestion, array="questions")
    return {str(question.question_id): question for question in questions}


def _make_episodes(
    annotations: Iterator[_RawAnnotation], questions: dict[str, _RawQuestion], file: RecordPlace
) -> Iterator[Episode]:
    for index, annotation in enumerate(annotations):
        name = next((given for given in (annotation.question_id, annotation.id) if given is not None), index)
        place = file.episode(name)
        question = _find_question(annotation, questions, place) if questions else None
        yield _make_episode(str(name), annotation, question, place=place)


def _find_question(annotation: _RawAnnotation, questions: dict[str, _RawQuestion], place: RecordPlace) -> _RawQuestion:
    question = questions.get(str(annotation.question_id))
    if question is None:
        raise place.refuse(f"question_id is {annotation.question_id!r}; the questions file has no such question.")
    if question.scene_id != annotation.scene_id:
        raise place.refuse(f"scene_id is {annotation.scene_id!r}, but the question's is {question.scene_id!r}.")
    return question


def _make_episode(
    episode_id: str, annotation: _RawAnnotation, question: _RawQuestion | None, *, place: RecordPlace
) -> Episode:
    told = question or annotation
    if told.situation is None:
        raise place.refuse("situation is missing; give the text, or the questions file beside the annotations.")
    pose = annotation.pose()
    info: dict[str, Any] = {"frame": FRAME, "alternative_situation": list(told.alternative_situation)}
    if question is not None:
        info |= {"question": question.question, "answers": annotation.answers}
    return Episode(
        public=PublicEpisode(episode_id=episode_id, instruction=Instruction(text=told.situation)),
        private=PrivateEpisode(
            scene_id=annotation.scene_id,
            start=pose,
            goals=(Goal(position=pose.position, view_points=(pose,)),),
            info=info,
        ),
    )
