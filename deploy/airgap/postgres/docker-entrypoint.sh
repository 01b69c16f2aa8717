#!/usr/bin/env bash
# First start: make the cluster, the user, the database, run the scripts. Then become the server.
set -euo pipefail
shopt -s nullglob

from_file() { # NAME DEFAULT: the value of NAME, or of the file that NAME_FILE names
    local name=$1 file=${1}_FILE
    if [ -n "${!file:-}" ]; then
        [ -z "${!name:-}" ] || { echo "both $name and $file are set" >&2; exit 1; }
        printf '%s' "$(<"${!file}")"
    else
        printf '%s' "${!name:-$2}"
    fi
}

if [ "${1:0:1}" = - ]; then set -- postgres "$@"; fi
if [ "$1" != postgres ]; then exec "$@"; fi

if [ "$(id -u)" = 0 ]; then
    mkdir -p "$PGDATA"
    chown -R postgres:postgres "$PGDATA"
    chmod 700 "$PGDATA"
    # the password's file may be readable by root alone
    export POSTGRES_PASSWORD_ONCE
    POSTGRES_PASSWORD_ONCE=$(from_file POSTGRES_PASSWORD '')
    exec gosu postgres "$0" "$@"
fi

if [ ! -s "$PGDATA/PG_VERSION" ]; then
    user=$(from_file POSTGRES_USER postgres)
    database=$(from_file POSTGRES_DB "$user")
    password=${POSTGRES_PASSWORD_ONCE:-$(from_file POSTGRES_PASSWORD '')}
    method=${POSTGRES_HOST_AUTH_METHOD:-scram-sha-256}
    [ -n "$password" ] || [ "$method" = trust ] || { echo "POSTGRES_PASSWORD is not set" >&2; exit 1; }
    # shellcheck disable=SC2086
    initdb --username="$user" --pwfile=<(printf '%s\n' "$password") ${POSTGRES_INITDB_ARGS:-} >/dev/null
    printf 'host all all all %s\n' "$method" >>"$PGDATA/pg_hba.conf"
    pg_ctl -D "$PGDATA" -o "-c listen_addresses=''" -w start >/dev/null
    run() { psql -v ON_ERROR_STOP=1 --no-psqlrc --username "$user" --dbname "${DB:-$database}" "$@"; }
    [ "$database" = postgres ] || DB=postgres run --set db="$database" <<<'CREATE DATABASE :"db";' >/dev/null
    for script in /docker-entrypoint-initdb.d/*; do
        case $script in
        *.sh) if [ -x "$script" ]; then "$script"; else . "$script"; fi ;;
        *.sql) run -f "$script" ;;
        *.sql.gz) gunzip -c "$script" | run ;;
        esac
    done
    pg_ctl -D "$PGDATA" -m fast -w stop >/dev/null
fi
unset POSTGRES_PASSWORD_ONCE
exec "$@" -c listen_addresses='*'
