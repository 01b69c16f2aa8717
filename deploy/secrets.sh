#!/usr/bin/env bash
# Makes the passwords and keys of an installation, each once, in a folder that its owner alone can enter, and .env
# with what Compose must know about this host's engine. What exists is never changed.
# usage: secrets.sh [FOLDER] [ENV_FILE]      (default: deploy/secrets, .env)
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-$root/deploy/secrets}
env_file=${2:-$root/.env}
umask 077
mkdir -p "$folder"
chmod 700 "$folder"

keep() { # NAME VALUE: readable inside containers, whose users are not this one; the folder keeps others out
    [ -e "$folder/$1" ] && return
    printf '%s' "$2" >"$folder/$1.part"
    chmod 444 "$folder/$1.part"
    mv "$folder/$1.part" "$folder/$1"
}
drawn() { od -An -N 32 -tx1 /dev/urandom | tr -d ' \n'; }

for name in postgres_password redis_password secret_key encryption_keys metrics_token grafana_password; do
    keep "$name" "$(drawn)"
done
keep database_url "postgresql://nav_eval:$(<"$folder/postgres_password")@postgres:5432/nav_eval"
keep broker_url "redis://:$(<"$folder/redis_password")@redis:6379/0"

if [ ! -e "$env_file" ]; then
    socket=${DOCKER_SOCKET_FOLDER:-/var/run}/${DOCKER_SOCKET_NAME:-docker.sock}
    {
        echo "# Made by deploy/secrets.sh; docs/deployment.md lists what else may stand here."
        echo "DOCKER_SOCKET_FOLDER=${DOCKER_SOCKET_FOLDER:-/var/run}"
        [ ! -S "$socket" ] || echo "DOCKER_GID=$(stat -c %g "$socket")"
    } >"$env_file"
fi
echo "Secrets are in $folder, settings in $env_file."
