#!/bin/sh
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
# Builds the CUDA kernels with plain nvcc, tests them against fp64, runs the sanitizer on small shapes, and times
# every problem with the default cut, and with every cut when full. Usage: bench/gpu/gpu_session.sh <output folder> [full|quick] [sanitize|plain] [commit]
set -u
out=$1; mode=${2:-quick}; sanitize=${3:-plain}
build=${TMPDIR:-/tmp}/lacuna-gpu
mkdir -p "$out" "$build"
flags="-std=c++17 -O3 -lineinfo -Iinclude -Ikernels/cuda -gencode arch=compute_90,code=sm_90"
wgmma="-std=c++17 -O3 -lineinfo -Iinclude -Ikernels/cuda -gencode arch=compute_90a,code=sm_90a"
objects=""
for f in kernels/cuda/*/*.cu; do
    o=$build/$(echo "${f%.cu}" | tr / _).o; objects="$objects $o"
    case $f in */multiply.cu | */rank_k.cu | */unpacked.cu) nvcc $wgmma -c "$f" -o "$o" & ;; *) nvcc $flags -c "$f" -o "$o" & ;; esac
done
for f in tests/gpu/adaptive_test tests/gpu/event_test tests/gpu/epilogue_test tests/gpu/metadata_test tests/gpu/tiles_test bench/gpu/event_bench bench/gpu/metadata_bench \
    bench/gpu/slice_device_bench bench/gpu/sddmm_bench bench/gpu/batch_bench bench/gpu/csr_bench bench/gpu/tiles_bench bench/gpu/layer_bench bench/gpu/encoding_bench bench/gpu/segments_bench; do
    nvcc $flags -c $f.cu -o "$build/$(basename $f).o" &
done
wait
for t in adaptive_test event_test epilogue_test metadata_test tiles_test; do nvcc $flags $objects "$build/$t.o" -o "$build/$t" || exit 1; done
for t in event_bench metadata_bench slice_device_bench sddmm_bench batch_bench csr_bench tiles_bench layer_bench encoding_bench segments_bench; do
    nvcc $flags $objects "$build/$t.o" -lcublas -lcusparse -o "$build/$t" || exit 1
done
LACUNA_COMMIT=${4:-$(git rev-parse --short HEAD 2>/dev/null)}; LACUNA_DATE=$(date -u +%Y-%m-%d)
LACUNA_DRIVER=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader)
export LACUNA_COMMIT LACUNA_DATE LACUNA_DRIVER
timeout 60 "$build/event_test" 200 3000 1 2>&1 | tee "$out/event_test.log" | tail -15
timeout 60 "$build/adaptive_test" 2>&1 | tee "$out/adaptive_test.log" | tail -15
timeout 60 "$build/metadata_test" 2>&1 | tee "$out/metadata_test.log" | tail -15
timeout 60 "$build/epilogue_test" 2>&1 | tee "$out/epilogue_test.log" | tail -15
timeout 60 "$build/tiles_test" 2>&1 | tee "$out/tiles_test.log" | tail -25
if [ "$sanitize" = sanitize ]; then
    for tool in memcheck racecheck initcheck synccheck; do
        timeout 100 compute-sanitizer --tool $tool "$build/event_test" 6 300 7 >"$out/sanitizer_$tool.log" 2>&1
        echo "$tool event_test: $(tail -1 "$out/sanitizer_$tool.log")"
        timeout 100 compute-sanitizer --tool $tool "$build/epilogue_test" 1 >"$out/sanitizer_epilogue_$tool.log" 2>&1
        echo "$tool epilogue_test: $(tail -1 "$out/sanitizer_epilogue_$tool.log")"
        timeout 100 compute-sanitizer --tool $tool "$build/metadata_test" 2 >"$out/sanitizer_meta_$tool.log" 2>&1
        echo "$tool metadata_test: $(tail -1 "$out/sanitizer_meta_$tool.log")"
        timeout 100 compute-sanitizer --tool $tool "$build/tiles_test" 0 128 >"$out/sanitizer_tiles_$tool.log" 2>&1
        echo "$tool tiles_test: $(tail -1 "$out/sanitizer_tiles_$tool.log")"
    done
fi
if [ "$mode" = full ]; then # every way to cut each launch, to choose the defaults from
    timeout 200 "$build/event_bench" "$out/event_sweep.json" full 0 12 >"$out/event_sweep.log" 2>&1
    cat "$out/event_sweep.log"
fi
timeout 100 "$build/event_bench" "$out/event_bench.json" quick >"$out/event_bench.log" 2>&1
timeout 60 "$build/metadata_bench" "$out/metadata_bench.json" >"$out/metadata_bench.log" 2>&1
for t in slice_device_bench sddmm_bench batch_bench tiles_bench layer_bench encoding_bench segments_bench; do
    timeout 60 "$build/$t" "$out/$t.json" >"$out/$t.log" 2>&1
done
timeout 60 "$build/csr_bench" "$out/csr_bench.json" check >"$out/csr_bench.log" 2>&1
cat "$out/csr_bench.log" "$out/metadata_bench.log" "$out/event_bench.log" "$out/slice_device_bench.log" "$out/sddmm_bench.log" "$out/batch_bench.log" "$out/tiles_bench.log" "$out/layer_bench.log" "$out/encoding_bench.log" "$out/segments_bench.log"
if [ -n "${PROFILE:-}" ]; then # e.g. PROFILE="10:event_stream 7:event_ranges": counters of two launches each
    for what in $PROFILE; do
        i=${what%%:*}; kernel=${what#*:}
        timeout 40 ncu --clock-control none -k "regex:$kernel" -c 2 --section SpeedOfLight --section LaunchStats \
            --section Occupancy --section MemoryWorkloadAnalysis --section WarpStateStats \
            "$build/event_bench" "$build/profile.json" quick "$i" "$i" >"$out/ncu_${i}_$kernel.log" 2>&1
    done
fi
