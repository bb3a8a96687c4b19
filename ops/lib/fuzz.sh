# A short run of every fuzz target. Sourced after build.sh.
# shellcheck shell=bash

# fuzz_all SECONDS: all targets together take about that long on this machine. Sets FUZZ_PASSED, FUZZ_FAILED.
fuzz_all() {
  local folder=$CUPEL_ROOT/build/fuzz/fuzz targets=() target each jobs name found
  FUZZ_PASSED=0 FUZZ_FAILED=0
  for target in "$folder"/*; do [ ! -x "$target" ] || [ ! -f "$target" ] || targets+=("$target"); done
  if [ ${#targets[@]} -eq 0 ]; then
    say "fuzz: there is no target"
    FUZZ_FAILED=1
    return 1
  fi
  jobs=$(nproc)
  each=$(($1 * jobs / ${#targets[@]}))
  [ "$each" -ge 3 ] || each=3
  found=$(mktemp -d)
  # New inputs go to a folder of their own: the corpus in the tree stays as it is.
  export found each CUPEL_ROOT
  printf '%s\n' "${targets[@]}" | nice -n "${besides_nice:-0}" xargs -P "$jobs" -I TARGET bash -c '
    name=$(basename TARGET); mkdir -p "$found/$name"
    corpus=$CUPEL_ROOT/tests/fuzz/corpus/$name; [ -d "$corpus" ] || corpus=
    if TARGET -max_total_time="$each" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
      -artifact_prefix="$found/$name-crash-" "$found/$name" $corpus >"$found/$name.log" 2>&1 </dev/null
    then echo ok >"$found/$name.state"; else echo failed >"$found/$name.state"; fi' || true
  for target in "${targets[@]}"; do
    name=$(basename "$target")
    if [ "$(cat "$found/$name.state" 2>/dev/null)" = ok ]; then
      FUZZ_PASSED=$((FUZZ_PASSED + 1))
      printf 'ok    fuzz %s: %s inputs in %s s\n' "$name" \
        "$(sed -n 's/^stat::number_of_executed_units: *//p' "$found/$name.log")" "$each"
    else
      FUZZ_FAILED=$((FUZZ_FAILED + 1))
      printf 'FAIL  fuzz %s (%s)\n' "$name" "$found"
      tail -n 30 "$found/$name.log"
    fi
  done
  [ "$FUZZ_FAILED" -eq 0 ] || return 1
  rm -rf "$found"
}
