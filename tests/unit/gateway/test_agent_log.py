"""Lines of an agent's log and their steps."""

from nav_eval_gateway.pages.agent_log import LONGEST, split_log


def test_a_line_that_names_a_step_begins_it() -> None:
    text = "loading weights\nstep 0: I see a door\n  it is open\n[Step=3] left\nfootstep 9\nstep 9999 of nothing\n"
    lines = split_log(text, last_step=10)
    assert [(line.step, line.begins) for line in lines] == [
        (None, False),
        (0, True),
        (0, False),
        (3, True),
        (3, False),
        (3, False),
    ]
    assert lines[2].text == "  it is open"


def test_of_a_long_log_the_end_is_shown() -> None:
    lines = split_log("x\n" * LONGEST + "step 4: stop", last_step=4)
    assert len(lines) < LONGEST
    assert lines[-1] == ("step 4: stop", 4, True)
