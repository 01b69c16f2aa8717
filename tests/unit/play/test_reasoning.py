"""An agent's own words in the log: whole characters, within the budget, and the same again in a replay."""

from nav_eval.action_log import TEXT_BYTES, TEXT_BYTES_PER_ACTION, ReasoningBudget


def test_each_action_keeps_the_beginning_of_its_words() -> None:
    assert ReasoningBudget().keep("é" * 5000) == "é" * (TEXT_BYTES_PER_ACTION // 2)
    assert ReasoningBudget().keep("x" + "é" * 5000) == "x" + "é" * ((TEXT_BYTES_PER_ACTION - 1) // 2)


def test_an_episode_keeps_no_more_than_its_budget() -> None:
    budget = ReasoningBudget()
    kept = [budget.keep("word " * 1000) for _ in range(100)]
    assert sum(len(text.encode()) for text in kept) == TEXT_BYTES
    assert kept[-1] == ""


def test_what_was_kept_is_kept_again() -> None:
    first, again = ReasoningBudget(), ReasoningBudget()
    kept = [first.keep(text * 900) for text in ("a", "äö", "文字", "🙂")]
    assert [again.keep(text) for text in kept] == kept


def test_what_is_no_text_is_left_out() -> None:
    assert ReasoningBudget().keep("a\ud800b") == "ab"
