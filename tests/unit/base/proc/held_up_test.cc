#include "base/proc/held_up.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>

#include "base/isolated.h"
#include "base/unique_fd.h"
#include "tests/support/catch.h"

namespace oddrank {
namespace {

// Runs the task until its deadline; returns what it was held up by.
std::string held_up(const std::function<void(int)>& run) {
  const IsolatedTask task{run, std::chrono::milliseconds(300)};
  const IsolatedResult result = run_isolated({task}, 1).front();
  CHECK(result.end == IsolatedEnd::kDeadline);
  return result.held_up_by;
}

}  // namespace

TEST_CASE("a child that misses its deadline in a call on a file is held up by that file") {
  std::string folder = "/tmp/oddrank-test-XXXXXX";
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const std::string fifo = folder + "/fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  CHECK(held_up([&](int) { ::open(fifo.c_str(), O_RDONLY); }) == "openat() of " + fifo);
  CHECK(held_up([&](int) {
          ::open("fifo", O_RDONLY | O_CLOEXEC);
          (void)::openat(::open(folder.c_str(), O_PATH), "fifo", O_RDONLY);
        }) == "openat() of " + fifo);
  const UniqueFd both(::open(fifo.c_str(), O_RDWR | O_CLOEXEC));
  CHECK(held_up([&](int) {
          char byte = 0;
          [[maybe_unused]] const ssize_t count = ::read(both.get(), &byte, 1);
        }) == "read() of " + fifo);
  CHECK(held_up([](int) { ::pause(); }).empty());
  CHECK(held_up([](int) {
          while (true) {
          }
        }).empty());
  ::unlink(fifo.c_str());
  ::rmdir(folder.c_str());
}

TEST_CASE("a file that does not answer is not waited for until the deadline") {
  std::string folder = "/tmp/oddrank-test-XXXXXX";
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const std::string fifo = folder + "/fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  const IsolatedTask task{[&](int) { ::open(fifo.c_str(), O_RDONLY); }, std::chrono::seconds(8)};
  const IsolatedTask other{[](int) { ::usleep(3'000'000); }, std::chrono::seconds(60)};
  const auto results = run_isolated({task, other}, 2);
  CHECK(results[0].end == IsolatedEnd::kDeadline);
  CHECK(results[0].held_up_by == "openat() of " + fifo);
  CHECK(results[0].took < std::chrono::seconds(6));
  CHECK(results[1].end == IsolatedEnd::kFinished);  // no file holds it up
  ::unlink(fifo.c_str());
  ::rmdir(folder.c_str());
}

}  // namespace oddrank
