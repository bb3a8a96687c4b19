# A container engine: the one that runs is used as it is; only when there is none, Debian's docker.io
# is installed and started. Sourced after packages.sh.
#
# What is ours when we start one by hand: its pid file, data root and log, below the directories here.
# shellcheck shell=bash

ENGINE_DATA=${CUPEL_ENGINE_DATA:-/var/lib/cupel-engine}
ENGINE_RUN=${CUPEL_ENGINE_RUN:-/run/cupel-engine}
ENGINE_SOCKET=${CUPEL_ENGINE_SOCKET:-/var/run/docker.sock}
ENGINE_SOCKET_UNIT=${CUPEL_ENGINE_SOCKET_UNIT:-/etc/systemd/system/docker.socket.d/cupel.conf}
ENGINE_MARK=started-by-cupel  # in the data root: this directory is ours to remove

engine_answers() { [ -S "$1" ] && [ "$(curl -s --max-time 5 --unix-socket "$1" http://engine/_ping 2>/dev/null)" = OK ]; }

# Prints the socket of a running engine that we may use; fails when there is none.
find_engine() {
  local socket candidates=()
  case ${DOCKER_HOST:-} in unix://*) candidates+=("${DOCKER_HOST#unix://}") ;; esac
  candidates+=("$ENGINE_SOCKET" "${XDG_RUNTIME_DIR:-/nonexistent}/docker.sock" /run/podman/podman.sock)
  for socket in "${candidates[@]}"; do
    if engine_answers "$socket"; then
      printf '%s\n' "$socket"
      return 0
    fi
  done
  return 1
}

# A socket that somebody listens at, and that is closed to us. Only one that refuses connections is dead: an engine that
# is slow, or that nobody may ask, is none to be replaced.
engine_closed_to_us() {
  local code=0
  [ "$(id -u)" -ne 0 ] && [ -S "$ENGINE_SOCKET" ] && [ ! -w "$ENGINE_SOCKET" ] || return 1
  have sudo || return 0
  as_root curl -s -o /dev/null --max-time 20 --unix-socket "$ENGINE_SOCKET" http://engine/_ping || code=$?
  [ "$code" -ne 7 ]
}

# Installed by us, perhaps by a run that didn't come further.
engine_package_is_ours() { grep -qx docker.io "$CUPEL_OPS_STATE/packages" 2>/dev/null && package_installed docker.io; }

# Prints a PATH prefix under which `iptables` works, or nothing when it does as it is. Some kernels have
# no nf_tables; the legacy program then does the same work. The machine's alternatives stay as they are.
iptables_path() {
  if as_root iptables -w -t nat -S >/dev/null 2>&1; then return 0; fi
  if as_root iptables-legacy -w -t nat -S >/dev/null 2>&1; then
    as_root mkdir -p "$ENGINE_RUN/bin"
    local name
    for name in iptables ip6tables iptables-save iptables-restore ip6tables-save ip6tables-restore; do
      as_root ln -sf "$(command -v "${name/tables/tables-legacy}" || echo "/usr/sbin/${name/tables/tables-legacy}")" \
        "$ENGINE_RUN/bin/$name"
    done
    printf '%s\n' "$ENGINE_RUN/bin"
    return 0
  fi
  die "neither iptables nor iptables-legacy works here" "the engine needs one of them for its bridge network"
}

cgroups_mounted() { grep -qE '^[^ ]+ /sys/fs/cgroup(/[^ ]*)? cgroup2? ' /proc/mounts; }

start_engine_by_hand() {
  local prefix path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
  ensure_packages iptables
  if ! cgroups_mounted; then
    ensure_packages cgroups
    say "engine: mounting the control groups"
    as_root cgroupfs-mount || die "the control groups can't be mounted" "limits of memory and processes need them"
    remember engine cgroups
  fi
  prefix=$(iptables_path) || exit 1
  [ -z "$prefix" ] || path=$prefix:$path
  as_root mkdir -p "$ENGINE_DATA" "$ENGINE_RUN"
  as_root chmod 0711 "$ENGINE_DATA"
  as_root touch "$ENGINE_DATA/$ENGINE_MARK"
  # setsid: the engine outlives the terminal. Its output is a file, so that nobody waits for a pipe.
  as_root env PATH="$path" setsid sh -c '
    exec dockerd --host "unix://$1" --pidfile "$2/dockerd.pid" --exec-root "$2/exec" --data-root "$3" \
      --group "$4" --log-level warn >"$3/dockerd.log" 2>&1 </dev/null' \
    sh "$ENGINE_SOCKET" "$ENGINE_RUN" "$ENGINE_DATA" "$(id -gn)" &
  disown
  local waited
  for waited in $(seq 1 300); do
    if engine_answers "$ENGINE_SOCKET"; then
      remember engine "by-hand $ENGINE_SOCKET"
      say "engine: started dockerd (pid file $ENGINE_RUN/dockerd.pid, data in $ENGINE_DATA)"
      return 0
    fi
    # The program writes its pid file early; gone again means that it gave up.
    if [ "$waited" -gt 50 ] && ! as_root pgrep -F "$ENGINE_RUN/dockerd.pid" >/dev/null 2>&1; then break; fi
    sleep 0.2
  done
  as_root tail -n 20 "$ENGINE_DATA/dockerd.log" >&2 || true
  die "dockerd did not start" "its log: $ENGINE_DATA/dockerd.log"
}

