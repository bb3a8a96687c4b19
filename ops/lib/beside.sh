# One step that runs beside others. Sourced after timing.sh by a script with passed, failed and skipped to add to.
# shellcheck shell=bash

beside_pid=''

# beside NAME BUDGET COMMAND...: starts it; `joined` shows its output and adds its counts.
beside() {
  beside_name=$1 beside_budget=$2
  shift 2
  beside_folder=$(mktemp -d)
  title "$beside_name: runs beside the next steps"
  set -m # a process group of its own, so that all of it can be ended
  (
    set +m
    passed=0 failed=0 skipped=0 code=0 start=$(date +%s)
    "$@" || code=$?
    printf '%s %s %s %s %s\n' "$passed" "$failed" "$skipped" "$code" $(($(date +%s) - start)) >"$beside_folder/counts"
  ) >"$beside_folder/output" 2>&1 </dev/null &
  beside_pid=$!
  set +m
  trap 'kill -TERM -- "-$beside_pid" 2>/dev/null || true' EXIT
}

joined() {
  local its_passed=0 its_failed=0 its_skipped=0 code=1 seconds=0
  [ -n "$beside_pid" ] || return 0
  wait "$beside_pid" || true
  trap - EXIT
  beside_pid=''
  title "$beside_name"
  cat "$beside_folder/output"
  read -r its_passed its_failed its_skipped code seconds <"$beside_folder/counts" || its_failed=1
  [ "$code" -eq 0 ] || [ "$its_failed" -gt 0 ] || its_failed=1
  passed=$((passed + its_passed)) failed=$((failed + its_failed)) skipped=$((skipped + its_skipped))
  timing_note "$beside_name" "$beside_budget" "$seconds" "$code" beside
  rm -rf "$beside_folder"
}
