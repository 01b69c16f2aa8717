"""`nav-eval-sdk …`: from an empty directory to the leaderboard."""

from __future__ import annotations

import argparse
import errno
import getpass
import importlib
import importlib.util
import io
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import nav_eval_sdk
from nav_eval_sdk.errors import SdkError
from nav_eval_sdk.server import LOADING_VARIABLE, PROTOCOLS, serve


def main(argv: Sequence[str] | None = None) -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal may lack our signs; that is no reason to fail
    words = list(sys.argv[1:] if argv is None else argv)
    cut = words.index("--") if "--" in words else len(words)
    arguments = _make_parser().parse_args(words[:cut])
    arguments.extra = words[cut + 1 :]  # for the engine, or to start the agent
    try:
        code = arguments.run(arguments)
    except SdkError as error:
        print(f"nav-eval-sdk: {error}", file=sys.stderr)
        code = 2
    except BrokenPipeError:
        code = 1  # whoever read our output has gone
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123 - or Python complains when it flushes
    except OSError as error:
        print(f"nav-eval-sdk: {_explain_refusal(error)}", file=sys.stderr)
        code = 2
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


def _explain_refusal(error: OSError) -> str:
    """What the system refused, and what to do."""
    if error.errno == errno.ENOSPC:
        return "No space left on the device. Free some, or choose another folder, and repeat the command."
    place = error.filename2 or error.filename or "the system"
    return f"{place}: {error.strerror or error}. Check the path and who may use it."


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="nav-eval-sdk", description="Take part in a nav-eval challenge.")
    parser.add_argument("--version", action="version", version=nav_eval_sdk.__version__)
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def command(name: str, run: Any) -> argparse.ArgumentParser:  # noqa: ANN401
        added = commands.add_parser(name, help=run.__doc__, description=run.__doc__)
        added.set_defaults(run=run)
        return added

    init = command("init", _run_init)
    init.add_argument("directory", type=Path)

    serving = command("serve", _run_serve)
    serving.add_argument("agent", help="module:Class, path/agent.py:Class, or uninavid:module:Class")
    serving.add_argument("--protocol", choices=PROTOCOLS, default=None)
    serving.add_argument("--address", help="host:port, unix:/path, or the evaluator's ws://host:port")
    serving.add_argument("--max-episodes", type=_parse_count, help="episodes at once, instead of what the agent says")

    check = command("check", _run_check)
    check.add_argument("target", help="grpc://host:port, unix:/path, http://…, ws://0.0.0.0:port, or an image")
    check.add_argument("--task", default="navigation", help="navigation or localization")
    check.add_argument("--sensor", action="append", default=[], help="also offer name:dtype:shape; may be repeated")
    check.add_argument("--start-seconds", type=float, default=60.0, help="until the agent must be ready")
    check.add_argument("--action-seconds", type=float, default=30.0, help="for one reply")
    check.add_argument("--json", action="store_true", help="print the findings as JSON")

    test = command("test", _run_test)
    test.add_argument("benchmark")
    test.add_argument("--agent", help="grpc://…, unix:…, http://…, module:Class or a command")
    test.add_argument("--image", help="run this image as on the server")
    test.add_argument("--out", type=Path, default=Path("runs/test"))
    test.add_argument("--engine-image", help="use this engine image instead of the installed nav-eval")
    test.epilog = "What follows -- is given to `nav-eval evaluate`."

    pack = command("pack", _run_pack)
    pack.add_argument("directory", type=Path)
    pack.add_argument("--out", type=Path, default=Path("image.tar"))
    pack.epilog = "What follows -- starts the agent, in the folder; python agent.py when nothing is said."

    _add_remote(command)
    return parser


def _add_remote(command: Callable[[str, Any], argparse.ArgumentParser]) -> None:
    """The commands that talk to a server."""
    login = command("login", _run_login)
    login.add_argument("server", help="https://challenge.example.org")
    login.add_argument("--token", help="asked for when not given")

    submit = command("submit", _run_submit)
    submit.add_argument("what", help="an image, or an archive written by docker save")
    submit.add_argument("--competition", required=True)
    submit.add_argument("--phase", required=True)
    submit.add_argument("--name", default="", help="how the submission is called on the board")
    submit.add_argument("--note", default="", help="for yourselves")
    submit.add_argument("--watch", action="store_true", help="stay until there is a verdict")

    watch = command("watch", _run_watch)
    watch.add_argument("submission")

    logs = command("logs", _run_logs)
    logs.add_argument("submission")
    logs.add_argument("--episode")

    board = command("leaderboard", _run_leaderboard)
    board.add_argument("competition")
    board.add_argument("phase")
    board.add_argument("--json", action="store_true")
    for remote in (submit, watch, logs, board):
        remote.add_argument("--server", help="instead of the one that you logged in to")


def _run_init(arguments: argparse.Namespace) -> int:
    """Make a project: agent, Dockerfile, README and CI."""
    from nav_eval_sdk.project import create_project

    for path in create_project(arguments.directory):
        print(path)
    print(f"\ncd {arguments.directory} && python agent.py &\nnav-eval-sdk check grpc://localhost:8085")
    return 0


def _run_serve(arguments: argparse.Namespace) -> int:
    """Serve an agent by its class."""
    serve(
        load_agent(arguments.agent),
        address=arguments.address,
        protocol=arguments.protocol,
        max_episodes=arguments.max_episodes,
    )
    return 0


def _run_check(arguments: argparse.Namespace) -> int:
    """Check a running agent or an image against the protocol; no simulator needed."""
    from nav_eval_sdk.check.command import check_agent

    fine = check_agent(
        arguments.target,
        task=arguments.task,
        sensors=arguments.sensor,
        start_seconds=arguments.start_seconds,
        action_seconds=arguments.action_seconds,
        as_json=arguments.json,
    )
    return 0 if fine else 1


