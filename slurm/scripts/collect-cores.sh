#!/bin/sh
# For use after an abort: merges the core files of all nodes of a job into one report.
#
#   collect-cores.sh FOLDER CORE_GLOB      on each node (epilog, pdsh, ssh): captures the local cores
#   collect-cores.sh FOLDER                once, anywhere: prints the report of all nodes
#
#   pdsh -w n[0-3] collect-cores.sh /shared/4711 '/var/crash/core.*'; collect-cores.sh /shared/4711
#
# FOLDER is shared by all nodes. ODDRANK: path of the program (default: oddrank). When an epilog runs,
# the ranks have ended and only their core files are left. The kernel's core_pattern says where; for
# ranks in a container, the container's. Exits with 0 if there are no cores.
set -eu
folder=$1
mkdir -p "$folder"
if [ $# -eq 1 ]; then
  exec "${ODDRANK:-oddrank}" report "$folder"
fi
# shellcheck disable=SC2086  # the glob has to expand
set -- $2
[ -e "$1" ] || exit 0
status=0
"${ODDRANK:-oddrank}" core "$@" --save "$folder/$(uname -n).odd" -q >/dev/null || status=$?
# 3: some cores could not be read completely; the report says which.
[ $status -eq 0 ] || [ $status -eq 3 ]
