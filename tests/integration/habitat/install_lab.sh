#!/bin/sh
# A virtualenv with one version of habitat-lab and this checkout: install_lab.sh FOLDER VERSION
set -eu
test -x "$1/bin/python" || python3 -m venv "$1"
"$1/bin/pip" install --quiet "habitat-lab==$2" 'opencv-python<5' 'setuptools<81' 'numpy==1.26.4' \
    --editable '.[render]' --editable ./sdk/habitat