def _run_test(arguments: argparse.Namespace) -> int:
    """Evaluate locally, with the engine that the server runs."""
    from nav_eval_sdk.project import run_evaluation

    return run_evaluation(
        arguments.benchmark,
        agent=arguments.agent,
        image=arguments.image,
        out=arguments.out,
        engine_image=arguments.engine_image,
        extra=arguments.extra,
    )


def _run_pack(arguments: argparse.Namespace) -> int:
    """Pack a folder as an image, for servers that run trusted agents without Docker."""
    from nav_eval_sdk.project import AGENT_COMMAND, pack_folder

    print(pack_folder(arguments.directory, arguments.out, command=arguments.extra or AGENT_COMMAND))
    return 0


def _run_login(arguments: argparse.Namespace) -> int:
    """Remember a server and your team's token."""
    from nav_eval_sdk import http_client
    from nav_eval_sdk.client import ChallengeClient

    token = arguments.token or _ask_for_token()
    team = ChallengeClient(arguments.server, token).who_am_i()
    file = http_client.save_token(arguments.server.rstrip("/"), token)
    print(f"Logged in as {team.get('team') or team.get('name')}; the token is in {file}.")
    return 0


def _ask_for_token() -> str:
    """Typed where there is a terminal, else the first line of the input."""
    if sys.stdin is not None and sys.stdin.isatty():
        return getpass.getpass("Token: ")
    token = "" if sys.stdin is None else sys.stdin.readline().strip()
    if not token:
        raise SdkError(
            "There is no terminal to ask for the token; give --token, or the token on the input: "
            "nav-eval-sdk login SERVER < token.txt. The server's page of your account makes tokens."
        )
    return token


def _run_submit(arguments: argparse.Namespace) -> int:
    """Upload an image and have it evaluated."""
    from nav_eval_sdk.submission import submit

    client = _make_client(arguments)
    submission = submit(
        client,
        arguments.what,
        competition=arguments.competition,
        phase=arguments.phase,
        name=arguments.name,
        note=arguments.note,
    )
    print(submission.submission_id)
    return _watch_to_the_end(client, submission.submission_id) if arguments.watch else 0


def _run_watch(arguments: argparse.Namespace) -> int:
    """Follow a submission to its end."""
    return _watch_to_the_end(_make_client(arguments), arguments.submission)


def _run_logs(arguments: argparse.Namespace) -> int:
    """Print what the agent printed."""
    for line in _make_client(arguments).logs(arguments.submission, episode=arguments.episode):
        print(line)
    return 0


def _run_leaderboard(arguments: argparse.Namespace) -> int:
    """Print a leaderboard."""
    board = _make_client(arguments).leaderboard(arguments.competition, arguments.phase)
    if arguments.json:
        print(json.dumps(board, indent=2))
    else:
        print(format_board(board))
    return 0


def format_board(board: dict[str, Any]) -> str:
    """The board as aligned columns."""
    columns = [str(column) for column in board.get("columns", [])]
    rows = [["rank", "team", *columns]]
    for row in board.get("rows", []):
        scores = row.get("scores", {})
        rows.append(
            [_format_cell(row.get("rank")), _format_team(row), *(_format_cell(scores.get(key)) for key in columns)]
        )
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def _format_team(row: dict[str, Any]) -> str:
    """The name; the organiser's own rows are marked."""
    kind = str(row.get("kind", "team")).replace("_", " ")
    return str(row.get("team", "")) + ("" if kind == "team" else f" ({kind})")


def _format_cell(value: object) -> str:
    return f"{value:.4f}" if isinstance(value, float) else "–" if value is None else str(value)


def _watch_to_the_end(client: Any, submission_id: str) -> int:  # noqa: ANN401
    from nav_eval_sdk.submission import format_verdict, watch

    submission = watch(client, submission_id)
    print(format_verdict(submission))
    return 0 if submission.status == "completed" else 1


def _make_client(arguments: argparse.Namespace) -> Any:  # noqa: ANN401
    from nav_eval_sdk import http_client
    from nav_eval_sdk.client import ChallengeClient

    return ChallengeClient(*http_client.load_credentials(arguments.server))


def _parse_count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError(f"{count} is too few; at least 1")
    return count


def load_agent(name: str) -> Any:  # noqa: ANN401
    """The class called `module:Class` or `path/agent.py:Class`; after `uninavid:` and the like, wrapped as an agent."""
    model, _, wrapped = name.partition(":")
    if ":" in wrapped:
        return _load_wrapped(model, wrapped)
    source, _, attribute = name.rpartition(":")
    if not source:
        raise SdkError(f"{name!r} is no agent; write module:Class, such as agent:MyAgent.")
    if source.endswith(".py") and not Path(source).is_file():
        raise SdkError(f"There is no file {source}; give the path of the one that holds {attribute}.")
    sys.path.insert(0, str(Path(source).resolve().parent) if source.endswith(".py") else "")
    os.environ[LOADING_VARIABLE] = source
    try:
        module = importlib.import_module(Path(source).stem if source.endswith(".py") else source)
        return getattr(module, attribute)
    except (ModuleNotFoundError, AttributeError) as error:
        raise SdkError(f"Cannot load {name!r}: {error}. Install what is missing, or correct the name.") from error
    finally:
        del os.environ[LOADING_VARIABLE]


def _load_wrapped(model: str, name: str) -> Any:  # noqa: ANN401
    from nav_eval_sdk.models import WRAPPERS

    if model not in WRAPPERS:
        raise SdkError(f"{model!r} is no model that we can wrap; choose among {', '.join(WRAPPERS)}.")
    return WRAPPERS[model](load_agent(name))


if __name__ == "__main__":
    main()
