#!/bin/bash
#SBATCH --ntasks=16
#SBATCH --cpus-per-task=8
#SBATCH --time=4:00:00
#SBATCH --requeue
#
# Build a corrupted data set with many tasks, on one node or several, in one folder:
#
#     sbatch slurm-corrupt.sh path/to/val imagenet-c
#
# Stopped by whatever, the same line continues.
set -euo pipefail
srun --cpus-per-task="$SLURM_CPUS_PER_TASK" oodometer corrupt "$@" --shard auto
oodometer corrupt "$@"
