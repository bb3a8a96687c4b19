# Configure and build by preset. Sourced after common.sh.
# shellcheck shell=bash

# Compilers at once: one a core, and 1.5 GiB of memory each.
build_jobs() {
  local cores mib
  cores=$(nproc)
  mib=$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo)
  local by_memory=$((mib / 1536))
  [ "$by_memory" -ge 1 ] || by_memory=1
  [ "$cores" -le "$by_memory" ] || cores=$by_memory
  printf '%s\n' "${CUPEL_JOBS:-$cores}"
}

# build PRESET [TARGET...]: quiet while it goes well, the whole story when it doesn't.
build() {
  local preset=$1 log
  shift
  mkdir -p "$CUPEL_ROOT/build"
  log=$CUPEL_ROOT/build/$preset.log
  if ! (cd "$CUPEL_ROOT" && cmake --preset "$preset") >"$log" 2>&1 </dev/null; then
    tail -n 30 "$log" >&2
    say "error: configuring preset $preset failed (log: $log)"
    return 1
  fi
  if ! ninja -C "$CUPEL_ROOT/build/$preset" -j "$(build_jobs)" "$@" >>"$log" 2>&1 </dev/null; then
    grep -nE '(error|FAILED):' "$log" | tail -n 40 >&2 || true
    tail -n 15 "$log" >&2
    say "error: building preset $preset failed (log: $log)"
    return 1
  fi
  say "build: $preset is up to date ($(du -sm "$CUPEL_ROOT/build/$preset" | cut -f1) MiB in build/$preset)"
}
