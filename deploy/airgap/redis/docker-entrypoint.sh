#!/bin/sh
set -e
case $1 in -*) set -- redis-server "$@" ;; esac
if [ "$1" = redis-server ]; then
    shift
    set -- redis-server --protected-mode no --dir /data "$@"
fi
if [ "$1" = redis-server ] && [ "$(id -u)" = 0 ]; then
    find . \! -user redis -exec chown redis '{}' +
    exec gosu redis "$@"
fi
exec "$@"
