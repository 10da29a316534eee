#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes everything that follows from the Go types in api/, deep copies and CRDs, and the manifest of the shipped definitions. The same
# input gives the same bytes.
set -eu
cd "$(dirname "$0")/.."

go tool -modfile=hack/tools.mod controller-gen object paths=./api/...
go tool -modfile=hack/tools.mod controller-gen crd paths=./api/... output:crd:dir=config/crd
go run ./hack/crd config/crd
go run ./hack/definitions config/definitions.yaml
