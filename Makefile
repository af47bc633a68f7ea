# `make demo` and `make test` set up everything they need in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt
FUZZ_SECONDS ?= 600
SOURCE ?= unnamed photographs
NATIVE := pyproject.toml CMakeLists.txt constraints.txt $(shell find native -name '*.[ch]pp' -o -name CMakeLists.txt)

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint types tests sanitize stubs fuzz bench bench-peers bench-activations accuracy wheel clean

help:
	@echo "make demo      convert photographs, train on them at three fidelities, then in less memory (4 minutes)"
	@echo "make test      every check: lint, types, tests, sanitizers"
	@echo "make fuzz      fuzz the parsers (FUZZ_SECONDS=$(FUZZ_SECONDS) a target; needs clang)"
	@echo "make bench     the benchmarks of reading (benchmarks/README.md); bench-peers with other loaders;"
	@echo "               bench-activations those of activations"
	@echo "make wheel     build a wheel into dist/"
	@echo "make clean     remove what the other targets made"

setup: $(VENV)/.installed

# Python code is used from src/ as it stands; native code is built again when it changed.
$(VENV)/.installed: $(NATIVE)
	@$(PYTHON) scripts/check_system.py
	@test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(PIP) "scikit-build-core>=1.0" "nanobind>=2.9" "ninja>=1.11"
	$(PIP) --no-build-isolation --config-settings=build-dir=build/native --editable ".[dev]"
	@touch $@

demo: setup
	$(BIN)/halfbyte demo

test: lint types tests sanitize

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

tests: setup
	$(BIN)/python -m pytest

# The native core, its tests and the fuzz targets over their corpora, under ASan and UBSan.
sanitize: setup
	cmake -S . -B build/sanitize -G Ninja -DHALFBYTE_SANITIZE=ON -DHALFBYTE_PYTHON=OFF -DHALFBYTE_TESTS=ON \
		-DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja)
	cmake --build build/sanitize
	ctest --test-dir build/sanitize --output-on-failure

# The parsers on hostile bytes: libFuzzer for the native ones, our own harness for what Python and Arrow read.
# Found inputs are kept in build/fuzz; what was learnt stays in build/fuzz/corpus for the next run.
fuzz: setup
	@command -v clang++ >/dev/null || { echo "missing: clang; install with: apt-get install clang"; exit 1; }
	cmake -S . -B build/fuzz -G Ninja -DHALFBYTE_FUZZ=ON -DHALFBYTE_PYTHON=OFF -DCMAKE_BUILD_TYPE=RelWithDebInfo \
		-DCMAKE_CXX_COMPILER=clang++ -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja)
	cmake --build build/fuzz
	for target in markers transcode decode scans error_bounded code_blocks; do \
		mkdir -p build/fuzz/corpus/$$target; \
		build/fuzz/native/fuzz/fuzz_$$target -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=2048 \
			-print_final_stats=1 -artifact_prefix=build/fuzz/$$target- build/fuzz/corpus/$$target tests/native/data \
			|| exit 1; \
	done
	for target in header table dataset; do \
		$(BIN)/python tests/fuzz/fuzz_record.py $$target --seconds $(FUZZ_SECONDS) --keep build/fuzz || exit 1; \
	done

stubs: setup
	$(BIN)/python -m nanobind.stubgen -m halfbyte._native -o src/halfbyte/_native.pyi

# With libjpeg-turbo inside, so that it runs where no system package is installed.
wheel: setup
	$(BIN)/pip wheel --quiet --no-build-isolation --no-deps --wheel-dir build/wheel .
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/auditwheel repair --wheel-dir dist build/wheel/halfbyte-*.whl

bench: setup
	@test -n "$(PHOTOS)" || { echo "say which photos: make bench PHOTOS=/path/to/photos SOURCE=\"what they are\""; exit 2; }
	for script in transcode decode; do \
		$(BIN)/python benchmarks/$$script.py --photos "$(PHOTOS)" --source "$(SOURCE)" || exit 1; \
	done

# Other loaders, each in an environment of its own below build/peers. QUICK=1 for two stores and two rounds.
bench-peers: setup
	@test -n "$(PHOTOS)" || { echo "say which photos: make bench-peers PHOTOS=/path/to/imagefolder SOURCE=\"what\""; exit 2; }
	$(BIN)/python benchmarks/loaders.py --photos "$(PHOTOS)" --source "$(SOURCE)" $(if $(QUICK),--quick)

# DATA: options --data NAME=FOLDER; without, the demo's tiles. QUICK=1 for one seed and few epochs.
accuracy: setup
	$(BIN)/python benchmarks/accuracy.py --source "$(SOURCE)" $(DATA) $(if $(QUICK),--quick)

# An hour on two cores, with nothing else running. PHOTOS: an image folder with train/ and test/, or none.
bench-activations: setup
	$(PIP) --no-build-isolation --config-settings=build-dir=build/native --editable ".[dev,bench]"
	$(BIN)/python benchmarks/activations_kernels.py
	$(BIN)/python benchmarks/activations_step.py
	$(BIN)/python benchmarks/activations_compare.py --source "$(SOURCE)" $(if $(PHOTOS),--photos "$(PHOTOS)")

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache src/*.egg-info
