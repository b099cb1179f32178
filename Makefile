# make test is what decides about a change; .ci/run calls it. The cheap steps
# come first, so that a failure shows early.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.NOTPARALLEL:
.DEFAULT_GOAL := help

# The packages to work on: make lint race PKGS=./events/...
PKGS ?= ./...
# Seconds for all fuzz functions together.
FUZZ_SECONDS ?= 120

GO   := go
LINT := $(GO) tool -modfile=.ci/tools.mod golangci-lint

# What is shipped is built without C; only the race detector needs it.
export CGO_ENABLED := 0

# Qdrant's engine for the tests of its backend.
VENV := build/venv

.PHONY: help test build venv vet sources fmt lint cross race disks rig fuzz bench demo cover

## help: list the targets
help:
	@sed -n 's/^## \([a-z]*\): */\1|/p' Makefile | while IFS='|' read -r name text; do printf '  make %-8s %s\n' "$$name" "$$text"; done

## test: everything that decides about a change, as CI runs it
test: build venv sources vet lint cross race disks rig fuzz

## build: compile all packages; the binary goes to bin/
build:
	@echo "== build"
	$(GO) build ./...
	$(if $(wildcard cmd/annals/*.go),$(GO) build -trimpath -o bin/annals ./cmd/annals)

## venv: install Qdrant's engine, which the tests of its backend run
venv: $(VENV)/.complete

$(VENV)/.complete: .ci/qdrant.txt
	@echo "== venv"
	python3 -m venv --clear $(VENV)
	$(VENV)/bin/pip install --quiet --no-deps --only-binary :all: --require-hashes -r .ci/qdrant.txt
	touch $@

## sources: look for tests that could skip themselves
sources:
	@echo "== sources"
	.ci/no-skips

## vet: go vet
vet:
	@echo "== vet"
	$(GO) vet $(PKGS)

## lint: golangci-lint, formatting included (make fmt mends that)
lint:
	@echo "== lint"
	$(LINT) config verify
	$(LINT) run $(PKGS)

## fmt: format the sources
fmt:
	$(LINT) fmt

## cross: compile for the other platforms
cross:
	@echo "== cross"
	for target in linux/arm64 darwin/arm64 windows/amd64; do \
		echo "$$target"; \
		GOOS=$${target%/*} GOARCH=$${target#*/} $(GO) build $(PKGS); \
	done

## race: all tests, the README's commands included, with the race detector
race: venv
	@echo "== race"
	CGO_ENABLED=1 $(GO) test -race -timeout 20m $(PKGS)

## disks: what forgetting leaves on the disks of one server and of three, and cut off; too slow for the race detector
disks:
	@echo "== disks"
	$(GO) test -run '^(TestClusterForgets|TestNothingIsLeft|TestNothingIsLeftAfterRestore|TestRotationCutOffAtEachWrite)$$' ./cmd/annals/internal/node

## rig: what the scan of the disk finds when nothing is encrypted
rig:
	@echo "== rig"
	$(GO) vet -tags plaintextrig ./events/seal ./cmd/annals
	$(GO) test -tags plaintextrig ./events/seal ./tombstones/scan
	$(GO) test -tags plaintextrig -run '^(TestNothingStandsInClear|TestNothingIsLeft|TestNothingIsLeftAfterRestore|TestKillWhileForgetting|TestScan|TestPlaintextRig)$$' ./cmd/annals/...

## fuzz: every fuzz function for a few seconds
fuzz:
	@echo "== fuzz"
	.ci/fuzz $(FUZZ_SECONDS)

## bench: all benchmarks
bench:
	$(GO) test -run '^$$' -bench . -benchmem $(PKGS)

## demo: the story of Annals in the terminal
demo:
	$(GO) run ./cmd/annals demo

## cover: test coverage by function, and coverage/index.html
cover: venv
	mkdir -p coverage
	$(GO) test -coverpkg=./... -coverprofile=coverage/all.out $(PKGS)
	$(GO) tool cover -html=coverage/all.out -o coverage/index.html
	$(GO) tool cover -func=coverage/all.out
