#!/usr/bin/env bash
# Makes the tarball of the base image from Debian packages: what python:3.11-slim is where a registry can be reached.
# usage: base.sh TARBALL.tar.zst      (as root; needs debootstrap and zstd; about a minute)
set -euo pipefail
target=$1
suite=${SUITE:-bookworm}
mirror=${MIRROR:-http://deb.debian.org/debian}
packages=python3,python3-pip,python3-venv,ca-certificates

rootfs=$(mktemp -d)
trap 'rm -rf --one-file-system "$rootfs"' EXIT
debootstrap --variant=minbase --include="$packages" "$suite" "$rootfs" "$mirror" >"$target.log" 2>&1 ||
    { tail -20 "$target.log" >&2; exit 1; }

cat >"$rootfs/etc/apt/sources.list" <<LIST
deb $mirror $suite main
deb $mirror $suite-updates main
deb $mirror-security $suite-security main
LIST
# Packages start no services in an image; `pip install` works as it does in the official Python images.
printf '#!/bin/sh\nexit 101\n' >"$rootfs/usr/sbin/policy-rc.d"
chmod 755 "$rootfs/usr/sbin/policy-rc.d"
rm -f "$rootfs"/usr/lib/python3.*/EXTERNALLY-MANAGED
ln -s python3 "$rootfs/usr/bin/python"

# The certificates that this host trusts: a site without a registry often has its own.
mkdir -p "$rootfs/usr/local/share/ca-certificates"
cp /usr/local/share/ca-certificates/*.crt "$rootfs/usr/local/share/ca-certificates/" 2>/dev/null || true
cp -L /etc/ssl/certs/ca-certificates.crt "$rootfs/etc/ssl/certs/"

# Device nodes would sit in every saved archive; the engine has a /dev of its own. The rest is never read in a container.
cd "$rootfs"
rm -rf dev/* var/cache/apt/* var/cache/debconf/*-old var/lib/apt/lists/* var/log/* \
    usr/share/{doc,man,info,locale,lintian,bug}/* usr/lib/*/gconv \
    etc/resolv.conf etc/hostname etc/machine-id
find . -name __pycache__ -prune -exec rm -rf {} +
tar --numeric-owner --sort=name -c . | zstd -q -T0 -f -o "$target.part"
mv "$target.part" "$target"
rm -f "$target.log"
