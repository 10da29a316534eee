#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fails when generated files, formatting or go.mod are not what they should be. Generated files are left as they should be.
set -euo pipefail
cd "$(dirname "$0")/.."
before=$(mktemp -d)
trap 'rm -rf "$before"' EXIT
failed=0
fail() {
	echo "verify: $*" >&2
	failed=1
}

# Compared with the files as they stood, not with a commit, so that it also helps before a commit.
generated=(api config docs/states)
cp -R --parents "${generated[@]}" "$before"
make --no-print-directory generate >/dev/null
for dir in "${generated[@]}"; do
	diff -ru "$before/$dir" "$dir" || fail "$dir was not up to date; commit what make generate wrote"
done

unformatted=$(gofmt -l .)
[ -z "$unformatted" ] || fail "not formatted, run make fmt:"$'\n'"$unformatted"

go mod tidy -diff || fail "go.mod is not tidy; run go mod tidy"

exit "$failed"
