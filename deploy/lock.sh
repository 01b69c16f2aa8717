#!/usr/bin/env bash
# Writes down which version of each library is installed, and the SHA-256 of each of its files: constraints.txt for a
# checkout, deploy/docker/locks for the images. What is pinned stays unless an option of uv says otherwise.
# usage: lock.sh BIN [--upgrade | --upgrade-package NAME …]
set -euo pipefail
bin=$1
shift
cd "$(dirname "$0")/.."
options=("$@")

compile() { # FILE OPTION…: requirements on standard input
    "$bin/uv" pip compile --quiet --generate-hashes --no-annotate --no-header --output-file "$1" "${@:2}" - >/dev/null
}
need() { "$bin/python" deploy/docker/requirements.py "$@"; }

# Builds of torch differ from site to site (processors, GPUs), so its files have no hashes here.
torch=$(grep '^torch==' constraints.txt)
{
    need pyproject.toml render export rerun s3 gateway worker bench demo dev --without nav-eval-sdk
    need sdk/pyproject.toml images websocket
    need sdk/habitat/pyproject.toml --without nav-eval
    printf '%s\n' hatchling editables
} | compile constraints.txt "${options[@]}"
echo "$torch" >>constraints.txt

# Debian's Python 3.11.2 needs what later ones do not.
image() { compile "deploy/docker/locks/$1.txt" --constraint constraints.txt --python-version 3.11; }
printf '%s\n' hatchling grpcio-tools | image build
# Gateway and worker are one environment, and compile nothing: without numba's compiler (200 MB) and what reads scenes.
# kombu speaks to Redis with the help of packaging, and does not say so.
need pyproject.toml gateway worker s3 --with packaging \
    --without numba llvmlite moderngl dracopy trimesh lxml networkx pycollada rtree | image gateway
need pyproject.toml render video | image simulator
need sdk/pyproject.toml | image agent
