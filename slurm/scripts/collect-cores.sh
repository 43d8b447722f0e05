#!/bin/sh
# After an abort: the core files of all nodes of a job, merged into one report.
#
#   collect-cores.sh FOLDER CORE_GLOB      on each node (epilog, pdsh, ssh): what lies here
#   collect-cores.sh FOLDER                once, anywhere: the report of all
#
#   pdsh -w n[0-3] collect-cores.sh /shared/4711 '/var/crash/core.*'; collect-cores.sh /shared/4711
#
# FOLDER is shared by all nodes. ODDRANK: the program (default: oddrank). An epilog has no more ranks
# to look at, only what they left: the cores of the kernel's core_pattern, in a container of the
# container's. Ends with 0 where there are no cores.
set -eu
folder=$1
mkdir -p "$folder"
if [ $# -eq 1 ]; then
  exec "${ODDRANK:-oddrank}" report "$folder"
fi
# shellcheck disable=SC2086  # the glob is meant
set -- $2
[ -e "$1" ] || exit 0
status=0
"${ODDRANK:-oddrank}" core "$@" --save "$folder/$(uname -n).odd" -q >/dev/null || status=$?
# 3: some could not be read whole, which the report says.
[ $status -eq 0 ] || [ $status -eq 3 ]
