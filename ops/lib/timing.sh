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
  timing_note "$name" "$budget" $(($(date +%s) - start)) "$code"
  return "$code"
}

# timing_note NAME BUDGET SECONDS CODE [WORDS]
timing_note() {
  TIMING_NAMES+=("$1")
  TIMING_BUDGETS+=("$2")
  TIMING_SECONDS+=("$3")
  if [ "$4" -eq 0 ]; then TIMING_STATES+=("ok${5:+, $5}"); else TIMING_STATES+=("failed ($4)${5:+, $5}"); fi
}

timing_table() {
  local i budget=0 shown
  printf '\n%-34s %9s %9s  %s\n' step seconds budget state
  for i in "${!TIMING_NAMES[@]}"; do
    budget=$((budget + TIMING_BUDGETS[i]))
    shown=${TIMING_BUDGETS[i]}
    [ "$shown" -gt 0 ] || shown=-
    printf '%-34s %9s %9s  %s\n' "${TIMING_NAMES[i]}" "${TIMING_SECONDS[i]}" "$shown" "${TIMING_STATES[i]}"
  done
  [ "$budget" -gt 0 ] || budget=-
  # Of the clock: what ran beside something else doesn't count twice.
  printf '%-34s %9s %9s\n' total "$SECONDS" "$budget"
}
