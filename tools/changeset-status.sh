#!/usr/bin/env bash
# Checks in any clone that a release can be planned from the changesets. `changeset status` compares with the branch
# main, which a clone may not have. So it runs in a temporary repository of one commit, with the files that it reads.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

root=$PWD
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cp -r --parents .changeset package.json pnpm-workspace.yaml packages/*/package.json "$dir"

cd "$dir"
git init --quiet --initial-branch=main
git add .
git -c user.name=changesets -c user.email=changesets@localhost -c commit.gpgsign=false commit --quiet --no-verify -m 'As it is'
"$root/node_modules/.bin/changeset" status
