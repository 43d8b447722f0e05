#include "waits/file_locks.h"

#include "tests/support/catch.h"

namespace oddrank::waits {
namespace {

// As a kernel 6.18 printed it.
constexpr std::string_view kTable =
    "1: POSIX  ADVISORY  WRITE 8405 fe:00:2146657 0 EOF\n"
    "1: -> POSIX  ADVISORY  WRITE 8350 fe:00:2146657 0 EOF\n"
    "2: OFDLCK ADVISORY  READ -1 00:05:4 0 0\n"
    "4: FLOCK  ADVISORY  WRITE 900 fe:00:2146641 0 EOF\n"
    "4: -> FLOCK  ADVISORY  WRITE 8350 fe:00:2146641 0 EOF\n"
    "4: -> FLOCK  ADVISORY  WRITE 8360 fe:00:2146641 0 EOF\n";

TEST_CASE("the holder is the row that the waiter's row hangs on") {
  const auto lock = blocking_lock(kTable, 8360, 0);
  REQUIRE(lock);
  CHECK(lock->holder == 900);
  CHECK(lock->kind == "FLOCK");
  CHECK(lock->inode == 2146641);
}

TEST_CASE("two waits of one process are told apart by the inode or not at all") {
  CHECK(!blocking_lock(kTable, 8350, 0));
  CHECK(blocking_lock(kTable, 8350, 2146657)->holder == 8405);
  CHECK(blocking_lock(kTable, 8350, 2146641)->holder == 900);
}

TEST_CASE("no wait, no holder") {
  CHECK(!blocking_lock(kTable, 900, 0));
  CHECK(!blocking_lock("", 8350, 0));
  CHECK(!blocking_lock("4: -> FLOCK  ADVISORY  WRITE 7 fe:00:1 0 EOF\n", 7, 0));
  CHECK(!blocking_lock("1: POSIX\n1: -> POSIX ADVISORY WRITE x y\n:::\n", 7, 0));
}

TEST_CASE("inode of an open file") {
  CHECK(inode_of_fdinfo("pos:\t0\nflags:\t02\nmnt_id:\t27\nino:\t2146641\n") == 2146641);
  CHECK(inode_of_fdinfo("pos:\t0\n") == 0);
  CHECK(inode_of_fdinfo("ino:\t-x\n") == 0);
}

TEST_CASE("locks of one descriptor, by the process that took them") {
  constexpr const char* kInfo =
      "pos:\t0\nflags:\t0100002\nmnt_id:\t30\nino:\t77\n"
      "lock:\t1: FLOCK  ADVISORY  WRITE 4711 00:1e:77 0 EOF\n";
  CHECK(has_lock(kInfo, 4711));
  CHECK_FALSE(has_lock(kInfo, 4712));  // a child that inherited the descriptor
  CHECK(has_lock("lock:\t1: OFDLCK ADVISORY  WRITE -1 00:1e:77 0 EOF\n", 9));
  CHECK_FALSE(has_lock("pos:\t0\nlock:\nlock:\t1: FLOCK\n", 9));
  CHECK_FALSE(has_lock("", 0));
}

}  // namespace
}  // namespace oddrank::waits
