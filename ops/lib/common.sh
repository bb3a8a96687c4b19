# Words shared by the scripts of ops/. Sourced, never run.
# shellcheck shell=bash
set -euo pipefail

# shellcheck disable=SC2034 # of all who source this
CUPEL_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# What the scripts remember about this machine: what they installed and started.
CUPEL_OPS_STATE=${XDG_STATE_HOME:-$HOME/.local/state}/cupel/ops

# A user's own has no programs of root's in it, which are looked for here and run by sudo.
PATH=$PATH:/usr/sbin:/sbin

say() { printf '%s\n' "$*" >&2; }
title() { printf '\n== %s\n' "$*" >&2; }
die() {
  printf 'error: %s\n' "$1" >&2
  [ $# -lt 2 ] || printf '  %s\n' "$2" >&2
  exit 1
}
have() { command -v "$1" >/dev/null 2>&1; }

# Runs a command as root: as it is, or by sudo.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif have sudo; then
    sudo "$@"
  else
    die "this step needs root: $*" "run the script as root, or install sudo"
  fi
}

disk_free_mib() { df -Pm "${1:-/}" | awk 'NR == 2 { print $4 }'; }

# require_disk MIB WHY TREE...: what a whole run takes, less what earlier ones left in these build trees. A disk that fills up
# in the middle looks like anything but that.
require_disk() {
  local need=$1 why=$2 free tree size
  shift 2
  free=$(disk_free_mib "$CUPEL_ROOT")
  for tree in "$@"; do
    size=$({ du -sm "$CUPEL_ROOT/build/$tree" 2>/dev/null || true; } | awk '{ print $1 }')
    need=$((need - ${size:-0}))
  done
  [ "$free" -ge "$need" ] || die "only $free MiB of disk are free here, and $need MiB are needed" "$why"
}

require_platform() {
  [ "$(uname -sm)" = "Linux x86_64" ] ||
    die "Cupel runs on linux/amd64; this is $(uname -sm)" "other machines are not tested yet"
  local id='' version=''
  if [ -r /etc/os-release ]; then
    id=$(. /etc/os-release && printf '%s' "${ID:-}")
    version=$(. /etc/os-release && printf '%s' "${VERSION_ID:-}")
  fi
  if [ "$id" != debian ] || [ "$version" != 12 ]; then
    die "these scripts install packages of Debian 12; this is ${id:-an unknown system} ${version}" \
      "docs/operations.md says how to build elsewhere"
  fi
}

remember() {
  mkdir -p "$CUPEL_OPS_STATE"
  printf '%s\n' "$2" >>"$CUPEL_OPS_STATE/$1"
}
