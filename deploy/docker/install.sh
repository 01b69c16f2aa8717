#!/bin/sh
# Makes what an image has in /opt/nav-eval: the libraries there, and (a second call) our own code in /opt/ours, to be
# copied over them. So libraries are a layer that stays when our code changes: nobody builds, saves or pulls it again.
# Every file that comes from elsewhere has one of the hashes in deploy/docker/locks.
# usage: install.sh libraries LOCK  |  install.sh ours [FOLDER]
set -eu
target=/opt/nav-eval
ours=/opt/ours
builder=/opt/build
export PIP_FIND_LINKS=/wheels PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
[ -n "${PIP_NO_INDEX:-}" ] || unset PIP_NO_INDEX
[ -n "${PIP_INDEX_URL:-}" ] || unset PIP_INDEX_URL

export PYTHONDONTWRITEBYTECODE=1

# What nothing in an image reads.
prune() {
    # Tests and stubs of libraries are a fifth of their size; zstandard comes twice.
    find "$target" -depth \( -name tests -o -name __pycache__ \) -type d -exec rm -rf {} +
    find "$target" \( -name '*.pyi' -o -path '*/zstandard/_cffi.*' \) -delete
    # What builds extensions: nobody does in an image. Of lxml, pycollada reads trees alone.
    for unread in numpy/distutils numpy/f2py lxml/html lxml/includes lxml/isoschematron; do
        rm -rf "$target"/lib/python3*/site-packages/$unread
    done
    find "$target"/lib \( -name '*.pxd' -o -name '*.pyx' -o -name '*.c' -o -name '*.h' -o -path '*/lxml/objectify*' \) -delete
    # Of Amazon's three hundred services we speak to S3, and to those that give out keys for it: 24 MB.
    for data in "$target"/lib/python3*/site-packages/botocore/data; do
        [ ! -d "$data" ] || find "$data" -mindepth 1 -maxdepth 1 -type d \
            ! -name s3 ! -name sts ! -name 'sso*' ! -name signin -exec rm -rf {} +
    done
    # Symbols that only a debugger wants: 36 MB of the simulator, 15 of the gateway.
    if command -v strip >/dev/null; then
        find "$target" \( -name 'libllvmlite.so' -o -path '*/zstandard/*.so' -o -name 'DracoPy*.so' \
            -o -path '*/uvloop/*.so' -o -path '*/aiohttp/*.so' \) -exec strip --strip-unneeded {} +
    fi
}

# Byte code for what is loaded at every start.
compile_all() {
    "$target/bin/python" -m compileall -q -x '/(pip|setuptools|pkg_resources|_distutils_hack)/' "$1"/lib/python3*/site-packages
}

what=$1
shift
if [ "$what" = libraries ]; then
    python3 -m venv "$target"
    "$target/bin/pip" install --quiet --no-compile --require-hashes --only-binary :all: --requirement "/src/$1.txt"
    "$target/bin/pip" uninstall --quiet --yes setuptools pip
    python3 -m venv "$builder"
    "$builder/bin/pip" install --quiet --require-hashes --only-binary :all: --requirement /src/build.txt
    prune
    compile_all "$target"
else
    "$builder/bin/pip" wheel --quiet --no-deps --no-build-isolation --wheel-dir /tmp/ours "${1:-/src}"
    "$builder/bin/pip" --python "$target/bin/python" install --quiet --no-compile --no-deps --prefix "$ours" /tmp/ours/*.whl
    compile_all "$ours"
fi
