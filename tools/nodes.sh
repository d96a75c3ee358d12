#!/usr/bin/env bash
# Runs tests on other versions of Node, which come from npm and are unpacked into the repository's cache (0.5 GB).
#
#   nodes.sh              the calendar tests: time zones come from the Intl of Node, and Node 26 has Temporal
#   nodes.sh FILE ...     other test files
#   NODES=26 nodes.sh     on this version only
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

CACHE=node_modules/.cache/spillway/nodes
CALENDARS=(packages/core/test/calendar tests/conformance/calendar-as-temporal.test.ts)

# fetch VERSION: puts the program of the newest Node of this major version into the cache.
fetch() {
  local work
  work=$CACHE/$1.$$
  mkdir -p "$work"
  npm pack --silent --pack-destination "$work" "node-$(node -p 'process.platform + "-" + process.arch')@$1" >/dev/null
  tar -x -z -C "$work" --strip-components=2 -f "$work"/*.tgz package/bin/node
  rm "$work"/*.tgz
  mv -T "$work" "$CACHE/$1"
}

for version in ${NODES:-20 22 24 26}; do
  [[ -d $CACHE/$version ]] || fetch "$version"
  node=$CACHE/$version/node
  "$node" -p '`Node ${process.versions.node}, time zones of ${process.versions.tz}, Temporal: ${typeof Temporal}`'
  "$node" node_modules/vitest/vitest.mjs run --reporter=dot "${@:-${CALENDARS[@]}}"
done
