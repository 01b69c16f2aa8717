"""The balance report counts what is in the episodes and names what deserves a look."""

from nav_eval.dataset.episode import Episode, Instruction, PrivateEpisode, PublicEpisode, Subtask
from nav_eval.records.geometry import Pose
from nav_eval_worlds.episodes import compute_balance


def episode(number: int, *, targets: list[str], actions: str = "LFRF", hidden: bool = True) -> Episode:
    names = {"L": "turn_left", "R": "turn_right", "F": "move_forward"}
    return Episode(
        public=PublicEpisode(episode_id=str(number), instruction=Instruction(text="Find it now.")),
        private=PrivateEpisode(
            scene_id=f"house_{number % 2}.glb",
            start=Pose((0.0, 0.0, 0.0)),
            subtasks=tuple(Subtask(target=target) for target in targets),
            expert_actions=tuple(names[letter] for letter in actions),
            shortest_path_length=float(number),
            info={"rooms": ["kitchen", *("bedroom" for _ in targets)], "goal_in_sight": not hidden},
        ),
    )


def test_counts() -> None:
    found = compute_balance([episode(1, targets=["bed", "cup"]), episode(2, targets=["bed", "tv", "cup"])])
    assert (found.episodes, found.scenes) == (2, 2)
    assert found.categories == {"bed": 2, "cup": 2, "tv": 1}
    assert found.room_pairs == {"bedroom > bedroom": 3, "kitchen > bedroom": 2}
    assert found.subtasks == {2: 1, 3: 1}
    assert found.metres == (1.0, 1.0, 1.0, 2.0, 2.0)
    assert found.words == (3, 3, 3, 3, 3)
    assert (found.left_turns, found.hidden_goals, found.findings) == (0.5, 1.0, ())


def test_a_category_with_too_large_a_share_is_named() -> None:
    episodes = [episode(n, targets=["bed" if n < 4 else f"thing {n}"]) for n in range(40)]
    assert compute_balance(episodes).findings == ("4 of 40 targets are 'bed', more than 5%.",)


def test_turns_to_one_side_and_visible_goals_are_named() -> None:
    left, sight = compute_balance([episode(1, targets=["bed"], actions="LLLFLF", hidden=False)]).findings
    assert left.startswith("100% of the expert's turns are to the left")
    assert sight.startswith("Only 0% of the goals are out of sight")


def test_turning_in_a_row_is_one_turn() -> None:
    assert compute_balance([episode(1, targets=["bed"], actions="LLLLLLFRF")]).left_turns == 0.5


def test_nothing_has_an_empty_balance() -> None:
    found = compute_balance([])
    assert (found.episodes, found.metres, found.left_turns, found.hidden_goals) == (0, (), None, None)
