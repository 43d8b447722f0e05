#include "base/result.h"

#include <cerrno>

#include "tests/support/catch.h"

namespace oddrank {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) {
    return fail(Errc::kBadData, "odd");
  }
  return number / 2;
}

Result<int> quarter(int number) {
  ODDRANK_TRY(const int first, half(number));
  ODDRANK_TRY(const int second, half(first));
  return second;
}

TEST_CASE("TRY declares the value or returns the error") {
  CHECK(*quarter(8) == 2);
  CHECK(quarter(6).error().what == "odd");
}

TEST_CASE("context goes in front") {
  Error error{Errc::kGone, "it ended", "look at the log"};
  const Error wrapped = std::move(error).in("rank 3");
  CHECK(wrapped.what == "rank 3: it ended");
  CHECK(wrapped.hint == "look at the log");
  CHECK(wrapped.code == Errc::kGone);
}

TEST_CASE("errno has our code and our letter case") {
  CHECK(errno_code(EPERM) == Errc::kPermission);
  CHECK(errno_code(ESRCH) == Errc::kGone);
  CHECK(errno_text(EPERM) == "operation not permitted");
}

}  // namespace
}  // namespace oddrank
