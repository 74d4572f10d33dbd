#!/bin/bash
# Evaluate a model with several processes of one machine, one for each graphics processor:
#
#     bash torchrun-evaluate.sh 8 runs/resnet50 timm:resnet50 --data path/to/val
#
# Stopped by whatever, the same line continues.
set -euo pipefail
count=$1 run=$2
shift 2
threads=$(($(nproc) / count > 0 ? $(nproc) / count : 1))
torchrun --standalone --nproc-per-node "$count" --no-python \
    bash -c 'CUDA_VISIBLE_DEVICES=$LOCAL_RANK exec oodometer evaluate "$@"' evaluate \
    "$@" -o "$run/shards" --shard auto --workers "$threads"
[ -e "$run/merged/manifest.json" ] || oodometer merge "$run"/shards/shard-*-of-"$(printf %04d "$count")" -o "$run/merged"
oodometer report "$run/merged"