# The socket of Debian's unit belongs to the group docker, in which nobody is after an installation. Ours is for this
# user's group: now, and when the machine has started again.
open_engine_socket() {
  remember engine "socket-group $ENGINE_SOCKET"
  as_root mkdir -p "${ENGINE_SOCKET_UNIT%/*}"
  printf '[Socket]\nSocketGroup=%s\n' "$(id -gn)" | as_root tee "$ENGINE_SOCKET_UNIT" >/dev/null
  as_root systemctl daemon-reload
  as_root chgrp "$(id -gn)" "$ENGINE_SOCKET"
  say "engine: $ENGINE_SOCKET is open to the group $(id -gn)"
}

start_engine_by_systemd() {
  remember engine "systemd $ENGINE_SOCKET"
  if ! as_root systemctl start docker.socket docker.service; then
    engine_package_is_ours || die "systemd could not start docker.service" "journalctl -u docker.service tells why"
    # On a kernel without nf_tables, for one, for which Debian's unit makes no provision.
    say "engine: systemd could not start docker.service (journalctl -u docker.service tells why); it is started by hand"
    as_root systemctl stop docker.socket docker.service || true
    start_engine_by_hand
    return
  fi
  say "engine: started docker.service"
  if engine_closed_to_us; then open_engine_socket; fi
}

# Debian's package starts the engine where systemd runs.
install_engine() {
  if [ -d /run/systemd/system ]; then remember engine "systemd $ENGINE_SOCKET"; fi
  ensure_packages engine
}

# Where find_engine found none. What runs is never stopped for it.
provide_engine() {
  if ! engine_closed_to_us; then
    say "engine: none runs here"
    # An engine of another origin that is installed but not running is started, not replaced.
    have dockerd || install_engine
  fi
  # Installing may have started it, now or in a run that was interrupted.
  if find_engine >/dev/null; then return 0; fi
  if engine_closed_to_us; then
    engine_package_is_ours ||
      die "an engine runs at $ENGINE_SOCKET, but you may not use it" \
        "run this as root, or add yourself to the socket's group: sudo usermod -aG $(stat -c %G "$ENGINE_SOCKET") $(id -un), then log in again"
    open_engine_socket
  elif [ -d /run/systemd/system ] && { [ "$(id -u)" -eq 0 ] || engine_package_is_ours; }; then
    start_engine_by_systemd
  else
    start_engine_by_hand
  fi
}

# Sets and exports DOCKER_HOST. Starts an engine only when none runs.
ensure_engine() {
  local socket
  case ${DOCKER_HOST:-unix://} in
    unix://*) ;;
    *) die "DOCKER_HOST is $DOCKER_HOST; Cupel speaks to an engine over a unix socket only" \
      "unset it, or name unix:///path" ;;
  esac
  socket=$(find_engine) || {
    provide_engine
    socket=$(find_engine) || die "the engine started but does not answer at $ENGINE_SOCKET"
  }
  export DOCKER_HOST=unix://$socket
  say "engine: $(curl -s --max-time 60 --unix-socket "$socket" http://engine/version |
    sed -n 's/.*"Components":\[{"Name":"\([^"]*\)","Version":"\([^"]*\)".*/\1 \2/p') at $socket"
}

# Stops what start_engine_* started, and nothing else.
stop_our_engine() {
  local pid
  if [ ! -r "$CUPEL_OPS_STATE/engine" ]; then return 0; fi
  if grep -q '^systemd ' "$CUPEL_OPS_STATE/engine"; then
    as_root systemctl stop docker.service docker.socket || true
  fi
  if grep -q '^socket-group ' "$CUPEL_OPS_STATE/engine"; then
    as_root rm -f "$ENGINE_SOCKET_UNIT"
    as_root rmdir --ignore-fail-on-non-empty "${ENGINE_SOCKET_UNIT%/*}" 2>/dev/null || true
    as_root systemctl daemon-reload
  fi
  # Another user's may run from the same places.
  if grep -q '^by-hand ' "$CUPEL_OPS_STATE/engine" && [ -r "$ENGINE_RUN/dockerd.pid" ]; then
    pid=$(cat "$ENGINE_RUN/dockerd.pid")
    if [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = dockerd ] &&
      tr '\0' '\n' <"/proc/$pid/cmdline" | grep -qxF -- "$ENGINE_DATA"; then
      say "engine: stopping our dockerd ($pid)"
      as_root kill "$pid"
      as_root tail --pid="$pid" -f /dev/null
    fi
  fi
  if grep -qx cgroups "$CUPEL_OPS_STATE/engine"; then
    as_root cgroupfs-umount || say "engine: the control groups stay mounted, others use them"
  fi
  rm -f "$CUPEL_OPS_STATE/engine"
}

# Whoever has a container, an image or a volume in an engine uses it.
engine_is_empty() {
  local kind
  for kind in containers images; do
    [ "$(curl -s --max-time 30 --unix-socket "$1" "http://engine/v1.41/$kind/json?all=1")" = '[]' ] || return 1
  done
  curl -s --max-time 30 --unix-socket "$1" http://engine/v1.41/volumes | grep -qE '"Volumes":(\[\]|null)'
}

# What an engine that was killed left mounted: its data directory on itself, the roots and network namespaces of its
# containers. The newest first, since one may lie on another.
unmount_below() {
  local target
  while read -r target; do
    as_root umount -l "$target" || say "engine: $target stays mounted"
  done < <(findmnt --raw --noheadings --output TARGET |
    awk -v dir="$1" '$0 == dir || index($0, dir "/") == 1' | tac)
}

# Removes the directories of the engine that we started by hand, once it has stopped.
remove_engine_data() {
  if [ -e "$ENGINE_DATA/$ENGINE_MARK" ]; then
    unmount_below "$ENGINE_DATA"
    unmount_below "$ENGINE_RUN"
    as_root rm -rf --one-file-system "$ENGINE_DATA" "$ENGINE_RUN"
  fi
}
