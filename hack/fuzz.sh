#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every fuzz target there is for FUZZTIME, two at a time with one worker each, which is what two cores can do.
# FUZZ=<regexp> chooses targets by name. A finding fails the run; its input then stands in testdata/fuzz of the package.
set -uo pipefail
cd "$(dirname "$0")/.."
export FUZZTIME=${FUZZTIME:-60s}
logs=$(mktemp -d)
export logs
trap 'rm -rf "$logs"' EXIT

targets=$(grep -roE --include='*_test.go' '^func Fuzz\w+\(' internal |
	sed -E 's|^(.*)/[^/]+:func (\w+)\($|\1 \2|' | grep -E " .*${FUZZ:-}" | sort)
[ -n "$targets" ] || {
	echo "fuzz: there is no target${FUZZ:+ that matches $FUZZ}" >&2
	exit 1
}
# The instrumented packages are built once, before anything is timed.
for package in $(cut -d' ' -f1 <<<"$targets" | uniq); do
	go test -run '^$' -fuzz "^$(grep -m1 "^$package " <<<"$targets" | cut -d' ' -f2)\$" -fuzztime 1x -parallel=1 "./$package" >"$logs/build" 2>&1 ||
		{ cat "$logs/build"; exit 1; }
done

# By itself a worker would spend the whole minute making the first new input smaller.
one() {
	local log="$logs/${1//\//-}-$2" # two packages may have a target of one name
	if go test -run '^$' -fuzz "^$2\$" -fuzztime "$FUZZTIME" -fuzzminimizetime 1s -parallel=1 "./$1" >"$log" 2>&1; then
		local execs known
		execs=$(grep -oE 'execs: [0-9]+' "$log" | tail -n 1)
		known=$(grep -oE 'coverage: [0-9]+/[0-9]+' "$log" | tail -n 1)
		echo "ok   $2 ($1): ${execs:-no time for new inputs, baseline $known}${execs:+, $(grep -oE 'total: [0-9]+' "$log" | tail -n 1 | sed 's/total: //') inputs that reach something of their own}"
	else
		echo "FAIL $2 ($1)"
		cat "$log"
		return 1
	fi
}
export -f one
xargs -P 2 -L 1 bash -c 'one "$0" "$1"' <<<"$targets"
status=$?
[ "$status" -eq 0 ] || {
	echo "fuzz: there are findings. Keep the inputs that were written to testdata/fuzz, and fix what they show." >&2
	exit 1
}
echo "fuzz: $(wc -l <<<"$targets" | tr -d ' ') targets, $FUZZTIME each, no findings"
