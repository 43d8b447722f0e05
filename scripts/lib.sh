# Functions shared by the scripts in this folder; to be sourced, not run.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 1

say() { printf '== %s\n' "$*" >&2; }
fail() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    fail "needs root or sudo for: $*"
  fi
}

# Prints the mirror of the distribution's main archive, from either format of apt's source lists.
mirror() {
  {
    sed -n 's/^URIs: *\([^ ]*\).*/\1/p' /etc/apt/sources.list.d/*.sources
    sed -n 's/^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*\) .*/\2/p' /etc/apt/sources.list \
      /etc/apt/sources.list.d/*.list
  } 2>/dev/null | grep -m 1 -E '/debian/?$' || true
}

# on_one_line COMMAND...: runs the command. On a terminal, one line that rewrites itself shows how long it
# has taken and what it does, and its output is printed only if it fails; elsewhere nothing is shown.
on_one_line() {
  local log rc=0
  log=$(mktemp)
  if [ -t 2 ]; then
    "$@" 2>&1 </dev/null | tee "$log" | show_last_line || rc=$?
  else
    "$@" >"$log" 2>&1 </dev/null || rc=$?
  fi
  [ $rc = 0 ] || tail -n 40 "$log" >&2
  rm -f "$log"
  return $rc
}

# Draws the last line of stdin, again and again.
show_last_line() {
  local began=$SECONDS line="" text="" has_status=0 rc width
  width=$(tput cols 2>/dev/null) || width=80
  while true; do
    rc=0
    IFS= read -r -t 1 line || rc=$?
    [ $rc = 0 ] || [ $rc -gt 128 ] || break # above 128: nothing came within the second
    [ $rc -gt 0 ] || note_progress "$line"
    printf '\r\033[K   %3d s  %.*s' $((SECONDS - began)) $((width - 12)) "$text" >&2
  done
  printf '\r\033[K' >&2
}

# Sets `text` to what is shown of a line. An empty line changes nothing, nor does the prose of an apt that
# prints its status (APT::Status-Fd) too.
note_progress() { # LINE
  local percent words
  case "$1" in
  dlstatus:* | pmstatus:*) # of apt
    has_status=1
    IFS=: read -r _ _ percent words <<<"$1"
    text="installing, ${percent%%.*} %: $words"
    [ "${1%%:*}" = pmstatus ] || text="fetching, ${percent%%.*} %"
    ;;
  *[![:space:]]*) [ $has_status = 1 ] || text=$1 ;;
  esac
}

# stage NAME COMMAND...: runs the command and notes how long it took; stage_times prints all times.
stage_log=""
stage() {
  local name=$1 began=$SECONDS rc=0
  shift
  say "$name"
  "$@" || rc=$?
  stage_log+=$(printf '%6d s  %s' $((SECONDS - began)) "$name")$'\n'
  return $rc
}
stage_times() { printf '%s' "$stage_log"; }

configure_and_build() { # PRESET [TARGET...]
  local preset=$1 log
  shift
  if [ ! -f "build/$preset/build.ninja" ]; then
    log=$(cmake --preset "$preset" 2>&1) || {
      printf '%s\n' "$log" >&2
      return 1
    }
  fi
  ninja -C "build/$preset" "$@" >&2 # on a terminal it keeps to one line itself
}

# Builds tests for aarch64 and runs them under qemu's user emulation: the unit and golden tests in C++. Live
# ones need a kernel (scripts/vm arm64). Without a program: all of them, and all else is compiled.
test_aarch64() { # [TEST_PROGRAM...]
  local only=() program
  for program in aarch64-linux-gnu-g++ qemu-aarch64-static; do
    command -v $program >/dev/null || fail "needs $program, which scripts/setup --ci installs"
  done
  scripts/arm64_sysroot
  configure_and_build arm64 "$@"
  [ $# = 0 ] || only=(-R "^($(IFS='|' && printf '%s' "$*")):")
  ctest --test-dir build/arm64 -L 'unit|golden' -LE script "${only[@]}" -j "$(nproc)" --output-on-failure \
    --no-tests=error </dev/null
}

# unpack_debian ARCHITECTURE SUITE FOLDER PACKAGE...: unpacks packages of Debian, with all that they depend
# on, into a folder. Nothing is installed or configured, and this machine's list of architectures stays as
# it is: apt runs with its own state, and takes an empty machine for the one that it installs on.
unpack_debian() (
  architecture=$1 suite=$2 into=$3
  shift 3
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  mkdir -p "$work"/{lists/partial,archives/partial,sources} "$into"
  : >"$work/status"
  archive=$(mirror)
  printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' \
    "${archive:?no Debian archive among the sources of this machine}" "$suite" >"$work/sources.list"
  private_apt() {
    apt-get -qq -o Acquire::Retries=3 -o APT::Architecture="$architecture" -o APT::Architectures="$architecture" \
      -o APT::Install-Recommends=false -o APT::Sandbox::User= -o Debug::NoLocking=1 \
      -o Acquire::Languages=none -o Dir::State::Lists="$work/lists" \
      -o Dir::State::Status="$work/status" -o Dir::Cache::Archives="$work/archives" \
      -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
      -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts="$work/sources" "$@"
  }
  set -e
  private_apt update
  private_apt --yes --download-only install "$@" >/dev/null
  for package in "$work"/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -x --keep-directory-symlink -C "$into"
  done
)
