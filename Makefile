SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
export PATH := $(PATH):/usr/local/go/bin
export CGO_ENABLED := 0

GOLANGCI_VERSION := v2.15.0
TOOLS    := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/berth-tools
GOLANGCI := $(TOOLS)/golangci-lint-$(GOLANGCI_VERSION)/golangci-lint
# What `go ./...` doesn't see: packages of our own below a testdata folder.
EXTRA    := ./testdata/mcp/... ./testdata/standin/...
BUILD    := go build -trimpath
# The folder that is copied into the sample's image.
OVERLAY  := bin/overlay

help: ## this list
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

## Running

run: prereqs build ## build the image, run the sample eval on rootless Podman, print its table
	@scripts/run-sample

image: prereqs build ## only build the sample's image
	@scripts/run-sample --image

## Building

build: ## bin/berth, the workers that go into images, the sample's MCP server, and the stand-in for ChatGPT
	@mkdir -p bin $(OVERLAY)/opt/berth-sample
	@$(BUILD) -o bin/berth ./cmd/berth
	@for arch in amd64 arm64; do GOOS=linux GOARCH=$$arch $(BUILD) -o bin/berth-worker-linux-$$arch ./cmd/berth-worker; done
	@GOOS=linux $(BUILD) -o $(OVERLAY)/opt/berth-sample/notes ./testdata/mcp/notes
	@testdata/standin/package bin/chatgpt-standin.deb

cross: ## see that everything builds for linux/amd64, linux/arm64 and darwin/arm64
	@for t in linux/amd64 linux/arm64 darwin/arm64; do echo "building for $$t"; GOOS=$${t%/*} GOARCH=$${t#*/} go build ./...; done

generate: ## make the generated files again
	@go generate ./...

clean: ## remove what was built here; images and caches stay
	@rm -rf bin

## Checking

test: prereqs-tests build ## every test, as an unprivileged user, with a summary of what was skipped and why
	@scripts/test

test-vm: prereqs-vm build ## limits, on a virtual machine with systemd: rootless engines enforce them there
	@scripts/vm/test

test-containerd: prereqs-tests build ## root's tests on a containerd 2 (CONTAINERD=v2.1.0 for another), as root
	@scripts/test-containerd $(CONTAINERD)

check: ## format, vet, import directions and the unit tests; no engine needed
	@unformatted=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
	  [ -z "$$unformatted" ] || { echo "not gofmt'ed (make fmt):"; echo "$$unformatted"; exit 1; }
	@go vet ./... $(EXTRA)
	@if [ -x $(GOLANGCI) ]; then $(GOLANGCI) run --allow-parallel-runners; else echo "golangci-lint $(GOLANGCI_VERSION) isn't installed ('make lint' does it); the import directions are tested all the same"; fi
	@go test -short ./... $(EXTRA)

spectest: ## hold Podman's create request against Podman's own type; `make test` does it too
	@scripts/spectest

lint: $(GOLANGCI) ## golangci-lint, built once and kept in the user's cache
	@$(GOLANGCI) run --allow-parallel-runners

fmt: ## gofmt everything
	@gofmt -w $$(git ls-files -co --exclude-standard '*.go')

$(GOLANGCI):
	@echo "building golangci-lint $(GOLANGCI_VERSION), once; this takes some minutes"
	@GOBIN=$(@D) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)

prereqs: ## install what's missing for building and running, or say what is
	@scripts/prereqs

prereqs-tests:
	@scripts/prereqs --tests

prereqs-vm:
	@scripts/prereqs --vm

## Measuring

BENCH := scripts/run-bench

bench-channel: bench-build ## a command and files through the channel, beside podman exec and podman cp
	@$(BENCH) channel

bench-start: bench-build ## a shard up to its open channel, beside podman run
	@$(BENCH) start

bench-run: bench-build ## what berth adds to a trial, step by step
	@$(BENCH) run

bench-memory: bench-build ## what a shard takes while Codex is at work
	@$(BENCH) memory

bench-session: prereqs-bench bench-tool ## a desktop from start to ready, beside a shell script
	@$(BENCH) session

bench-atspi: prereqs-bench bench-tool ## a window's tree, beside a walk through libatspi in Python
	@$(BENCH) atspi

bench-backend: prereqs-bench bench-build ## each engine through berth, beside its own command line and Docker's
	@$(BENCH) backend

bench-chatgpt: prereqs-bench bench-tool ## from the app's start to a prompt sent, the app's time and the driver's
	@$(BUILD) -o bin/chatgpt-standin ./testdata/standin/chatgpt
	@$(BENCH) chatgpt

soak: prereqs-bench bench-build ## 500 trivial shards one at a time and 20 at a time, on each rootless engine: nothing may grow
	@$(BENCH) soak-podman -runs 500 -warmup 40
	@$(BENCH) soak-containerd -runs 500 -warmup 40

prereqs-bench:
	@scripts/prereqs --bench

bench-build: prereqs build bench-tool

bench-tool:
	@mkdir -p bin
	@$(BUILD) -o bin/bench ./scripts/bench

.PHONY: help run image build cross generate clean test test-vm test-containerd spectest check lint fmt prereqs prereqs-tests prereqs-vm bench-channel bench-start bench-run bench-memory bench-session bench-atspi bench-backend bench-chatgpt soak prereqs-bench bench-build bench-tool
