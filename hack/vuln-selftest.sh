#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Shows what hack/vuln.sh makes of its answers: on a module with one function that a database of our own calls vulnerable, and
# with a database that nobody serves.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -R hack/testdata/vuln/. "$work"
failed=0
expect() { # what, status, line, arguments
	local got=0
	hack/vuln.sh "$work/module" "${@:4}" >"$work/said" 2>&1 || got=$?
	if [ "$got" -ne "$2" ] || ! grep -q "$3" "$work/said"; then
		echo "vuln-selftest: $1: ended with $got, want $2 and a line with: $3" >&2
		cat "$work/said" >&2
		failed=1
	fi
}
expect "a vulnerable function is called" 1 'Vulnerability #1: GO-2026-0001' -db "file://$work/database"
expect "nothing is known to be vulnerable" 0 'No vulnerabilities found' -db "file://$work/empty"
# Nobody listens on that port, so that the database of the tool itself is out of reach on every machine.
HTTPS_PROXY=http://127.0.0.1:1 expect "the database cannot be reached" 0 'NOT CHECKED: the database'
expect "the module cannot be loaded" 1 'govulncheck ended with status' -db "file://$work/empty" ./nowhere
[ "$failed" -eq 0 ] && echo "vuln-selftest: findings fail, and a database that cannot be reached does not"
exit "$failed"
