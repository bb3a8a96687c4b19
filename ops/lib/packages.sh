# Debian packages: installs what is missing, and says what it did. Sourced after common.sh.
# shellcheck shell=bash

PACKAGES_LIST=$CUPEL_ROOT/ops/lib/packages.list

packages_of() {
  local group
  for group in "$@"; do
    awk -v group="$group" '$1 == group { print $2 }' "$PACKAGES_LIST"
  done | sort -u
}

package_installed() {
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Installs the packages of these groups that are not there. A Go command or an npm that is there
# already, of whatever origin, stands for Debian's.
ensure_packages() {
  local missing=() package before after
  for package in $(packages_of "$@"); do
    case $package in
      golang-go) if have go; then continue; fi ;;
      npm) if have npm; then continue; fi ;;
    esac
    package_installed "$package" || missing+=("$package")
  done
  if [ ${#missing[@]} -eq 0 ]; then
    say "packages: all of [$*] are here"
    return 0
  fi
  local log
  log=$(mktemp)
  say "packages: installing ${missing[*]} (follow it: tail -f $log)"
  before=$(disk_free_mib /)
  # Before, since what an interrupted run installed is ours too. A name whose package never came is passed over.
  for package in "${missing[@]}"; do remember packages "$package"; done
  # An interrupted dpkg of an earlier, half-finished run is completed first. A machine that has just booted may be
  # upgrading itself, which is waited for.
  if ! { as_root dpkg --configure -a &&
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o Acquire::Retries=3 update &&
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Acquire::Retries=3 \
      -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 -o APT::Keep-Downloaded-Packages=false \
      install --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 </dev/null; then
    tail -n 25 "$log" >&2
    die "apt-get could not install the packages" "its whole output: $log"
  fi
  rm -f "$log"
  after=$(disk_free_mib /)
  say "packages: installed ${#missing[@]}, $((before - after)) MiB of disk"
}
