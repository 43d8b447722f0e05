#!/bin/sh
# For slurm.conf's Prolog, or by hand on a node: will oddrank work here when it is needed? Writes one
# line to the system's log where the answer is no, and never fails: a job that could run must run.
# ODDRANK: the program (default: oddrank). ODDRANK_PATIENCE: seconds that the job's start may wait for
# the answer (default: 10).
node=${SLURMD_NODENAME:-$(uname -n)}
patience=${ODDRANK_PATIENCE:-10}
answer=$(timeout "$patience" "${ODDRANK:-oddrank}" doctor --host "$node" \
  --timeout "$((patience / 2))s" 2>&1) && exit 0
line="oddrank would not work on $node: $(printf '%s\n' "$answer" | sed -n 's/^NO *//p' | head -n 1)"
logger -t oddrank "$line" 2>/dev/null
echo "$line"
exit 0
