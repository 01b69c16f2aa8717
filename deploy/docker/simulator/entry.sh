#!/bin/sh
# play ORDER     plays a shard against the agent behind /rpc; results go to standard output
# replay ORDER   plays a finished run again, without an agent; answers on standard output, too
# prepare ORDER  makes what the shard's scenes need, into /prepared, for every later run; there is no agent then
# COMMAND…       anything else, e.g. nav-eval
set -eu

# numba uses a cache only where it may write: links in memory, machine code in the image.
mkdir -p /tmp/numba
cp -rs "$NUMBA_CACHE_DIR/." /tmp/numba/
export NUMBA_CACHE_DIR=/tmp/numba

# What was prepared is read where it lies. What this run makes stays in its own memory: a simulator
# that a team's code has taken over can spoil nobody else's scenes.
use_prepared() { [ -d /prepared ] && cp -rs /prepared/. "$NAV_EVAL_CACHE/" 2>/dev/null || true; }

case ${1:-} in
play) use_prepared && exec python -m nav_eval.evaluation.shard "$2" ;;
replay) use_prepared && exec python -m nav_eval.replay.process "$2" ;;
prepare) exec python /usr/local/lib/nav-eval/prepare.py "$2" ;;
*) exec "$@" ;;
esac
