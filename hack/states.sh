#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Draws the states of a rollout from the engine's table: docs/states/rollout.dot, and the picture of it when that has changed.
# Only the picture needs Node.js and npm.
set -eu
cd "$(dirname "$0")/.."
dot=docs/states/rollout.dot
svg=docs/states/rollout.svg
go run ./hack/states "$dot"
if grep -qs "made from sha256 $(sha256sum "$dot" | cut -d' ' -f1)" "$svg"; then
	exit 0
fi
command -v npm >/dev/null || {
	echo "states: $svg has to be drawn anew, which needs Node.js and npm" >&2
	exit 1
}
npm ci --prefix hack/states --silent --no-audit --no-fund
node hack/states/svg.mjs "$dot" "$svg"
