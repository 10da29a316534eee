#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what the local cluster's real node runs on, from Debian's packages. Where that is not possible it says why
# and ends well: all that needs a real node says that it is skipped, and everything else works.
set -uo pipefail

# As tried, on Debian 12. A distribution replaces a version when it has a fix for it, so any other one that it has is
# taken with a warning.
packages=(
	containerd=1.6.20~ds1-1+deb12u3
	runc=1.1.5+ds1-1+deb12u1
	containernetworking-plugins=1.1.1+ds1-3+b5
	iproute2=6.1.0-3
)

say() { echo "node-packages: $*"; }
without() {
	say "$*"
	say "so there will be no real node on this machine; everything else works"
	exit 0
}

missing=()
for pinned in "${packages[@]}"; do
	name=${pinned%%=*}
	dpkg-query --show --showformat='${db:Status-Status}' "$name" 2>/dev/null | grep -qx installed || missing+=("$pinned")
done
if command -v dpkg-query >/dev/null && [ ${#missing[@]} -eq 0 ]; then
	say "everything is installed"
	exit 0
fi
command -v apt-get >/dev/null || without "this is no Debian: install containerd, runc, the CNI plugins (in /usr/lib/cni) and iproute2 yourself"
[ "$(id -u)" -eq 0 ] || without "installing ${missing[*]} needs root"

log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt-get update -q >"$log" 2>&1 || say "apt-get update: $(tail -n 1 "$log")"

wanted=()
for pinned in "${missing[@]}"; do
	name=${pinned%%=*} version=${pinned#*=}
	if apt-cache madison "$name" | awk '{print $3}' | grep -qxF "$version"; then
		wanted+=("$pinned")
	else
		say "version $version of $name was superseded; taking $(apt-cache policy "$name" | awk '/Candidate:/ {print $2}')"
		wanted+=("$name")
	fi
done
# Where systemd runs, Debian starts a containerd of its own. The local cluster starts another, and neither disturbs the other.
if ! DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends --no-upgrade "${wanted[@]}" >"$log" 2>&1; then
	tail -n 20 "$log"
	without "installing ${wanted[*]} did not work"
fi
say "installed ${wanted[*]}"
