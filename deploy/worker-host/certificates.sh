#!/usr/bin/env bash
# Certificates for the tunnel between the hub and worker hosts: a CA of your own, one for the hub, one per worker host.
# usage: certificates.sh FOLDER HUB_NAME WORKER_NAME…       what exists stays; add a host by naming it
set -euo pipefail
folder=$1 hub=$2
shift 2
umask 077
mkdir -p "$folder"
cd "$folder"

if [ ! -e ca.key ]; then
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 \
        -subj "/CN=nav-eval CA" -keyout ca.key -out ca.crt 2>/dev/null
fi
issue() { # FILE NAME USE
    [ -e "$1.pem" ] && return
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$2" \
        -keyout "$1.key" -out "$1.csr" 2>/dev/null
    openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 825 -out "$1.crt" \
        -extfile <(printf 'subjectAltName=DNS:%s\nextendedKeyUsage=%s\n' "$2" "$3") 2>/dev/null
    cat "$1.crt" "$1.key" >"$1.pem"
    rm "$1.csr" "$1.crt" "$1.key"
}
issue hub "$hub" serverAuth
for worker in "$@"; do issue "$worker" "$worker" clientAuth; done
chmod 444 ca.crt ./*.pem # readable inside containers; the folder keeps others out
echo "Copy ca.crt and WORKER.pem to each worker host. ca.key stays here, and never on a host with workers."
