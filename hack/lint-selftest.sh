#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Shows that the rules of .golangci.yml fire: lints hack/testdata/lint, where every line that breaks a rule
# says which one (`// want <linter>`), and fails on any difference.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The samples stand under the module's own paths, because the rules go by path.
mkdir "$work/module"
cp -R hack/testdata/lint/. "$work/module"
cp go.mod go.sum .golangci.yml "$work/module"

(cd "$work/module" && grep -rnE --include='*.go' '(//|/\*) want ' . |
	sed -E 's|^\./([^:]+:[0-9]+):.*(//\|/\*) want (\w+).*$|\1 \3|' | sort) >"$work/want"

status=0
(cd "$work/module" && go tool -modfile="$root/hack/tools.mod" golangci-lint run \
	--output.text.path="$work/out" --output.text.print-issued-lines=false --show-stats=false ./...) || status=$?
if [ "$status" -ne 1 ]; then # 1: the run was fine and found something
	cat "$work/out" >&2 || true
	echo "lint-selftest: golangci-lint ended with status $status, want 1" >&2
	exit 1
fi
sed -nE 's|^([^:]+:[0-9]+)(:[0-9]+)?: .*\((\w+)\)$|\1 \3|p' "$work/out" | sort >"$work/got"

if ! diff -u --label wanted "$work/want" --label reported "$work/got"; then
	cat "$work/out" >&2
	echo "lint-selftest: the rules do not fire as the samples say" >&2
	exit 1
fi
echo "lint-selftest: $(wc -l <"$work/want" | tr -d ' ') violations, each reported by its rule"
