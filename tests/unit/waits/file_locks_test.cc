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

TEST_CASE("the holder is the row that the waiter's row follows") {
  const auto lock = blocking_lock(kTable, 8360, 0);
  REQUIRE(lock);
  CHECK(lock->holder == 900);
  CHECK(lock->kind == "FLOCK");
  CHECK(lock->inode == 2146641);
}

TEST_CASE("two waits of one process are distinguished by the inode or not at all") {
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

TEST_CASE("held locks, without awaited ones") {
  const auto locks = held_locks(kTable);
  REQUIRE(locks.size() == 3);
  CHECK(locks[0] == HeldLock{"POSIX", true, 8405, {std::uint64_t{0xfe} << 32, 2146657}, 0});
  CHECK(locks[1] == HeldLock{"OFDLCK", false, -1, {5, 4}, 0});
  CHECK(locks[2].file.inode == 2146641);
}

TEST_CASE("the start of a lock") {
  const auto locks = held_locks("3: POSIX  ADVISORY  WRITE 7 08:11:9 1073741824 1073742335\n");
  REQUIRE(locks.size() == 1);
  CHECK(locks[0].start == 1073741824);
  CHECK(locks[0].file.device == (std::uint64_t{8} << 32 | 0x11));
}

TEST_CASE("rows that are no locks are left out") {
  CHECK(held_locks("").empty());
  CHECK(held_locks("3: POSIX  ADVISORY  WRITE 7 08:11:9 10\n:::\n").empty());
  CHECK(held_locks("3: POSIX  ADVISORY  WRITE x 08:11:9 0 EOF\n").empty());
  CHECK(held_locks("3: POSIX  ADVISORY  WRITE 7 08:9 0 EOF\n").empty());
  CHECK(held_locks("3: POSIX  ADVISORY  WRITE 7 zz:11:9 0 EOF\n").empty());
  CHECK(held_locks("3: POSIX  ADVISORY  WRITE 7 08:11:9 EOF 0\n").empty());
}

TEST_CASE("locks of an open file, and the mount that it is on") {
  constexpr std::string_view kInfo =
      "pos:\t0\nflags:\t0100002\nmnt_id:\t30\nino:\t77\n"
      "lock:\t1: FLOCK  ADVISORY  WRITE 4711 00:1e:77 0 EOF\n"
      "lock:\t2: OFDLCK ADVISORY  READ -1 00:1e:77 5 9\n";
  const auto locks = locks_of_fdinfo(kInfo);
  REQUIRE(locks.size() == 2);
  CHECK(locks[0] == HeldLock{"FLOCK", true, 4711, {0x1e, 77}, 0});
  CHECK(locks[1] == HeldLock{"OFDLCK", false, -1, {0x1e, 77}, 5});
  CHECK(mount_of_fdinfo(kInfo) == 30);
  CHECK(mount_of_fdinfo("mnt_id:\t-\n") == 0);
  CHECK(locks_of_fdinfo("lock:\nlock:\t1: FLOCK\n").empty());
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
