# The built programs. Sourced after common.sh.
# shellcheck shell=bash

# Prints the directory that holds them: CUPEL_BIN_DIR, or a build of this tree.
built_programs() {
  local directory
  for directory in "${CUPEL_BIN_DIR:-}" "$CUPEL_ROOT/build/release/bin" "$CUPEL_ROOT/build/dev/bin" "$CUPEL_ROOT/build/check/bin"; do
    if [ -n "$directory" ] && [ -x "$directory/cupel-worker" ]; then
      printf '%s\n' "$directory"
      return 0
    fi
  done
  die "Cupel is not built" "ops/quickstart builds it, or: cmake --preset release && ninja -C build/release"
}
