#!/bin/sh
# Install Python packages into a virtualenv: with uv, which checks every file against the hashes in constraints.txt. Where
# uv does not come, pip installs the same versions; it cannot check hashes beside a checkout, and says so.
#   deploy/install.sh .venv/bin --editable '.[demo]' --editable ./sdk
#   INSTALLER=pip       for builds (of torch) that pip's configuration on this machine leads to
set -eu
bin=$1
shift
pins=$(cd "$(dirname "$0")/.." && pwd)/constraints.txt

uv=$(command -v uv || true)
if [ "${INSTALLER:-uv}" = pip ]; then
    uv=
elif [ -z "$uv" ]; then
    if [ ! -x "$bin/uv" ]; then
        listed=$(mktemp)
        sed -n '/^uv==/,/[^\\]$/p' "$pins" >"$listed"
        "$bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes --requirement "$listed" \
            >/dev/null 2>&1 || true
        rm -f "$listed"
    fi
    [ ! -x "$bin/uv" ] || uv=$bin/uv
fi
if [ -n "$uv" ] && "$uv" pip install --compile-bytecode --python "$bin/python" --constraint "$pins" --build-constraint "$pins" "$@"; then
    exit 0
fi
echo "Installing with pip instead of uv: versions are those of constraints.txt, hashes are not checked." >&2
versions=$(mktemp)
trap 'rm -f "$versions"' EXIT
sed -n 's/^\([^ #]*==[^ ]*\).*/\1/p' "$pins" >"$versions"
"$bin/python" -m pip install --disable-pip-version-check --constraint "$versions" "$@"
