"""`nav-eval demo`: a challenge from nothing to a verified leaderboard, with the real gateway, worker and SDK."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from nav_eval.child_process import exit_on_signal
from nav_eval.config import load_competition
from nav_eval.generators import Say
from nav_eval_demo import participants, terminal
from nav_eval_demo.home import DemoError, DemoHome, State
from nav_eval_demo.server import DemoServer, run_server
from nav_eval_demo.terminal import WatchedSubmission, make_board_table
from nav_eval_sdk.errors import SdkError

RANKING_SECONDS = 60.0
"""How long the beat may take to compute shared ranks."""
INTERRUPTED = 130
BOARD_PAGE = f"/competitions/{participants.COMPETITION}/{participants.PHASE}/board"


def run_demo(
    home: Annotated[Path, typer.Option(help="Folder of the installation; a second start goes on there.")] = Path(
        "var/demo"
    ),
    port: Annotated[int, typer.Option(min=1, max=65535, help="Where to serve; the next one that is free.")] = 8080,
    leave: Annotated[bool, typer.Option("--exit", help="End after the board instead of serving on.")] = False,
) -> None:
    """Play a whole challenge on this machine: houses, teams, submissions, a verified leaderboard."""
    console = Console()
    try:
        with exit_on_signal(INTERRUPTED):
            _play(Demo(console, DemoHome(home), port=port), leave=leave)
    except SdkError as error:
        raise DemoError(str(error)) from error


def _play(demo: "Demo", *, leave: bool) -> None:
    with demo.home.alone():
        state = demo.home.read()
        episodes = demo.prepare()
        with run_server(demo.home, port=demo.port) as server:
            try:
                fine = demo.run(server, state, episodes)
            except SdkError:
                server.check()  # knows more, if it was the server that ended
                raise
            if not leave:
                _keep_serving(demo.console, server)
    raise typer.Exit(0 if fine else 1)


def _keep_serving(console: Console, server: DemoServer) -> None:
    console.print("Ctrl-C ends it; `make demo` shows the board again at once.")
    with exit_on_signal(0):
        while True:
            server.check()
            time.sleep(0.5)


class Demo:
    """The steps, in their order; each leaves alone what an earlier start has done."""

    def __init__(self, console: Console, home: DemoHome, *, port: int) -> None:
        self.console, self.home, self.port = console, home, port

    def prepare(self) -> int:
        """Houses and episodes; how many episodes each agent plays."""
        benchmark = participants.load_demo_benchmark()
        with self._step("Houses and episodes are there") as say:
            return participants.generate_data(benchmark, say=say)

    def run(self, server: DemoServer, state: State, episodes: int) -> bool:
        """From an empty server to the board; whether everything on it is complete and proven."""
        with self._step("Gateway and worker serve"):
            server.wait_until_ready()
            participants.apply_competition(self.home, load_competition(participants.COMPETITION))
        with self._step("Three teams and the organiser have submitted"):
            watched = self._submit(server, state)
        ended = terminal.watch_submissions(self.console, server, watched, episodes=episodes)
        for sentence in terminal.list_failures(ended):
            self.console.print(f"{sentence} (`nav-eval doctor` looks at this machine)", style="red", markup=False)
        return self._show_board(server, rows=len(watched))

    def _submit(self, server: DemoServer, state: State) -> list[WatchedSubmission]:
        state.players = state.players or participants.make_players()
        self.home.write(state)
        for player in state.players:
            participants.register_player(server.url, player)
            participants.submit_agent(server.url, player)
            self.home.write(state)
        participants.run_baselines(server.url, self.home)
        token = self.home.organiser_token
        newest = {one["team"]: one["id"] for one in participants.list_submissions(server.url, self.home)}
        return [
            WatchedSubmission(name=team, submission_id=submission, token=token) for team, submission in newest.items()
        ]

    def _show_board(self, server: DemoServer, *, rows: int) -> bool:
        board = self._wait_for_ranks(server)
        self.console.print(make_board_table(board))
        self.console.print(f"Served at {server.url}{BOARD_PAGE}", highlight=False, soft_wrap=True)
        self.console.print(f"Everything is in {self.home.folder}, also how the teams log in.", highlight=False)
        return len(board["rows"]) == rows and all(row["verified"] for row in board["rows"])

    def _wait_for_ranks(self, server: DemoServer) -> dict[str, Any]:
        """The board with its final ranks, which are computed beside it."""
        last = time.monotonic() + RANKING_SECONDS
        while (board := participants.get_board(server.url))["provisional"] and time.monotonic() < last:
            server.check()
            time.sleep(0.3)
        return board

    def _tell(self, text: str) -> None:
        """Into a file, where nothing can be shown in place: a line each."""
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    @contextmanager
    def _step(self, title: str) -> Iterator[Say]:
        began = time.monotonic()
        with self.console.status(f"{title} …") as status:
            yield status.update if self.console.is_terminal else self._tell
        self.console.print(f"{title} [dim]({time.monotonic() - began:.1f} s)", highlight=False)
