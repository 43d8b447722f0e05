#include "waits/node/owners/lock_file_owners.h"

#include "tests/support/catch.h"

namespace oddrank::waits {
namespace {

TEST_CASE("a lock file holds its maker's pid, or that and this host's name") {
  CHECK(number_in_lock_file("4711", "here") == 4711);
  CHECK(number_in_lock_file("  4711\n", "here") == 4711);
  CHECK(number_in_lock_file("4711\nhere\n", "here") == 4711);
  CHECK(number_in_lock_file("4711\nhere\n88123\n", "here") == 4711);
}

TEST_CASE("other files hold no pid, and a pid of another host is ignored") {
  CHECK(number_in_lock_file("4711\nthere\n", "here") == 0);
  CHECK(number_in_lock_file("4711 here now\n", "here") == 0);
  CHECK(number_in_lock_file("step 4711", "here") == 0);
  CHECK(number_in_lock_file("4711.5", "here") == 0);
  CHECK(number_in_lock_file("-4711", "here") == 0);
  CHECK(number_in_lock_file("1", "here") == 0);
  CHECK(number_in_lock_file("99999999999999", "here") == 0);
  CHECK(number_in_lock_file("", "here") == 0);
}

}  // namespace
}  // namespace oddrank::waits
