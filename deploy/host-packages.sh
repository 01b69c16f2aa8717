#!/usr/bin/env bash
# Installs the Debian packages that a command needs, or says which ones are missing.
# usage: host-packages.sh PACKAGE… COMMAND=PACKAGE…     (the latter: only where the command is not there at all)
set -euo pipefail

missing=()
for wanted in "$@"; do
    package=${wanted#*=}
    [ "$wanted" != "$package" ] && command -v "${wanted%%=*}" >/dev/null && continue
    dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null | grep -q '^installed$' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -ne 0 ]; then
    echo "Missing system packages. Run: sudo apt-get install ${missing[*]}" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -q >/dev/null || echo "apt-get update failed; trying with the lists that are here" >&2
apt-get install -y -q --no-install-recommends "${missing[@]}" >/dev/null
