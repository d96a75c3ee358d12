#!/usr/bin/env bash
# Whether a release could be planned from the changesets, whatever clone this is: `changeset status` compares with the branch main, which
# a clone need not have. So it is asked in a repository of one commit, with what it reads.
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
