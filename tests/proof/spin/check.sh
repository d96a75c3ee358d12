#!/usr/bin/env bash
# Checks every property of the models with Spin, and that each model with a planted bug breaks one. Needs spin and gcc.
set -euo pipefail
cd "$(dirname "$0")"
here=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# check MODEL PROPERTY: prints how many states were searched; fails if the property does not hold.
check() {
  (
    cd "$work"
    spin -a "$1" > /dev/null
    gcc -O1 -w -o pan pan.c
    ./pan -a -f -m1000000 -N "$2" > out.txt 2>&1 || true
    grep -q 'errors: 0$' out.txt && grep -o '[0-9]* states, stored' out.txt | head -1
  )
}

# planted MODEL PROPERTY FROM TO: the property must not hold where FROM is TO.
planted() {
  grep -qF "$3" "$here/$1.pml" || { echo "not in $1.pml: $3"; exit 1; }
  python3 - "$here/$1.pml" "$work/planted.pml" "$3" "$4" << 'PY'
import sys
source, target, old, new = sys.argv[1:]
open(target, 'w').write(open(source).read().replace(old, new, 1))
PY
  if check "$work/planted.pml" "$2" > /dev/null; then
    echo "$1, $2: a planted bug was not found: $4"
    exit 1
  fi
  echo "$1, $2: the planted bug is found: $4"
}

holds() {
  local states
  states=$(check "$here/$1.pml" "$2") || { echo "$1, $2: does not hold"; exit 1; }
  echo "$1, $2: holds in all ${states%%,*}"
}

holds claims one_holder
holds claims done_stays
holds leases never_more
planted claims one_holder 'holds[owner] = false;' 'skip;'
planted claims done_stays ':: state == DONE && owner == me -> skip' ':: state == DONE -> owner = me'
planted leases never_more '!held[me] && count < PERMITS -> held[me] = true; count++; admitted = true' '!held[me] && count <= PERMITS -> held[me] = true; count++; admitted = true'
planted leases never_more ':: atomic { held[2] -> free(2) }' ':: false -> skip'
