#!/usr/bin/env bash
# Checks whether the packages are as tools expect them, and whether their types are found. Prints what is wrong. Packs
# all packages at once, and each of them once: publint and attw would take longer to pack than to check.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PATH=$PWD/node_modules/.bin:$PATH

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
pnpm --filter './packages/*' --filter '!spillway-testkit' pack --pack-destination "$dir" >/dev/null

check() {
  said=$(publint --strict "$1" 2>&1 && attw --profile node16 --format ascii "$1" 2>&1) && return
  printf '%s\n%s\n' "$1" "$said"
  return 1
}
export -f check
printf '%s\0' "$dir"/*.tgz | xargs -0 -P 2 -I {} bash -c 'check {}'
