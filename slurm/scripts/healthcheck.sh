#!/bin/sh
# For slurm.conf's HealthCheckProgram: a node should get no further job while it has ranks that
# cannot be killed (state D: a dead file system, a driver that hangs).
#
#   HealthCheckProgram=/shared/oddrank/slurm/scripts/healthcheck.sh
#   HealthCheckInterval=300
#
# Finds processes in state D that carry the id of a job which SLURM no longer runs on this node, and
# prints them. With ODDRANK_DRAIN=1 it also drains the node; the reason names the kernel function
# that each process waits in. Reads /proc and calls squeue. ODDRANK_PROC: another /proc, for tests.
set -eu
proc=${ODDRANK_PROC:-/proc}
node=${SLURMD_NODENAME:-$(uname -n)}
left=""
for directory in "$proc"/[0-9]*; do
  state=$(sed -n 's/^State:[[:space:]]*\([A-Za-z]\).*/\1/p' "$directory/status" 2>/dev/null) || continue
  [ "$state" = D ] || continue
  job=$(tr '\0' '\n' <"$directory/environ" 2>/dev/null | sed -n 's/^SLURM_JOB_ID=//p' | head -n 1) ||
    continue
  [ -n "$job" ] || continue
  # If the controller does not answer or refuses, nothing is known about the job.
  if said=$(timeout 10 squeue -h -j "$job" -w "$node" -o %i 2>&1); then
    printf '%s\n' "$said" | grep -q '^[0-9]' && continue
  else
    case $said in *"Invalid job id"*) ;; *) continue ;; esac
  fi
  left="$left pid ${directory##*/} of job $job in $(cat "$directory/wchan" 2>/dev/null || echo '?');"
done
[ -n "$left" ] || exit 0
echo "oddrank: ranks that cannot end:$left"
[ "${ODDRANK_DRAIN:-0}" = 1 ] || exit 0
timeout 10 scontrol update "NodeName=$node" State=DRAIN "Reason=ranks cannot end:$left"
