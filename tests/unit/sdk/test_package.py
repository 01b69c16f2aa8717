"""What a team installs: old Pythons, and nothing heavy."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import nav_eval_sdk
from nav_eval_sdk.errors import MissingExtra

SOURCES = sorted(Path(nav_eval_sdk.__file__).parent.rglob("*.py"))


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: file.name)
def test_every_file_is_python_3_9(file: Path) -> None:
    tree = ast.parse(file.read_text(), feature_version=(3, 9))
    lazy = any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body)
    unions = [node for node in ast.walk(tree) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr)]
    names = [node for node in unions if isinstance(node.right, ast.Constant) and node.right.value is None]
    assert lazy or not names, "`X | None` needs `from __future__ import annotations` on Python 3.9"
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Match)]


def test_the_sdk_imports_nothing_heavy() -> None:
    code = "import sys, nav_eval_sdk; print(sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "numpy" in loaded
    for heavy in ("PIL", "websockets", "msgpack", "msgspec", "pydantic", "torch", "'nav_eval'"):
        assert heavy not in loaded


NO_EXTRAS = """
import sys
sys.modules.update({"websockets": None, "msgpack": None})
import importlib.util
find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name in ("websockets", "msgpack") else find_spec(name, *rest)
"""


def run_without_extras(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", NO_EXTRAS + code], capture_output=True, text=True, check=False, timeout=60
    )
    return done.stdout + done.stderr


def test_without_the_extra_websocket_names_it() -> None:
    code = "from nav_eval_sdk.cli import main; main(['serve', 'agent:A', '--protocol', 'websocket'])"
    agent = "import types; agent = sys.modules['agent'] = types.ModuleType('agent'); agent.A = object\n"
    assert "pip install 'nav-eval-sdk[websocket]'" in run_without_extras(agent + code)
    check = "from nav_eval_sdk.cli import main; main(['check', 'ws://127.0.0.1:0'])"
    assert "pip install 'nav-eval-sdk[websocket]'" in run_without_extras(check)


def test_without_the_extra_rest_speaks_json() -> None:
    code = (
        "from nav_eval_sdk import Agent; from nav_eval_sdk.json_messages import *\n"
        "from nav_eval_sdk import rest_server\n"
        "said = encode_description(Agent().describe()); print(said['binary'], load_document(b'{}', binary=False))"
    )
    assert run_without_extras(code) == "False {}\n"


def test_the_message_of_a_missing_extra_is_a_command() -> None:
    assert str(MissingExtra("WebSocket", extra="websocket")).endswith("pip install 'nav-eval-sdk[websocket]'")
