# For batch scripts: before the time limit, or whenever you ask, oddrank captures the job from
# inside. It prints the verdict into the job's output and saves the capture beside it. Source this
# file after the #SBATCH lines, and start the ranks through it:
#
#   #SBATCH --signal=B:USR1@120          # two minutes before the limit (SLURM may be a minute early)
#   . /shared/oddrank/slurm/scripts/collect-before-limit.sh
#   oddrank_run srun python train.py
#
#   scancel --batch --signal=USR1 4711   # captures by hand, at any time
#
# ODDRANK: path of the program (default: oddrank). ODDRANK_DIR: folder for captures (default: where
# sbatch was called). The job goes on. oddrank_run returns the exit status of its command.

oddrank_collect() {
  local stem
  stem=${ODDRANK_DIR:-$SLURM_SUBMIT_DIR}/oddrank-$SLURM_JOB_ID-$(date +%Y%m%dT%H%M%S)
  "${ODDRANK:-oddrank}" job "$SLURM_JOB_ID" --save "$stem.odd" --json "$stem.json" \
    --html "$stem.html" </dev/null || true
  echo "oddrank: the capture is $stem.odd (\`oddrank report\` reads it)"
}

# bash runs a trap only while it waits, and `wait` returns after the trap. So wait again until the
# command has really ended.
oddrank_run() {
  trap oddrank_collect USR1
  "$@" &
  local child=$! status
  while :; do
    wait "$child"
    status=$?
    kill -0 "$child" 2>/dev/null || break
  done
  trap - USR1
  return $status
}
