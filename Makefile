# Copyright The kueue-fleet Authors.
# SPDX-License-Identifier: Apache-2.0

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# go build leaves a binary alone that is up to date, so targets that build are
# always asked, and cost what changed.
VERSION := $(shell cat VERSION)
COMMIT := $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
DATE := $(shell TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd 2>/dev/null || echo unknown)
SERIES = $(words $(wildcard patches/*.patch))@$(shell cat patches/*.patch | sha256sum | cut -c1-12)

KUEUE_VERSION_PKG := sigs.k8s.io/kueue/pkg/version
LDFLAGS = -s -w \
	-X $(KUEUE_VERSION_PKG).GitVersion=$(VERSION) \
	-X $(KUEUE_VERSION_PKG).GitCommit=$(COMMIT) \
	-X $(KUEUE_VERSION_PKG).BuildDate=$(DATE) \
	-X fleet.ai/kueue-fleet/pkg/version.patchSeries=$(SERIES)

BIN := $(CURDIR)/bin
# Before third_party/kueue exists, the workspace can't be loaded.
FLEET_PATCH = GOWORK=off go run ./cmd/fleet-patch
FLEET_IMAGE = go run ./cmd/fleet-image
IMAGE_DIR := $(CURDIR)/artifacts/image
PLATFORMS := linux/amd64,linux/arm64
TOOL_MODULE = GOWORK=off go build -modfile=hack/tools/go.mod
MODEL_SEQUENCES := 3000
MODEL_SEQUENCES_LONG := 100000
UNIT_PACKAGES := ./apis/... ./cmd/... ./hack/... ./internal/... ./pkg/... ./test/docs ./test/model/removal ./test/perf/... ./test/upstream/...

##@ Run

.PHONY: run
run: sandbox-deps ## Play a scenario on the local fleet and report (SCENARIO=name, default: default; KEEP=1 keeps it up).
	@$(BIN)/fleet-sandbox run --kueue-bin $(BIN)/kueue-fleet $(if $(filter 1,$(KEEP)),--keep) $(SCENARIO)

.PHONY: down
down: $(BIN)/fleet-sandbox ## Stop a local fleet that was kept up, or that crashed.
	@$(BIN)/fleet-sandbox down

##@ Build

.PHONY: build
build: $(BIN)/kueue-fleet $(BIN)/fleet-sandbox ## Build the manager and the local fleet into bin/.

.PHONY: kubectl-fleet
kubectl-fleet: $(BIN)/kubectl-fleet ## Build the kubectl plugin into bin/.

.PHONY: vendor
vendor: ## Fetch and verify Kueue, apply the patches (third_party/kueue).
	@$(FLEET_PATCH) vendor

.PHONY: controlplane
controlplane: ## Build etcd, the Kubernetes control plane and kwok from source, into a cache outside the checkout.
	@GOWORK=off go run ./hack/controlplane

$(BIN)/kueue-fleet: vendor FORCE
	@go build -ldflags '$(LDFLAGS)' -o $@ ./cmd/kueue-fleet

$(BIN)/kubectl-fleet: vendor FORCE
	@go build -ldflags '$(LDFLAGS)' -o $@ ./cmd/kubectl-fleet

$(BIN)/fleet-sandbox: vendor FORCE
	@go build -o $@ ./cmd/fleet-sandbox

$(BIN)/helm: hack/helm/go.mod
	@GOWORK=off go build -trimpath -modfile=hack/helm/go.mod -o $@ helm.sh/helm/v4/cmd/helm
	@touch $@

.PHONY: sandbox-deps
sandbox-deps: build controlplane

.PHONY: image
image: vendor ## Build the container images into artifacts/image, without a container engine (PLATFORMS=linux/amd64 for one).
	@$(FLEET_IMAGE) build --out $(IMAGE_DIR) --platform '$(PLATFORMS)' --version '$(VERSION)' --revision '$(COMMIT)' --date '$(DATE)' --series '$(SERIES)' --ldflags '$(LDFLAGS)'

.PHONY: image-push
image-push: ## Build and push the images: make image-push REF=REGISTRY/REPOSITORY:TAG.
	@test -n '$(REF)' || { echo 'REF is empty: want make image-push REF=REGISTRY/REPOSITORY:TAG'; exit 1; }
	@$(MAKE) --no-print-directory image
	@$(FLEET_IMAGE) push --layout $(IMAGE_DIR)/oci '$(REF)'

.PHONY: chart
chart: vendor ## Merge Kueue's chart with ours into a package in artifacts/chart.
	@go run ./cmd/fleet-chart --out $(CURDIR)/artifacts/chart --version '$(VERSION)' --revision '$(COMMIT)' --date '$(DATE)' --series '$(SERIES)'

.PHONY: image-rootfs
image-rootfs: vendor # What the Dockerfile calls: the image's content for linux/$(ARCH) into OUT.
	@$(FLEET_IMAGE) rootfs --platform 'linux/$(ARCH)' --out '$(OUT)' --ldflags '$(LDFLAGS)'

##@ Test

.PHONY: test
test: ## Run every test that a change must pass, and print what each phase took.
	@MAKE='$(MAKE)' hack/phases.sh vendor build controlplane patches-lint test-unit test-model test-fit test-integration test-dropin test-chart test-metrics test-kubectl test-sandbox test-upstream-core

.PHONY: test-unit
test-unit: vendor ## Run the unit tests of our own packages.
	@go test -race $(UNIT_PACKAGES)

.PHONY: test-model
test-model: vendor ## Run random sequences against the real scheduler, with the invariants checked after each step.
	@go test -count=1 ./test/model -sequences $(MODEL_SEQUENCES)
	@go test -count=1 ./test/model -sequences 300 -elastic-fit

.PHONY: test-model-long
test-model-long: vendor ## Run many more random sequences (long: it is not part of make test).
	@go test -count=1 -timeout 0 ./test/model -run TestModel -sequences $(MODEL_SEQUENCES_LONG) -failures 10

.PHONY: test-removal
test-removal: vendor ## Undo each patch by itself, and write down which sequence and which tests miss it (long).
	@go run ./test/model/removal -write docs/elastic-placement.md

# Kueue's test framework looks for its CRDs and webhooks beside this file.
INTEGRATION = KUBEBUILDER_ASSETS=$$(GOWORK=off go run ./hack/controlplane) PROJECT_DIR=$(CURDIR)/third_party/kueue/go.mod go test -count=1 -timeout 15m

.PHONY: test-integration
test-integration: vendor controlplane ## Run our features on a real API server, with Kueue's controllers and webhooks.
	@$(INTEGRATION) -p 1 ./test/integration/... --ginkgo.label-filter='!measure'

.PHONY: measure-readiness
measure-readiness: vendor controlplane ## Count what the readiness of 200 steady RayJobs of 20 pods costs (not part of make test).
	@$(INTEGRATION) ./test/integration/readinessrecovery --ginkgo.label-filter=measure -v

.PHONY: test-fit
test-fit: vendor ## Compare the fit engine with Kueue's algorithm on 60,000 random requests.
	@go test -count=1 ./pkg/elasticfit/kueueadapter -run TestEqualsUpstream -instances 60000

.PHONY: test-fit-equality
test-fit-equality: vendor ## Compare the fit engine with Kueue's algorithm on a million random requests (SEED=n for others).
	@go test -count=1 -v -timeout 60m ./pkg/elasticfit/kueueadapter -run TestEqualsUpstream -instances 1000000 -seed $(or $(SEED),1) | grep -v -e '=== ' -e 'Updated featureGates' -e '    --- PASS'

.PHONY: test-dropin
test-dropin: build controlplane ## Compare the manager with upstream's, as programs.
	@KUEUE_FLEET_BIN=$(BIN)/kueue-fleet go test -count=1 -timeout 15m ./test/dropin/...

.PHONY: test-sandbox
test-sandbox: sandbox-deps ## Run the local fleet as a user does, and kill it in the middle.
	@KUEUE_FLEET_BIN=$(BIN)/kueue-fleet FLEET_SANDBOX_BIN=$(BIN)/fleet-sandbox go test -count=1 -timeout 15m ./test/sandbox/...

.PHONY: test-scenarios
test-scenarios: sandbox-deps ## Play every scenario on the local fleet (long: it is not part of make test).
	@$(BIN)/fleet-sandbox run --kueue-bin $(BIN)/kueue-fleet --out artifacts/scenarios --all

.PHONY: test-chart
test-chart: build controlplane $(BIN)/helm ## Compare the chart with upstream's, and install, swap and roll back on a real API server.
	@KUEUE_FLEET_BIN=$(BIN)/kueue-fleet HELM_BIN=$(BIN)/helm go test -count=1 -timeout 15m ./test/chart

.PHONY: test-swap
test-swap: build controlplane ## Swap the manager under load and back, as a rolling update does.
	@KUEUE_FLEET_BIN=$(BIN)/kueue-fleet go test -count=1 -timeout 15m ./test/swap

.PHONY: test-metrics
test-metrics: build controlplane $(BIN)/helm ## Read the metrics of the running manager, and run every query of dashboards and alerts on them.
	@KUEUE_FLEET_BIN=$(BIN)/kueue-fleet HELM_BIN=$(BIN)/helm go test -count=1 -timeout 10m ./test/chart -run TestMetricsTellWhatHappens
	@cd test/dashboards && GOWORK=off go test -count=1 .

.PHONY: test-kubectl
test-kubectl: vendor controlplane ## Run the kubectl plugin against a real API server, as a user who may only read.
	@go test -count=1 -timeout 10m ./test/kubectl

.PHONY: test-image
test-image: image controlplane ## Build the images twice, compare them, and run the manager out of one (long: it is not part of make test).
	@$(MAKE) --no-print-directory image IMAGE_DIR=$(CURDIR)/artifacts/image-again
	@go test -count=1 -timeout 15m ./test/image

.PHONY: test-workgroup
test-workgroup: build controlplane ## Run worker groups against a real API server, with KubeRay's own reconcilers (not part of make test yet).
	@KUEUE_FLEET_BIN=$(BIN)/kueue-fleet go test -count=1 -timeout 15m ./test/workgroup

.PHONY: test-upstream-core
test-upstream-core: vendor controlplane ## Run Kueue's own suites that our patches could break.
	@go run ./test/upstream --set core

.PHONY: test-upstream
test-upstream: vendor controlplane ## Run all of Kueue's own unit tests and integration suites (long: it is not part of make test).
	@go run ./test/upstream --set all

.PHONY: test-upstream-gates
test-upstream-gates: vendor controlplane ## Run the core set with fleet gates on, and with the fit engine (long: it is not part of make test).
	@go run ./test/upstream --set core --gates FleetElasticConstrainedTopology=true,FleetPromptAdmission=true
	@go run ./test/upstream --set core --elastic-fit

##@ Measure

.PHONY: perf
perf: vendor ## Measure placement and snapshots, Kueue's algorithm and the fit engine in turn (minutes).
	@go run ./test/perf -nodes 24,640,2500,10000

.PHONY: perf-admission
perf-admission: build ## Measure admission latency end to end: upstream, ours with gates off, and with gates on (30 minutes).
	@go run ./test/perf/admission

##@ Patches

.PHONY: patches-status
patches-status: vendor ## Show the patches by class, size and age.
	@$(FLEET_PATCH) status

.PHONY: patches-lint
patches-lint: ## Check the patches' names, headers, sizes and that they apply without offsets.
	@$(FLEET_PATCH) lint

.PHONY: patches-refresh
patches-refresh: ## Export the commits of third_party/kueue to patches/.
	@$(FLEET_PATCH) refresh

##@ Verify

.PHONY: generate
generate: ## Generate code and documents.
	@$(TOOL_MODULE) -o $(BIN)/controller-gen sigs.k8s.io/controller-tools/cmd/controller-gen
	@$(BIN)/controller-gen object:headerFile=hack/boilerplate.go.txt paths=./apis/...
	@$(BIN)/controller-gen rbac:roleName=fleet-manager-role output:rbac:dir=charts/kueue-fleet/rbac paths=./pkg/...

.PHONY: lint
lint: vendor ## Run the linters.
	@$(TOOL_MODULE) -o $(BIN)/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@$(BIN)/golangci-lint run ./...

.PHONY: verify
verify: generate lint patches-lint ## Generate, lint, and fail if that changed a file.
	@git diff --exit-code || { echo 'generated files are out of date: commit the changes above'; exit 1; }
	@test -z "$$(git status --porcelain)" || { git status --short; echo 'the tree is not clean'; exit 1; }

.PHONY: clean
clean: ## Remove what was built in the checkout. The cache of built control planes stays.
	@rm -rf bin artifacts third_party

.PHONY: help
help: ## List the targets.
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*## / {printf "  %-22s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

FORCE:
