#!/bin/sh
# For slurm.conf's HealthCheckProgram: a node on which ranks that nobody can end any more are left
# (state D: a dead file system, a driver that hangs) should get no further job.
#
#   HealthCheckProgram=/shared/oddrank/slurm/scripts/healthcheck.sh
#   HealthCheckInterval=300
#
# Looks at processes that carry a rank and whose job SLURM no longer runs here. Says what it found;
# with ODDRANK_DRAIN=1 it drains the node, with the kernel's word for it as the reason. Takes nothing
# but reads of /proc. ODDRANK_PROC: another /proc, for tests.
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
  # A controller that does not answer, or refuses, says nothing about the job.
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
