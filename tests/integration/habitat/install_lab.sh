#!/bin/sh
# A virtualenv with one version of habitat-lab and this checkout: install_lab.sh FOLDER VERSION
# With the uv of ours or of the machine, whose cache makes it a matter of seconds; with pip where there is none.
set -eu
cd "$(dirname "$0")/../../.."
test -x "$1/bin/python" || python3 -m venv "$1"
set -- "$1" "habitat-lab==$2" 'opencv-python<5' 'setuptools<81' 'numpy==1.26.4' --editable '.[render]' --editable ./sdk/habitat
folder=$1
shift
for uv in .venv/bin/uv "$(command -v uv || true)"; do
    [ ! -x "$uv" ] || { "$uv" pip install --quiet --python "$folder/bin/python" "$@" && exit 0; }
done
"$folder/bin/pip" install --quiet "$@"
