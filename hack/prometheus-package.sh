#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Unpacks the Prometheus server of Debian's package into bin/prometheus, for the tests of metrics. It is not installed: that would
# also start it as a service of the machine. Where that is not possible it says why and ends well: the tests that need
# it say that they are skipped, and everything else works.
set -uo pipefail
cd "$(dirname "$0")/.."
program=bin/prometheus

say() { echo "prometheus-package: $*"; }
without() {
	say "$*"
	say "so the tests on a real Prometheus are skipped on this machine; everything else works"
	exit 0
}

if command -v prometheus >/dev/null || [ -x "$program" ]; then
	say "it is there: $(command -v prometheus || echo "$program")"
	exit 0
fi
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || without "this is no Debian: put prometheus on the PATH yourself"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work" # apt downloads as another user
download() { (cd "$work" && apt-get download -q prometheus >log 2>&1); }
if ! download; then
	[ "$(id -u)" -eq 0 ] && { apt-get update -q >"$work/update" 2>&1 || say "apt-get update: $(tail -n 1 "$work/update")"; }
	download || {
		tail -n 5 "$work/log"
		without "downloading the package did not work"
	}
fi
dpkg-deb --extract "$work"/prometheus_*.deb "$work/root" || without "unpacking the package did not work"
mkdir -p bin
install -m 755 "$work/root/usr/bin/prometheus" "$program" || without "the package has no server"
say "unpacked $("$program" --version 2>&1 | head -n 1)"
