"""R2R and RxR in continuous environments (VLN-CE): `r2r` and `rxr`.

One file per split, RxR one per split and role, with the expert's way in a second file `…_gt.json.gz`.
Test splits have neither goals nor paths.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec

from nav_eval.dataset.episode import Episode, Instruction, PrivateEpisode, PublicEpisode, check_episodes
from nav_eval.dataset.formats.habitat import ActionNumber, RawEpisode, RawGoal, name_actions
from nav_eval.dataset.json_records import MemberTable, RecordPlace, decode_record, read_array, read_table
from nav_eval.dataset.loader import DatasetRequest, make_filter, register_dataset, strip_suffixes
from nav_eval.errors import DatasetError
from nav_eval.records.geometry import Vec3

ROLES = ("guide", "follower")

_TokenId = Annotated[int, msgspec.Meta(ge=0)]


class _RawInstruction(msgspec.Struct, kw_only=True, gc=False):
    instruction_text: str
    instruction_tokens: list[_TokenId | str] | None = None
    instruction_id: str | int | None = None
    language: str | None = None


class _RawVlnEpisode(RawEpisode, kw_only=True, gc=False):
    instruction: _RawInstruction
    trajectory_id: str | int | None = None
    goals: tuple[RawGoal, ...] | None = None
    reference_path: tuple[Vec3, ...] | None = None


class _Vocabulary(msgspec.Struct, kw_only=True, gc=False):
    word_list: tuple[str, ...]
    pad: int = msgspec.field(name="PAD_INDEX", default=0)


class _Document(msgspec.Struct, kw_only=True, gc=False):
    episodes: list[_RawVlnEpisode]
    instruction_vocab: _Vocabulary | None = None


class _Expert(msgspec.Struct, kw_only=True, gc=False):
    """One entry of a gt file."""

    locations: tuple[Vec3, ...]
    actions: tuple[ActionNumber, ...] = ()


_EXPERT_DECODER = msgspec.json.Decoder(_Expert)


@register_dataset("r2r")
def load_r2r(request: DatasetRequest) -> Iterator[Episode]:
    """VLN-CE's R2R: `{split}.json.gz`."""
    return _load_file(request, request.main_file())


@register_dataset("rxr")
def load_rxr(request: DatasetRequest) -> Iterator[Episode]:
    """VLN-CE's RxR: `{split}_{role}.json.gz`; the guides' instructions unless roles are given."""
    files = {role: request.main_file(role=role) for role in _select_roles(request)}
    if len(set(files.values())) < len(files):
        raise DatasetError(
            f"{request.path} is one file, but the roles {', '.join(files)} need one each; put {{role}} in."
        )
    for role, path in files.items():
        episodes = _load_file(request, path, role=role)
        yield from episodes if len(files) == 1 else _prefix_ids(episodes, role)


def _select_roles(request: DatasetRequest) -> tuple[str, ...]:
    if not request.roles:
        return ("follower",) if strip_suffixes(request.path).endswith("_follower") else ("guide",)
    named = make_filter(request.roles)
    if named is None:
        return ROLES
    if not named.issubset(ROLES):
        raise DatasetError(f"roles {sorted(named - set(ROLES))} are not known; allowed are {', '.join(ROLES)} and '*'.")
    return tuple(role for role in ROLES if role in named)


def _prefix_ids(episodes: Iterator[Episode], role: str) -> Iterator[Episode]:
    """Both roles number from 1; together they need names of their own."""
    for episode in episodes:
        public = msgspec.structs.replace(episode.public, episode_id=f"{role}-{episode.episode_id}")
        yield Episode(public=public, private=episode.private)


def _load_file(request: DatasetRequest, path: Path, *, role: str = "") -> Iterator[Episode]:
    document, raws = read_array(request.source(path), _Document, _RawVlnEpisode)
    reader = _Reader(
        place=RecordPlace(path),
        is_test=(request.split or strip_suffixes(path)).startswith("test"),
        vocabulary=document.instruction_vocab,
        experts=_find_experts(request, path, role=role),
        role=role,
    )
    return check_episodes(map(reader.episode, raws), path)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Experts:
    """The gt file: the expert's way of every episode."""

    path: Path
    entries: MemberTable

    def of(self, episode_id: str) -> tuple[tuple[Vec3, ...], tuple[str, ...]]:
        """Positions and actions."""
        place = RecordPlace(self.path).episode(episode_id)
        entry = self.entries.get(episode_id)
        if entry is None:
            raise place.refuse("has no entry in this gt file; nDTW needs the expert's way of all episodes or of none.")
        expert = decode_record(entry, _EXPERT_DECODER, place=place)
        return expert.locations, name_actions(expert.actions, place)


