#!/usr/bin/env bash
# gVisor for agents: unpacks Debian 13's runsc into a folder, and registers it with a Docker engine.
# Debian 12's own package is too old (agents cannot reach their simulator). The newer one is a program that needs nothing
# of its release: it comes from the Debian mirror that apt has here, is checked by Debian's keyring, and lies in a folder
# of its own. No package is installed or upgraded, and apt's own lists and sources stay as they are.
# usage: gvisor.sh FOLDER [DAEMON_JSON]     e.g. gvisor.sh /opt/gvisor /etc/docker/daemon.json; then reload the engine
set -euo pipefail

RELEASE=trixie
KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

folder=$(realpath -m "${1:?usage: gvisor.sh FOLDER [DAEMON_JSON]}")
settings=${2:-}

find_mirror() {
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | head -n 1
}

fetch_program() {
    local mirror options
    mirror=$(find_mirror)
    if [ -z "$mirror" ] && [ "$(id -u)" -eq 0 ]; then
        apt-get update -q >/dev/null # a new machine has no lists yet, and they say who Debian is
        mirror=$(find_mirror)
    fi
    if [ -z "$mirror" ] || [ ! -e "$KEYRING" ]; then
        echo "apt knows no Debian mirror here, or Debian's keyring is missing. Put a runsc of 2024 or later at $folder/bin/runsc, and call this again." >&2
        exit 1
    fi
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    chmod 755 "$work" # apt fetches as a user of its own
    mkdir -p "$work/lists/partial" "$work/archives/partial" "$work/unpacked"
    echo "deb [signed-by=$KEYRING] $mirror $RELEASE main" >"$work/sources.list"
    options=(-o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=- -o "Dir::State::Lists=$work/lists"
        -o "Dir::Cache=$work" -o Dir::State::Status=/dev/null -o Acquire::Languages=none -o APT::Update::Error-Mode=any
        -o Acquire::AllowInsecureRepositories=false -o APT::Get::AllowUnauthenticated=false)
    apt-get "${options[@]}" update -q >"$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }
    (cd "$work" && apt-get "${options[@]}" download -q "runsc/$RELEASE" >"$work/said" 2>&1) || { cat "$work/said" >&2; exit 1; }
    dpkg-deb -x "$work"/runsc_*.deb "$work/unpacked"
    mkdir -p "$folder/bin"
    # Renamed into place: what runs now goes on with the file that it has.
    install -m 755 "$work/unpacked/usr/bin/runsc" "$folder/bin/.runsc.new"
    mv "$folder/bin/.runsc.new" "$folder/bin/runsc"
}

register() {
    python3 - "$settings" "$folder/bin/runsc" <<'PYTHON'
import json, os, sys
from pathlib import Path

file, program = Path(sys.argv[1]), sys.argv[2]
settings = json.loads(file.read_text() or "{}") if file.exists() else {}
options = ["--platform=systrap", "--network=none", "--host-uds=create"]  # an agent serves on a socket; it opens nobody else's
settings.setdefault("runtimes", {})["runsc"] = {"path": program, "runtimeArgs": options}
file.parent.mkdir(parents=True, exist_ok=True)
new = file.with_name(f".{file.name}.new")
new.write_text(json.dumps(settings, indent=2) + "\n")
os.replace(new, file)
PYTHON
    echo "Registered in $settings. Have the engine read it: systemctl reload docker"
}

[ -x "$folder/bin/runsc" ] || fetch_program
flags=$("$folder/bin/runsc" flags 2>&1)
if [[ $flags != *systrap* ]]; then
    echo "$folder/bin/runsc is too old: it has no platform systrap. Remove it, and call this again." >&2
    exit 1
fi
echo "$folder/bin/runsc: $("$folder/bin/runsc" --version | head -n 1)"
[ -z "$settings" ] || register
