"""Whether a service answers: exit code 0 if it does. Images have no curl.

usage: healthy.py http://127.0.0.1:8000/healthz
"""

import sys
from urllib.request import urlopen


def main(address: str) -> int:
    with urlopen(address, timeout=4) as answer:  # noqa: S310 (the image's own address)
        return 0 if answer.status == 200 else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1]))
    except OSError as error:
        sys.exit(f"{sys.argv[1]}: {error}")
