#!/bin/bash
#SBATCH --ntasks=8
#SBATCH --gpus-per-task=1
#SBATCH --cpus-per-task=8
#SBATCH --time=4:00:00
#SBATCH --requeue
#
# Evaluate a model with a task for each graphics processor, on one node or several:
#
#     sbatch slurm-evaluate.sh runs/resnet50 timm:resnet50 --data path/to/val
#
# Stopped by whatever, the same line continues.
set -euo pipefail
run=$1
shift
srun --cpus-per-task="$SLURM_CPUS_PER_TASK" oodometer evaluate "$@" -o "$run/shards" --shard auto
[ -e "$run/merged/manifest.json" ] || oodometer merge "$run"/shards/shard-*-of-"$(printf %04d "$SLURM_NTASKS")" -o "$run/merged"
oodometer report "$run/merged"
