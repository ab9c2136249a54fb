# longspan: `make help` lists the targets. Each target does the set-up that it needs and skips what is done.

PREFIX ?= /usr/local
SHELL := /bin/bash
.DEFAULT_GOAL := build
.PHONY: help setup text build test test-sanitizers check demo demo-documents study-text install clean
# The parts run one after the other; the parallelism is ninja's.
.NOTPARALLEL:
export PYTHON JOBS TEXT FULL FUZZ_SECONDS

help:
	@echo 'make build                 set up and build the program build/bin/longspan, the library build/lib/liblongspan.so and the'
	@echo '                           examples build/bin/example_*'
	@echo 'make test                  build the tests too and run every one'
	@echo 'make demo                  build, train three small models on novels and report what they do far beyond their'
	@echo '                           training length: demo/report.html (TEXT=my.txt: your own text; FULL=1: larger, three seeds);'
	@echo '                           it replaces what an earlier one left in demo/'
	@echo 'make demo-documents        build, train encoders with different attentions on long documents and compare what they'
	@echo '                           learned: demo-documents/report.html (FULL=1: more tasks, three seeds)'
	@echo 'make study-text            build, train memories on novels and manuals at equal parameters and measure what they are'
	@echo '                           worth on held-out documents: study-text/report.html (hours; goes on where it was stopped)'
	@echo 'make test-sanitizers       torch-free tests under the address and undefined-behaviour sanitizers, kernels on several'
	@echo '                           threads under the thread sanitizer (FULL=1: every C++ test; builds everything again);'
	@echo '                           then the fuzz targets, FUZZ_SECONDS=60 each, two at a time'
	@echo 'make check                 include edges between the folders and lengths of files'
	@echo 'make install PREFIX=/opt   install headers, libraries, program and CMake package (default /usr/local)'
	@echo 'make clean                 remove the build folders (keeps .venv and what the studies wrote)'
	@echo 'Variables: PYTHON=interpreter with torch 2.11 or newer (default: that of the last time, else python3, or a'
	@echo '           virtual environment made in .venv);'
	@echo '           JOBS=number of compile jobs'

setup:
	@bash scripts/setup-packages.sh
	@bash scripts/setup-python.sh

# The program first: it can be used while the rest is built.
build: setup
	@bash scripts/build.sh release longspan_program
	@bash scripts/build.sh release product

test: setup
	@bash scripts/build.sh release
	@bash scripts/test.sh

test-sanitizers:
	@bash scripts/setup-packages.sh sanitizers
	@bash scripts/test-sanitizers.sh

check:
	@python3 ci/check_includes.py

# A wrong TEXT is reported before the build, not after it.
text:
	@bash scripts/demo.sh check

demo: text build
	@bash scripts/demo.sh

demo-documents: build
	@bash scripts/demo-documents.sh

study-text: build
	@bash scripts/study-text.sh

install: build
	@echo 'longspan: installing into $(PREFIX)'
	@cmake --install build --prefix '$(PREFIX)' >build/install.log || { tail -n 5 build/install.log >&2; exit 1; }
	@echo 'longspan: installed; find_package(longspan) finds it with CMAKE_PREFIX_PATH=$(PREFIX)'

clean:
	@rm -rf build build-asan build-asan-torch build-debug build-fuzz build-tsan
