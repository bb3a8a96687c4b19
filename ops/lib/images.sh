# Toolchain images: what these scripts brought onto the engine is remembered. Sourced after engine.sh.
# shellcheck shell=bash

# Ids of the toolchain images that the engine holds, one a line.
image_ids() {
  local socket
  socket=$(find_engine) || return 0
  curl -s --max-time 30 --unix-socket "$socket" -G "http://engine/v1.41/images/json" \
    --data-urlencode 'filters={"label":["cupel.image.identity"]}' |
    grep -oE '"Id":"sha256:[0-9a-f]{64}"' | cut -d'"' -f4 | sort -u || true
}

# build_images CUPEL ARGUMENT...: `cupel image build` with these arguments.
build_images() {
  local before built=0 id cupel=$1
  shift
  before=$(image_ids)
  "$cupel" image build "$@" || built=$?
  for id in $(image_ids); do
    grep -qx "$id" <<<"$before" || remember images "$id"
  done
  return "$built"
}
