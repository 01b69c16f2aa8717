#!/bin/sh
# A virtualenv with one version of habitat-lab and this checkout: install_lab.sh FOLDER VERSION [PYTHON]
# With the uv of ours or of the machine, whose cache makes it a matter of seconds; with pip where there is none.
# The lab pins numpy 1.26.4, which has no wheel for Python 3.13: there it gets a newer one, against its own pin.
set -eu
cd "$(dirname "$0")/../../.."
folder=$1 lab="habitat-lab==$2" python=${3:-python3}
test -x "$folder/bin/python" || "$python" -m venv "$folder"
numpy=numpy==1.26.4 override=''
"$folder/bin/python" -c 'import sys; sys.exit(sys.version_info >= (3, 13))' || numpy='numpy>=2.1' override=$folder/overrides.txt
[ -z "$override" ] || echo "$numpy" > "$override"
set -- "$lab" 'opencv-python<5' 'setuptools<81' "$numpy" --editable '.[render]' --editable ./sdk/habitat
for uv in .venv/bin/uv "$(command -v uv || true)"; do
    [ ! -x "$uv" ] || { "$uv" pip install --quiet --python "$folder/bin/python" ${override:+--override "$override"} "$@" && exit 0; }
done
"$folder/bin/pip" install --quiet "$@"
