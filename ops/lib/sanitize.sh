# What a sanitizer is told at run time, and which preset carries it. Sourced after common.sh.
# shellcheck shell=bash

# The preset `fuzz` is `asan` with the fuzz targets: one build for both.
sanitizer_preset() {
  case $1 in
    address) printf 'fuzz\n' ;;
    thread) printf 'tsan\n' ;;
    *) return 1 ;;
  esac
}

# sanitizer_environment address|thread: one NAME=VALUE a line, for `env`.
sanitizer_environment() {
  local support=$CUPEL_ROOT/tests/support
  case $1 in
    address)
      printf '%s\n' UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 \
        "LSAN_OPTIONS=suppressions=$support/lsan.supp:print_suppressions=0"
      ;;
    thread)
      printf '%s\n' "TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:ignore_noninstrumented_modules=1:suppressions=$support/tsan.supp"
      ;;
  esac
}

# sanitizer_targets PRESET: what there is of unit, simulation and wire tests; a preset may leave a kind out.
sanitizer_targets() {
  local kind known
  known=$(ninja -C "$CUPEL_ROOT/build/$1" -t targets all 2>/dev/null)
  for kind in unit sim wire; do
    ! grep -q "^cupel_tests_$kind: phony" <<<"$known" || printf 'cupel_tests_%s\n' "$kind"
  done
}
