#include "waits/fd_kind.h"

#include <string>
#include <string_view>

#include "tests/support/catch.h"

namespace oddrank::waits {
namespace {

using snapshot::WaitOn;

TEST_CASE("a link shows the kind of a file") {
  CHECK(fd_kind("pipe:[123]", "").on == WaitOn::kPipe);
  CHECK(fd_kind("socket:[5]", "").on == WaitOn::kSocket);
  CHECK(fd_kind("/data/x.tar", "").on == WaitOn::kFile);
  CHECK(fd_kind("/dev/nvidia0", "").on == WaitOn::kDevice);
  CHECK(fd_kind("/dev/pts/3", "").note == "a terminal");
  CHECK(fd_kind("/dev/shm/psm_1", "").on == WaitOn::kFile);
  CHECK(fd_kind("anon_inode:[pidfd]", "").on == WaitOn::kChild);
  CHECK(fd_kind("anon_inode:[eventpoll]", "").on == WaitOn::kUnknown);
  // Any process may change the file that is watched: no disk is waited for.
  CHECK(fd_kind("anon_inode:inotify", "").on == WaitOn::kUnknown);
  CHECK(fd_kind("", "").on == WaitOn::kUnknown);
}

TEST_CASE(
    "the side of a terminal that a program has made is no device, but leads to the other side") {
  const std::string side = terminal_side("/dev/ptmx", "pos:\t0\nflags:\t02\ntty-index:\t13\n");
  CHECK(fd_kind(side, "").on == WaitOn::kPipe);
  CHECK(fd_kind(side, "").path == "/dev/pts/13");
  CHECK(terminal_side("/dev/pts/ptmx", "tty-index:\t0") == "ptmx:[/dev/pts/0]");
  // An old kernel gives no number; the others are texts that no kernel writes.
  for (const std::string_view info : {"pos:\t0\n", "", "tty-index:", "tty-index:\tx\n",
                                      "tty-index:\t-1\n", "tty-index:\t99999999999\n"}) {
    CHECK(terminal_side("/dev/ptmx", info) == "/dev/ptmx");
  }
  CHECK(fd_kind("/dev/ptmx", "").on == WaitOn::kPipe);
  CHECK(terminal_side("/data/ptmx", "tty-index:\t1\n") == "/data/ptmx");
}

TEST_CASE("a deleted file keeps its name") {
  const LinkKind kind = fd_kind("/data/x.tar (deleted)", "");
  CHECK(kind.path == "/data/x.tar");
  CHECK(kind.note == "deleted");
}

TEST_CASE("the kernel function distinguishes a FIFO from a file") {
  CHECK(fd_kind("/data/x.tar", "anon_pipe_read").note.find("FIFO") != std::string::npos);
  CHECK(fd_kind("/data/x.tar", "pipe_read").note.find("FIFO") != std::string::npos);
  CHECK(fd_kind("/data/x.tar", "folio_wait_bit").note.empty());
}

}  // namespace
}  // namespace oddrank::waits
