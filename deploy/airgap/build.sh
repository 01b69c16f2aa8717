#!/usr/bin/env bash
# Builds images without a registry: a base from Debian packages, Python libraries from this host's pip.
# usage: build.sh [base gateway worker simulator agent postgres redis haproxy nginx]      (default: all; needs an engine, the base needs root)
#   NAV_EVAL_CACHE      where the base tarball is kept (default ~/.cache/nav-eval)
#   PYTHON              whose pip downloads the wheels (default .venv/bin/python, else python3)
#   BASE                another base, NAME@sha256:… or the id of an image that is here (default: made from Debian packages)
#   BUILD_NETWORK       network of `RUN apt-get` (default host: works on engines without a bridge)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=${NAV_EVAL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/nav-eval}/images
base=${BASE:-nav-eval-base:bookworm}
wheels=$root/deploy/docker/wheels
python=${PYTHON:-$root/.venv/bin/python}
[ -x "$python" ] || python=python3
export DOCKER_BUILDKIT=0

main() {
    local wanted=("$@") job jobs=()
    [ ${#wanted[@]} -gt 0 ] || wanted=(gateway worker simulator agent postgres redis haproxy nginx)
    mkdir -p "$cache"
    [ -n "${BASE:-}" ] || make_base &
    job=$!
    [[ ! " ${wanted[*]} " =~ \ (gateway|worker|simulator|agent)\  ]] || (flock 9; collect_wheels) 9>"$cache/wheels.lock"
    wait "$job"
    # Half of the time is waiting for packages, so all at once; but for the worker, which has nearly everything from the gateway.
    for name in "${wanted[@]}"; do
        [ "$name" = worker ] || { image "$name" & jobs+=($!); }
    done
    for job in "${jobs[@]}"; do wait "$job"; done
    [[ ! " ${wanted[*]} " =~ " worker " ]] || image worker
}

image() { # NAME
    case $1 in
    base) ;;
    simulator) build_simulator ;;
    gateway | worker | agent) build "nav-eval-$1:latest" "deploy/docker/Dockerfile.$1" "$root" ;;
    postgres) build postgres:16-alpine "deploy/airgap/postgres/Dockerfile" "$here/postgres" ;;
    haproxy) build haproxy:2.9-alpine "deploy/airgap/haproxy/Dockerfile" "$here/haproxy" ;;
    nginx) build nginx:1.27-alpine "deploy/airgap/nginx/Dockerfile" "$here/nginx" ;;
    redis) build redis:7-alpine "deploy/airgap/redis/Dockerfile" "$here/redis" ;;
    *) echo "build.sh: there is no image $1" >&2; exit 2 ;;
    esac
}

make_base() {
    local tarball digest
    # Another recipe or other certificates of this host give another base.
    digest=$(cat "$here/base.sh" /etc/ssl/certs/ca-certificates.crt | sha256sum | cut -c1-16)
    tarball=$cache/base-$digest.tar.zst
    [ -e "$tarball" ] || (flock 9; [ -e "$tarball" ] || "$here/base.sh" "$tarball") 9>"$cache/base.lock"
    [ "$(docker image inspect --format '{{index .Config.Labels "nav-eval.base"}}' "$base" 2>/dev/null)" = "$digest" ] && return
    local ca=/etc/ssl/certs/ca-certificates.crt
    zstd -dc "$tarball" | docker import --change "LABEL nav-eval.base=$digest" --change 'CMD ["bash"]' \
        --change "ENV SSL_CERT_FILE=$ca PIP_CERT=$ca REQUESTS_CA_BUNDLE=$ca LANG=C.UTF-8" - "$base" >/dev/null
    echo "$base: $(size "$base") MB"
}

# Everything that the images install, as wheels: pip on this host knows where to get them.
collect_wheels() {
    local stamp lock
    stamp=$(cat "$root"/deploy/docker/locks/*.txt | sha256sum)
    [ "$(cat "$wheels/.stamp" 2>/dev/null)" = "$stamp" ] && return
    rm -f "$wheels"/*.whl
    for lock in "$root"/deploy/docker/locks/*.txt; do
        "$python" -m pip download -qq --dest "$wheels" --only-binary :all: --require-hashes --requirement "$lock"
    done
    echo "$stamp" >"$wheels/.stamp"
}

# With the machine code of the last one whose kernels were the same, or of the last one there was: to compile all of it
# takes a minute. That one is kept by a name, so that the same source gives the same image again.
build_simulator() {
    local kept=nav-eval-kernels digest older
    digest=$(cd "$root" && grep -rlE '^from nav_eval.compilation import' services --include='*.py' | xargs -n1 dirname |
        sort -u | xargs -I{} find {} -maxdepth 1 -name '*.py' | sort | xargs cat deploy/docker/locks/simulator.txt | sha256sum | cut -c1-16)
    older=$([ -n "${BASE:-}" ] || docker images --format '{{.Repository}}:{{.Tag}}' "$kept")  # a release compiles its own
    case $older in *"$kept:$digest"*) older=$kept:$digest ;; esac
    build nav-eval-simulator:latest deploy/docker/Dockerfile.simulator "$root" --build-arg "KERNELS=$(set -- $older "$base"; echo "$1")"
    [ -z "${BASE:-}" ] && [ "$older" != "$kept:$digest" ] || return 0
    docker tag nav-eval-simulator:latest "$kept:$digest"
    [ -z "$older" ] || docker rmi $older >/dev/null
}

build() { # NAME DOCKERFILE CONTEXT [OPTION…]
    docker build --quiet --network "${BUILD_NETWORK:-host}" --tag "$1" --file "$root/$2" "${@:4}" \
        --build-arg "BASE=$base" --build-arg PIP_NO_INDEX=1 \
        --build-arg "VERSION=$(sed -n 's/__version__ = "\(.*\)"/\1/p' "$root/services/nav_eval/__init__.py")" \
        --build-arg "REVISION=$(git -C "$root" rev-parse HEAD 2>/dev/null || echo unknown)" "$3" 2>&1 >/dev/null |
        { grep -v -e 'legacy builder' -e 'Install the buildx' -e 'docs.docker.com' -e '^ *$' -e 'environment-variable' -e 'BuildKit' || true; } >&2
    [ "${PIPESTATUS[0]}" -eq 0 ] || { echo "build.sh: building $1 failed" >&2; exit 1; }
    echo "$1: $(size "$1") MB"
}

size() { docker image inspect --format '{{.Size}}' "$1" | awk '{ printf "%d", $1 / 1e6 }'; }

main "$@"
