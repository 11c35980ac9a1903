# Every day's commands. CMake builds norn (CMakeLists.txt); this file names them.
#
#   make demo      the tiled Cholesky example, on four ranks where MPI is; MATRIX=file.mtx RHS=file.mtx for a real one
#   make check     everything that must hold; ends with "N passed, N failed"
#   make bench     norn beside other task runtimes, about 20 minutes; QUICK=1 for three; STAGES="table metg" for some
#   make models    the lock-free protocols under loom and shuttle, and the defects they catch
#   make soak      looks for rare failures for SECONDS=600; FULL=1 for the C tests at full size too
#   make install   PREFIX (/usr/local), DESTDIR
#   make header notice abi      refresh include/*.h, NOTICE, the recorded ABI
#   make format lint dist clean

BUILD ?= build
PREFIX ?= /usr/local
ifneq ($(shell command -v ninja),)
export CMAKE_GENERATOR ?= Ninja
endif

.PHONY: build installed demo check bench models soak header notice abi format lint install dist clean

build:
	cmake -S . -B $(BUILD) -DCMAKE_INSTALL_PREFIX=$(PREFIX)
	cmake --build $(BUILD)

# The copy that the examples and tests are built against, as a user's would be.
installed: build
	cmake --install $(BUILD) --prefix $(BUILD)/prefix

demo:
	tools/setup.sh
	$(MAKE) installed
	cmake -S examples-c -B $(BUILD)/examples -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH=$(abspath $(BUILD)/prefix)
	cmake --build $(BUILD)/examples
	@set --; \
	if [ -n "$${MATRIX:-}" ]; then set -- "$$@" --matrix "$$MATRIX"; fi; \
	if [ -n "$${RHS:-}" ]; then set -- "$$@" --rhs "$$RHS"; fi; \
	if [ -x $(BUILD)/examples/mpirun ]; then \
		exec $(BUILD)/examples/mpirun -n 4 $(BUILD)/examples/cholesky "$$@"; \
	fi; \
	echo "demo: on one process: there is no MPI for C with its launcher (Debian: libopenmpi-dev or libmpich-dev)"; \
	exec $(BUILD)/examples/cholesky "$$@"

check:
	tools/check.sh $(BUILD)

models:
	tests/models/run.sh

header:
	tools/header.sh
	tools/dl_header.py

notice:
	tools/notice.sh

abi: build
	tools/abi.sh refresh $(BUILD)/libnorn.so

format:
	cargo fmt

lint:
	cargo clippy --all-targets --locked -- -D warnings

install: build
	cmake --install $(BUILD)

dist:
	mkdir -p $(BUILD)
	tools/tarball.sh $(BUILD)

# What a task costs beside other runtimes (benches/NOTES.md). Files are in $(BUILD)/bench; the table is table.txt.
bench: installed
	benches/setup.sh
	benches/build.sh $(BUILD)/prefix $(BUILD)/bench
	benches/run.sh $(BUILD)/bench/bin $(BUILD)/bench $(STAGES)
	@$(bench_python) -B benches/report.py $(BUILD)/bench >$(BUILD)/bench/table.txt
	@cat $(BUILD)/bench/table.txt
	@echo && $(BUILD)/bench/bin/norn_cpp | tee $(BUILD)/bench/norn_cpp.txt
	@echo && benches/mpi.sh $(BUILD)/bench/bin | tee $(BUILD)/bench/mpi.txt
# The distribution's matplotlib belongs to its own interpreter, which need not be the first on PATH.
bench_python = $$(/usr/bin/python3 -c 'import matplotlib' 2>/dev/null && echo /usr/bin/python3 || echo python3)

# Rare failures: the fuzzer, random graphs, misuse and sanitizers for so many seconds.
soak: installed
	SECONDS_GIVEN=$(or $(SECONDS),600) tests/soak/run.sh $(abspath $(BUILD)/prefix)

clean:
	rm -rf $(BUILD) target
