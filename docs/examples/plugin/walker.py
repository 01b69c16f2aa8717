"""Speaks `lines:`: walks three metres ahead and stops."""

import json
import sys

for line in sys.stdin:
    forward, _ = json.loads(line)["gps"]
    print("stop" if forward >= 3.0 else "move_forward", flush=True)
