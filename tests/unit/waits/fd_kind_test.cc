#include "waits/fd_kind.h"

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
