#!/bin/sh
# For slurm.conf's Prolog, or by hand on a node: checks that oddrank will work here when it is needed.
# If not, it prints one line and writes it to the system's log. It never fails, so it never keeps a
# job from running.
# ODDRANK: path of the program (default: oddrank). ODDRANK_PATIENCE: how many seconds the job's start
# may be delayed (default: 10).
node=${SLURMD_NODENAME:-$(uname -n)}
patience=${ODDRANK_PATIENCE:-10}
answer=$(timeout "$patience" "${ODDRANK:-oddrank}" doctor --host "$node" \
  --timeout "$((patience / 2))s" 2>&1) && exit 0
line="oddrank would not work on $node: $(printf '%s\n' "$answer" | sed -n 's/^NO *//p' | head -n 1)"
logger -t oddrank "$line" 2>/dev/null
echo "$line"
exit 0
