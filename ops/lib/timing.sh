# Where the time went. Sourced after common.sh.
# shellcheck shell=bash

TIMING_NAMES=()
TIMING_SECONDS=()
TIMING_BUDGETS=()
TIMING_STATES=()

# timed NAME BUDGET_SECONDS COMMAND...: runs it, notes its time and whether it went well; its exit code.
timed() {
  local name=$1 budget=$2 start code=0
  shift 2
  start=$(date +%s)
  title "$name"
  "$@" || code=$?
  TIMING_NAMES+=("$name")
  TIMING_BUDGETS+=("$budget")
  TIMING_SECONDS+=($(($(date +%s) - start)))
  if [ "$code" -eq 0 ]; then TIMING_STATES+=(ok); else TIMING_STATES+=("failed ($code)"); fi
  return "$code"
}

timing_table() {
  local i total=0 budget=0 shown
  printf '\n%-34s %9s %9s  %s\n' step seconds budget state
  for i in "${!TIMING_NAMES[@]}"; do
    total=$((total + TIMING_SECONDS[i]))
    budget=$((budget + TIMING_BUDGETS[i]))
    shown=${TIMING_BUDGETS[i]}
    [ "$shown" -gt 0 ] || shown=-
    printf '%-34s %9s %9s  %s\n' "${TIMING_NAMES[i]}" "${TIMING_SECONDS[i]}" "$shown" "${TIMING_STATES[i]}"
  done
  [ "$budget" -gt 0 ] || budget=-
  printf '%-34s %9s %9s\n' total "$total" "$budget"
}
