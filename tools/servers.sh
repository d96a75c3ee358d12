#!/usr/bin/env bash
# Downloads further servers for the tests, besides the one on PATH. Nothing is installed: servers and their libraries
# are unpacked into a folder, with a start script for each.
#
#   servers.sh                 Redis 8 and Valkey 8 of Debian 13, into the repository's cache. This needs the apt of a
#                              Debian. Without it, prints a message, and the tests run on the servers that exist.
#   servers.sh IMAGE FOLDER    the server of a container image, such as valkey/valkey:8. Prints the path of the script
#                              that starts it: the value for SPILLWAY_REDIS_SERVER.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

CACHE=node_modules/.cache/spillway/servers
SUITE=trixie
LIBRARIES=(libatomic1 libc6 libcap2 libgcc-s1 libjemalloc2 liblzf1 libssl3t64 libstdc++6 libsystemd0 libzstd1 zlib1g)

# write_starter FOLDER NAME PROGRAM: a script that runs a program of FOLDER/root with the libraries and the loader there.
write_starter() {
  cat >"$1/$2" <<STARTER
#!/bin/sh
root=\$(dirname "\$0")/root
lib=\$(echo "\$root"/usr/lib/*-linux-gnu)
exec "\$lib"/ld-linux*.so.* --library-path "\$lib" --argv0 "\$0" "\$root/$3" "\$@"
STARTER
  chmod +x "$1/$2"
  "$1/$2" --version >&2
}

from_image() {
  local image=$1 folder=$2 container name
  mkdir -p "$folder/root"
  container=$(docker create "$image")
  docker export "$container" | tar -x -C "$folder/root" usr
  docker rm "$container" >/dev/null
  name=$(cd "$folder/root/usr/local/bin" && ls -d redis-server valkey-server 2>/dev/null | tail -n 1)
  write_starter "$folder" "$name" "usr/local/bin/$name"
  realpath "$folder/$name"
}

# The Debian mirrors of this machine, for another release of Debian.
sources() {
  local key=/usr/share/keyrings/debian-archive-keyring.gpg
  apt-get indextargets --no-release-info --format '$(REPO_URI)' 'Created-By: Packages' |
    sed -nE "s,^\S+/debian/?\$,deb [signed-by=$key] & $SUITE main,p
             s,^\S+/debian-security/?\$,deb [signed-by=$key] & $SUITE-security main,p" | sort -u
}

from_debian() {
  local work name options
  work=$PWD/$CACHE/making.$$
  trap "rm -rf '$work'" EXIT
  mkdir -p "$work"/{lists/partial,archives/partial,debs,servers/root}
  sources >"$work/sources.list"
  [[ -s $work/sources.list ]] || return 1
  options=(-qq -o APT::Sandbox::User=root -o Acquire::Retries=2 -o Acquire::http::Timeout=20
    -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o Dir::State::Lists="$work/lists" -o Dir::Cache="$work")
  timeout 60 apt-get "${options[@]}" update
  (cd "$work/debs" && timeout 60 apt-get "${options[@]}" download redis-tools valkey-tools "${LIBRARIES[@]}")
  for deb in "$work"/debs/*.deb; do dpkg-deb -x "$deb" "$work/servers/root"; done
  # In Debian's packages, the servers are links to these programs, which are servers if they are started by this name.
  for name in redis valkey; do write_starter "$work/servers" "$name-server" "usr/bin/$name-check-rdb"; done
  mv -T "$work/servers" "$CACHE/$SUITE"
}

no_others() {
  echo "No other servers ($1). The tests run on what there is."
}

if [[ $# -eq 2 ]]; then
  from_image "$@"
elif [[ -d $CACHE/$SUITE ]]; then
  echo "there already: $(cd "$CACHE/$SUITE" && echo *-server)"
elif [[ -n ${SPILLWAY_NO_INSTALL:-} ]]; then
  no_others 'SPILLWAY_NO_INSTALL forbids to bring them'
elif ! command -v apt-get dpkg-deb >/dev/null; then
  no_others 'they come from packages of Debian'
else
  from_debian & # not called in a condition, where `set -e` has no effect
  wait $! || no_others 'they could not be fetched'
fi
