#!/usr/bin/env bash
# A league over the nodes of a Slurm job: sbatch --nodes 4 configs/cluster/slurm.sh my-league.yaml
#SBATCH --job-name=league
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=32
#SBATCH --exclusive
#SBATCH --signal=B:TERM@60
# The job's folder is on a file system that every node sees; League is installed in it by `make .venv/.ready`.
# A job that runs out of time saves its league: submit it again with `--resume latest` instead of the config.
set -euo pipefail
what=("$@")
[ ${#what[@]} -gt 0 ] || { echo "usage: sbatch $0 CONFIG.yaml | --resume RUN" >&2; exit 2; }
bin=$PWD/.venv/bin
export LEAGUE_HOME=${LEAGUE_HOME:-$PWD/league-data}
# Only who has this token is let into the cluster.
export RAY_AUTH_MODE=token RAY_AUTH_TOKEN_PATH=$LEAGUE_HOME/ray.token
mkdir -p "$LEAGUE_HOME"
(umask 077 && [ -s "$RAY_AUTH_TOKEN_PATH" ] || head -c 32 /dev/urandom | sha256sum | cut -c1-64 > "$RAY_AUTH_TOKEN_PATH")

head=$(hostname)
"$bin/ray" start --head --port=6379 --num-cpus="$SLURM_CPUS_PER_TASK" --include-dashboard=false
if [ "$SLURM_JOB_NUM_NODES" -gt 1 ]; then
  srun --nodes=$((SLURM_JOB_NUM_NODES - 1)) --exclude="$head" "$bin/ray" start --block --address="$head:6379" \
    --num-cpus="$SLURM_CPUS_PER_TASK" --resources='{"play": 1000}' &
fi
LEAGUE_RAY_ADDRESS="$head:6379" "$bin/league" run "${what[@]}" --no-web &
league=$!
trap 'kill -TERM $league' TERM
# The signal ends a wait, the league ends in its own time.
wait $league || wait $league || true
"$bin/ray" stop
