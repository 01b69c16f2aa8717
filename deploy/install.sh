#!/bin/sh
# Install Python packages into a virtualenv: with uv, which fetches wheels in parallel, and with pip where uv does not come.
#   deploy/install.sh .venv/bin --editable '.[demo]' --editable ./sdk
set -eu
bin=$1
shift
here=$(cd "$(dirname "$0")/.." && pwd)

uv=$(command -v uv || true)
if [ -z "$uv" ]; then
    [ -x "$bin/uv" ] || "$bin/python" -m pip install --quiet --disable-pip-version-check uv >/dev/null 2>&1 || true
    [ ! -x "$bin/uv" ] || uv=$bin/uv
fi
if [ -n "$uv" ] && "$uv" pip install --python "$bin/python" --constraint "$here/constraints.txt" "$@"; then
    exit 0
fi
echo "Installing with pip instead of uv." >&2
exec "$bin/python" -m pip install --disable-pip-version-check --constraint "$here/constraints.txt" "$@"
