# make prints what there is. CI runs .ci/run, which calls these targets and README's own test command.

GO           ?= go
# The modules of this repository: the server, two of tools, a test client, tests in containers and a check of manifests, so that
# what they need is no dependency of the server.
MODULES      := . openapi/generate tools/lint integration/sdk integration/containers deploy/check
# golangci-lint is compiled once (minutes on a new machine) and then kept in Go's build cache.
LINT         := $(GO) tool -modfile=$(CURDIR)/tools/lint/go.mod golangci-lint
VERSION      ?=
IMAGE        ?= dabba
GO_IMAGE     ?= golang:1.26
BASE_IMAGE   ?= gcr.io/distroless/static-debian12:nonroot
FUZZTIME     ?= 30s
TORTURE_TIME ?= 12h
BENCH        ?= .

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

##@ Every day

.PHONY: build
build: ## bin/dabba, static
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w -X main.released=$(VERSION)" -o bin/dabba ./cmd/dabba

.PHONY: run
run: ## a server on 127.0.0.1:8080 with its messages in ./data
	$(GO) run ./cmd/dabba serve

.PHONY: test
test: ## all tests, as README says
	$(GO) test ./...

.PHONY: race
race: ## all tests with the race detector
	$(GO) test -race ./...

.PHONY: generate
generate: ## write openapi/openapi.json anew from the annotations in handlers/rest
	$(GO) generate ./openapi

.PHONY: fmt
fmt: ## format as lint wants it
	$(LINT) fmt

.PHONY: clean
clean: ## remove what building left in this folder (not ./data)
	rm -rf bin .cache
	find . -name '*.test' -type f -delete

##@ Before a commit

.PHONY: verify
verify: vet tidy-check generate-check ## everything that is checked without running a test
	$(GO) build ./...

.PHONY: vet
vet: ## go vet, in every module
	@set -e; for m in $(filter-out tools/lint,$(MODULES)); do echo "$$m: go vet ./..."; $(GO) -C $$m vet ./...; done

.PHONY: tidy-check
tidy-check: ## fail if a go.mod or go.sum is not tidy
	@set -e; for m in $(MODULES); do echo "$$m: go mod tidy -diff"; $(GO) -C $$m mod tidy -diff; done

.PHONY: generate-check
generate-check: ## fail if openapi/openapi.json is not what make generate would write
	@mkdir -p .cache
	$(GO) -C openapi/generate run . -api ../../handlers -out $(CURDIR)/.cache/openapi.json
	@cmp .cache/openapi.json openapi/openapi.json || { echo "openapi/openapi.json is stale: run make generate"; exit 1; }

.PHONY: lint
lint: ## golangci-lint with .golangci.yml, in every module
	$(LINT) run ./...
	@set -e; for m in $(filter-out . tools/lint,$(MODULES)); do echo "$$m: golangci-lint run ./..."; \
		(cd $$m && LOG_LEVEL=error $(LINT) run ./...); done

.PHONY: readme-check
readme-check: ## do what README's walk-through says, with a server of its own
	$(GO) build -o .cache/dabba ./cmd/dabba
	.ci/readme .cache/dabba

##@ Long runs

.PHONY: bench
bench: ## messages a second over HTTP, against an empty handler
	$(GO) run ./cmd/dabba bench

.PHONY: bench-parts
bench-parts: ## Go benchmarks of the parts; BENCH=regexp chooses
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem ./...

.PHONY: torture
torture: ## crashes, damage, faults and histories, as long as a night allows; DABBA_SEED=n repeats a run
	DABBA_TORTURE=1 $(GO) test -count=1 -timeout $(TORTURE_TIME) ./store/... ./engine/... ./integration/...

.PHONY: polls
polls: ## 5,000 receives that wait on one server over Redis, and how soon Redis answers meanwhile
	DABBA_TORTURE=1 $(GO) test -count=1 -v -run '^TestManyLongPollsOnRedis$$' ./integration

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (30s)
	$(GO) test -list '^Fuzz' ./... | awk '/^Fuzz/ { name[++n] = $$1 } /^ok/ { for (i = 1; i <= n; i++) print $$2, name[i]; n = 0 }' | \
	while read -r pkg name; do \
		echo "== $$pkg $$name"; $(GO) test -run '^$$' -fuzz "^$$name$$" -fuzztime $(FUZZTIME) "$$pkg" || exit 1; \
	done

##@ Container

.PHONY: docker
docker: ## the image; IMAGE, GO_IMAGE, BASE_IMAGE and VERSION may be given
	docker build --build-arg GO_IMAGE=$(GO_IMAGE) --build-arg BASE_IMAGE=$(BASE_IMAGE) --build-arg VERSION=$(VERSION) -t $(IMAGE) .

.PHONY: docker-check
docker-check: ## start the image and see that it keeps its promises
	.ci/image $(IMAGE)

# The image it needs is built unless DABBA_TEST_IMAGE names one. Without ./... go test prints what the tests say, and they
# wait more than they work.
.PHONY: containers
containers: ## nodes on Redis with replicas, Sentinel and Cluster, of which some are killed; in containers, or as processes
	cd integration/containers && $(GO) test -count=1 -parallel 4 -timeout 20m

.PHONY: help
help:
	@awk 'BEGIN { FS = ":.*## " } /^##@/ { printf "\n%s\n", substr($$0, 5) } /^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