def _find_experts(request: DatasetRequest, path: Path, *, role: str) -> _Experts | None:
    """The gt file that the request names, or the one beside the data if there is one."""
    if request.gt_path is not None:
        return _read_experts(request, request.fill(request.gt_path, role=role))
    beside = (path.with_name(f"{strip_suffixes(path)}_gt{suffix}") for suffix in (".json.gz", ".json"))
    return next((_read_experts(request, candidate) for candidate in beside if candidate.is_file()), None)


def _read_experts(request: DatasetRequest, path: Path) -> _Experts:
    return _Experts(path=path, entries=read_table(request.source(path)))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Reader:
    """Turns the records of one file into episodes."""

    place: RecordPlace
    is_test: bool
    vocabulary: _Vocabulary | None
    experts: _Experts | None
    role: str

    def episode(self, raw: _RawVlnEpisode) -> Episode:
        episode_id = str(raw.episode_id)
        if not self.is_test:
            self._require_answers(raw)
        dense_path, expert_actions = self.experts.of(episode_id) if self.experts else ((), ())
        return Episode(
            public=PublicEpisode(episode_id=episode_id, instruction=self._instruction(raw)),
            private=PrivateEpisode(
                scene_id=raw.scene(),
                start=raw.start(),
                goals=tuple([goal.goal() for goal in raw.goals or ()]),
                reference_path=raw.reference_path or (),
                dense_path=dense_path,
                expert_actions=expert_actions,
                shortest_path_length=raw.shortest_path_length(self.place),
                info=self._info(raw),
            ),
        )

    def _require_answers(self, raw: _RawVlnEpisode) -> None:
        if not (raw.goals and raw.reference_path):
            field = "reference_path" if raw.goals else "goals"
            raise self.place.episode(raw.episode_id).refuse(
                f"{field} is missing; only a split whose name begins with 'test' may leave it out."
            )

    def _instruction(self, raw: _RawVlnEpisode) -> Instruction:
        given = raw.instruction
        return Instruction(text=given.instruction_text, tokens=self._words(raw), language=given.language)

    def _words(self, raw: _RawVlnEpisode) -> tuple[str, ...]:
        """The tokens as words without the padding; numbers without a vocabulary say nothing and are left out."""
        tokens = raw.instruction.instruction_tokens
        if not tokens:
            return ()
        if isinstance(tokens[0], str):
            return tuple(map(str, tokens))
        if self.vocabulary is None:
            return ()
        words = self.vocabulary.word_list
        try:
            return tuple(map(words.__getitem__, _strip_padding(tokens, self.vocabulary.pad)))  # type: ignore[arg-type]
        except (IndexError, TypeError):
            raise self.place.episode(raw.episode_id).refuse(
                f"instruction.instruction_tokens holds a token that is no index into the {len(words)} words of "
                "instruction_vocab; allowed are indices, or words throughout."
            ) from None

    def _info(self, raw: _RawVlnEpisode) -> dict[str, Any]:
        info = raw.info or {}
        if raw.trajectory_id is not None:
            info["trajectory_id"] = raw.trajectory_id
        if raw.instruction.instruction_id is not None:
            info["instruction_id"] = raw.instruction.instruction_id
        if self.role:
            info["role"] = self.role
        return info


def _strip_padding(tokens: list[int | str], pad: int) -> list[int | str]:
    """Without the padding at the end."""
    if tokens[-1] != pad:
        return tokens
    end = tokens.index(pad)
    if tokens.count(pad) == len(tokens) - end:
        return tokens[:end]
    end = max(index for index, token in enumerate(tokens) if token != pad)
    return tokens[: end + 1]
