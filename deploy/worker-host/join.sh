#!/usr/bin/env bash
# Makes the secrets of one worker host from the hub's: the same addresses, but through the tunnel.
# usage: join.sh HUB_SECRETS CERTIFICATES WORKER_NAME TARGET     then copy TARGET to the worker host as deploy/worker-host/secrets; it is all that a worker host knows
set -euo pipefail
hub=$1 certificates=$2 worker=$3 target=$4
umask 077
mkdir -p "$target"
sed 's#@postgres:5432/#@tunnel:5432/#' "$hub/database_url" >"$target/database_url"
sed 's#@redis:6379/#@tunnel:6379/#' "$hub/broker_url" >"$target/broker_url"
cp "$certificates/$worker.pem" "$target/tunnel.pem"
cp "$certificates/ca.crt" "$target/ca.crt"
chmod 444 "$target"/*
