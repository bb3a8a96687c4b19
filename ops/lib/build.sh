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

# A compiler cache that wasn't there before us is ours to remove.
remember_compiler_cache() {
  local dir
  dir=$(ccache --get-config cache_dir 2>/dev/null) || return 0
  [ -e "$dir" ] || remember compiler_caches "$dir"
}

# configure PRESET [CMAKE_ARGUMENT...]: quiet while it goes well.
configure() {
  local preset=$1 log=$CUPEL_ROOT/build/$1.log
  mkdir -p "$CUPEL_ROOT/build"
  remember_compiler_cache
  if ! (cd "$CUPEL_ROOT" && cmake --preset "$@") >"$log" 2>&1 </dev/null; then
    tail -n 30 "$log" >&2
    say "error: configuring preset $preset failed (log: $log)"
    return 1
  fi
}

# compile PRESET [TARGET...]: after configure; quiet while it goes well, the whole story when it doesn't.
# With besides_nice=N the compilers stand back behind what runs beside them.
compile() {
  local preset=$1 log=$CUPEL_ROOT/build/$1.log
  shift
  say "build: compiling $preset, minutes when it is new (follow it: tail -f $log)"
  if ! nice -n "${besides_nice:-0}" ninja -C "$CUPEL_ROOT/build/$preset" -j "$(build_jobs)" "$@" >>"$log" 2>&1 </dev/null; then
    grep -nE '(error|FAILED):' "$log" | tail -n 40 >&2 || true
    tail -n 15 "$log" >&2
    say "error: building preset $preset failed (log: $log)"
    return 1
  fi
  say "build: $preset is up to date ($(du -sm "$CUPEL_ROOT/build/$preset" | cut -f1) MiB in build/$preset)"
}

# build PRESET [TARGET...]
build() { configure "$1" && compile "$@"; }
