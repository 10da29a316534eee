# SPDX-License-Identifier: Apache-2.0
# Needs Go, make and git. Everything else is built from Go modules, pinned in go.mod, hack/tools.mod and hack/kubernetes/go.mod;
# only the real node and the Prometheus of the tests come from Debian's packages, where there are some.

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
SCENARIO ?= inplace
SEEDS ?= 100000
TOOL := go tool -modfile=hack/tools.mod

# No C compiler is needed, and the manager is static, so that it runs in an empty image.
# The same for every command, so that each package is compiled once.
export CGO_ENABLED := 0

BUILD := go build -buildvcs=false -ldflags '-X main.version=$(VERSION)'
BINARIES := slipway slipway-manager localcluster
# What the images of the local cluster's real node hold. They stand beside localcluster, which packs them.
IMAGE_PROGRAMS := pause server

# Only a KUBECONFIG given to make itself means the user's own cluster; one that merely stands in the environment is ignored.
# Tests never see either.
ifeq ($(origin KUBECONFIG),command line)
CLUSTER := --kubeconfig='$(KUBECONFIG)'
endif
unexport KUBECONFIG

# Another version of Kubernetes than the pinned one, for make k8s and the tests: it is built from Go modules too, beside
# the pinned one, into a folder of its own.
ifneq ($(KUBE),)
export SLIPWAY_KUBERNETES := $(KUBE)
endif

# All packages but those with a test target of their own. A package that does not load fails the target.
UNIT = packages=$$(go list ./...) && packages=$$(echo "$$packages" | grep -Ev '/test/(integration|simulation|e2e)(/|$$)') && \
	go test $(TEST_FLAGS) $(1) $$packages

.DEFAULT_GOAL := help
.NOTPARALLEL:

.PHONY: help
help: ## Show what there is
	@awk 'BEGIN {FS = ":.*## "} \
		/^##@ / {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z0-9-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Try
.PHONY: demo
demo: build ## Release an image in place on a local cluster, and show it: SCENARIO=inplace, statefulset, cells, rollout or application, KUBECONFIG=<file> for your own cluster
	bin/localcluster demo --scenario=$(SCENARIO) $(CLUSTER)

.PHONY: up
up: build ## Start the local cluster; its kubeconfig is .local/kubeconfig
	bin/localcluster up $(UP_FLAGS)

.PHONY: down
down: bin/localcluster ## Stop the local cluster
	bin/localcluster down

##@ Build
.PHONY: build
build: $(addprefix bin/,$(BINARIES) $(IMAGE_PROGRAMS)) bin/kubectl-slipway ## Build the binaries into bin/

# Go itself knows best what is up to date.
.PHONY: $(addprefix bin/,$(BINARIES))
$(addprefix bin/,$(BINARIES)): bin/%:
	@$(BUILD) -o $@ ./cmd/$*

.PHONY: $(addprefix bin/,$(IMAGE_PROGRAMS))
$(addprefix bin/,$(IMAGE_PROGRAMS)): bin/%:
	@$(BUILD) -trimpath -o $@ ./localcluster/images/$*

bin/kubectl-slipway: bin/slipway
	@ln -sf slipway $@

.PHONY: k8s
k8s: bin/localcluster ## Build the control plane's binaries into bin/k8s (the first time takes about 10 minutes): KUBE=<version> for another version
	bin/localcluster build $(if $(KUBE),--kubernetes=$(KUBE))

.PHONY: node-packages
node-packages: ## Install what the local cluster's real node needs (Debian, root); elsewhere say what is missing
	@hack/node-packages.sh

.PHONY: prometheus-package
prometheus-package: ## Unpack the Prometheus of the tests (Debian) into bin/; elsewhere say what is missing
	@hack/prometheus-package.sh

.PHONY: generate
generate: ## Write deepcopy functions, CRDs, RBAC, config/install.yaml and the drawing of states anew
	hack/generate.sh
	hack/states.sh
	$(TOOL) controller-gen rbac:roleName=slipway-manager paths="{./cmd/slipway-manager,./internal/...}" output:rbac:dir=config/rbac
	hack/install.sh

.PHONY: fmt
fmt: ## Format the Go code
	$(TOOL) golangci-lint fmt ./...

##@ Check
.PHONY: verify
verify: ## Check that generated files, formatting and modules are up to date, and vet
	hack/verify.sh
	go vet ./...

.PHONY: lint
lint: ## Check the rules of the house (.golangci.yml), and that each of them fires
	$(TOOL) golangci-lint run ./...
	hack/lint-selftest.sh

.PHONY: vuln
vuln: ## Look for known vulnerabilities that the code reaches, and say so when their database cannot be reached
	hack/vuln-selftest.sh
	hack/vuln.sh

.PHONY: fuzz
fuzz: ## Run every fuzz target for a minute each, two at a time: FUZZTIME=60s, FUZZ=<regexp> for some of them
	hack/fuzz.sh

.PHONY: test
test: build k8s node-packages prometheus-package test-unit test-simulation test-integration test-e2e ## Run all tests: unit, simulation, integration, end to end

.PHONY: test-unit
test-unit: ## Run the tests that need no API server
	@$(call UNIT)

.PHONY: test-simulation
test-simulation: ## Run the controllers in thousands of random worlds
	go test $(TEST_FLAGS) -timeout 30m ./test/simulation/...

.PHONY: soak
soak: ## Run the simulation for many more seeds: SEEDS=<n>, from FROM=<seed> on
	go test $(TEST_FLAGS) -timeout 0 ./test/simulation/application ./test/simulation/cafe ./test/simulation/cloneset ./test/simulation/inplaceset ./test/simulation/rollout ./test/simulation/statefulset -run TestRandom -seeds $(SEEDS) -from $(or $(FROM),1)

# One API server at a time is enough for two cores. No result is taken from Go's cache: it does not know that the CRDs, the
# manager or the version of Kubernetes are others than before.
.PHONY: test-integration
test-integration: k8s ## Run the tests against a real API server, and a real Prometheus where there is one (make prometheus-package): KUBE=v1.33.13
	@command -v prometheus >/dev/null || test -x bin/prometheus || echo 'there is no prometheus, so test/integration/metric is SKIPPED'
	go test $(TEST_FLAGS) -count=1 -timeout 20m -p 1 ./test/integration/...

.PHONY: test-e2e
test-e2e: build k8s ## Run the tests on the local cluster, with a real node where this machine can have one (make node-packages): KUBE=v1.33.13
	@bin/localcluster real-node --check || echo 'so all specs with the label "real node" are SKIPPED'
	go test $(TEST_FLAGS) -count=1 -timeout 30m -p 1 ./test/e2e/...

.PHONY: faults
faults: k8s ## Break everything while releases run, and print what was broken by it: FAULTS_FLAGS="--fault=errors --seed=1" (docs/faults.md)
	go run -buildvcs=false ./test/faults $(FAULTS_FLAGS)

.PHONY: test-race
test-race: ## Run the unit tests with the race detector (needs a C compiler)
	@export CGO_ENABLED=1; $(call UNIT,-race)

##@ Measure
.PHONY: bench
bench: build k8s ## Measure what releases cost, on a cluster of its own: KIND=statefulset|cafedeployment|rollouttrait|application BENCH_FLAGS="--runs=3 --pods=2000" (docs/guide/bench.md)
	go run -buildvcs=false ./test/bench $(if $(KIND),--kind=$(KIND)) $(BENCH_FLAGS)
