// Why a process may not be read, with real processes. The reader first drops its privileges, in a
// child, so these tests need root.
#include <sys/prctl.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "attach/live_target.h"
#include "attach/permission.h"
#include "attach/proc_stat.h"
#include "base/isolated.h"
#include "tests/support/catch.h"
#include "tests/support/victim.h"

using oddrank::Errc;
using oddrank::attach::LiveTarget;
using oddrank::test::Victim;
using oddrank::test::victim_path;

namespace {

constexpr uid_t kNobody = 65534;
constexpr uid_t kSomebody = 65533;

// Returns the result of LiveTarget::open for user `uid`: "readable", or the error.
std::string open_as(uid_t uid, pid_t pid) {
  oddrank::IsolatedTask task;
  task.run = [uid, pid](int fd) {
    if (::setresgid(uid, uid, uid) != 0 || ::setresuid(uid, uid, uid) != 0) {
      oddrank::send_bytes(fd, "cannot become another user");
      return;
    }
    const auto target = LiveTarget::open(pid);
    oddrank::send_bytes(fd, target ? "readable"
                                   : target.error().what + " | " + target.error().hint +
                                         (target.error().code == Errc::kPermission ? " [P]" : ""));
  };
  const auto results = oddrank::run_isolated({task}, 1);
  REQUIRE(results.size() == 1);
  REQUIRE(results[0].end == oddrank::IsolatedEnd::kFinished);
  return results[0].bytes;
}

// Starts `blocked MODE` as user `uid`.
Victim start_as(uid_t uid, const std::string& mode) {
  const std::string number = std::to_string(uid);
  auto victim = Victim::start({"setpriv", "--reuid=" + number, "--regid=" + number,
                               "--clear-groups", victim_path("blocked"), mode});
  REQUIRE(victim);
  REQUIRE(victim->wait_line("ready"));
  return *std::move(victim);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a process of the same user is readable without root") {
  if (::geteuid() != 0) {
    ODDRANK_SKIP("needs root, to become other users");
  }
  const Victim victim = start_as(kNobody, "pause");
  const std::string said = open_as(kNobody, victim.pid());
  if (contains(said, "ptrace_scope")) {
    CHECK(contains(said, "[P]"));  // Yama is on here, and the error names it
    return;
  }
  CHECK(said == "readable");
}

TEST_CASE("a process of another user is refused, and the error names both users") {
  if (::geteuid() != 0) {
    ODDRANK_SKIP("needs root, to become other users");
  }
  const Victim victim = start_as(kSomebody, "pause");
  const std::string said = open_as(kNobody, victim.pid());
  INFO(said);
  CHECK(contains(said, "it belongs to user 65533, we are user 65534"));
  CHECK(contains(said, "as root"));
  CHECK(contains(said, "[P]"));
}

TEST_CASE("a process that is not dumpable is refused to its own user") {
  if (::geteuid() != 0) {
    ODDRANK_SKIP("needs root, to become other users");
  }
  const Victim victim = start_as(kNobody, "hidden");
  const std::string said = open_as(kNobody, victim.pid());
  INFO(said);
  CHECK(contains(said, "not dumpable"));
  CHECK(contains(said, "[P]"));
  CHECK(open_as(0, victim.pid()) == "readable");
}

TEST_CASE("a process in another user namespace is refused to root of that user's kind") {
  if (::geteuid() != 0) {
    ODDRANK_SKIP("needs root, to become other users");
  }
  const std::string number = std::to_string(kNobody);
  auto victim =
      Victim::start({"setpriv", "--reuid=" + number, "--regid=" + number, "--clear-groups",
                     "unshare", "--user", "--map-root-user", victim_path("blocked"), "pause"});
  REQUIRE(victim);
  if (!victim->wait_line("ready")) {
    ODDRANK_SKIP("this machine does not let users make user namespaces");
  }
  const std::string said = open_as(kSomebody, victim->pid());
  INFO(said);
  CHECK(contains(said, "user namespace"));
  CHECK(contains(said, "[P]"));
}

TEST_CASE("missing processes and kernel threads have different errors") {
  const auto gone = LiveTarget::open(0x7ffffff0);
  REQUIRE_FALSE(gone);
  CHECK(gone.error().code == Errc::kGone);
  CHECK(contains(gone.error().what, "does not exist"));
  const auto kernel = oddrank::attach::read_proc_stat(2);
  if (!kernel || !kernel->kernel_thread) {
    ODDRANK_SKIP("no thread of the kernel is visible in this pid namespace");
  }
  const auto thread = LiveTarget::open(2);
  REQUIRE_FALSE(thread);
  CHECK(thread.error().code == Errc::kUnsupported);
  CHECK(contains(thread.error().what, "kernel"));
}
