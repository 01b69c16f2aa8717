#!/usr/bin/env bash
# A release: nothing with a known vulnerability, images on a base that is named by its digest, and what is in each of them.
# usage: release.sh BASE [ADVISORIES]     (`make release BASE=…`)
#   BASE         NAME@sha256:… of a registry, or the id sha256:… of an image that was made here (deploy/airgap/build.sh base)
#   ADVISORIES   OSV's records in a file, where PyPI's advisory service cannot be reached
set -euo pipefail
cd "$(dirname "$0")/../.."
base=${1:-} advisories=${2:-}
python=${PYTHON:-.venv/bin/python}
if ! [[ $base =~ ^([^@[:space:]]+@)?sha256:[0-9a-f]{64}$ ]]; then
    echo "release.sh: the base ${base:-(none)} has no digest, so nobody could say what the images were made of. Give BASE=NAME@sha256:…" >&2
    echo "  of a registry:  docker buildx imagetools inspect python:3.11-slim-bookworm" >&2
    echo "  made here:      docker image inspect --format '{{.Id}}' nav-eval-base:bookworm" >&2
    exit 2
fi
"$python" deploy/release/audit.py deploy/docker/locks/*.txt ${advisories:+--database "$advisories"}
mkdir -p dist
version=$(sed -n 's/__version__ = "\(.*\)"/\1/p' services/nav_eval/__init__.py)
BASE=$base deploy/airgap/build.sh gateway worker simulator agent
for image in gateway worker simulator agent; do
    lock=$image
    [ "$image" != worker ] || lock=gateway
    docker run --rm --entrypoint dpkg-query "nav-eval-$image:latest" -W >"dist/$image.packages"
    docker tag "nav-eval-$image:latest" "nav-eval-$image:$version"
    "$python" deploy/release/sbom.py "deploy/docker/locks/$lock.txt" "dist/sbom/nav-eval-$image.cdx.json" \
        --name "nav-eval-$image" --version "$version" --base "$base" --packages "dist/$image.packages"
    rm "dist/$image.packages"
done
