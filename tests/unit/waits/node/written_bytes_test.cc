#include "waits/node/written_bytes.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "tests/support/catch.h"
#include "tests/support/emulated.h"

namespace oddrank::waits {

TEST_CASE("what a process has written is read from /proc/PID/io") {
  CHECK(parse_io("rchar: 323934931\nwchar: 323929600\nsyscr: 632687\n") ==
        IoBytes{323929600, 323934931});
  CHECK(parse_io("wchar: 0\n") == IoBytes{0, -1});
  CHECK(parse_io("rchar: 1\nsyscw: 2\n") == IoBytes{-1, 1});
  CHECK(parse_io("wchar: -7\nrchar: -7\n") == IoBytes{});
  CHECK(parse_io("wchar: 99999999999999999999\n") == IoBytes{});
  CHECK(parse_io("") == IoBytes{});
}

TEST_CASE("only what a process wrote meanwhile counts") {
  ODDRANK_NEEDS_KERNEL();
  std::array<int, 2> orders{};
  std::array<int, 2> answers{};
  REQUIRE(::pipe(orders.data()) == 0);
  REQUIRE(::pipe(answers.data()) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(orders[1]);
    char byte = 0;
    while (::read(orders[0], &byte, 1) == 1) {
      static_cast<void>(::write(answers[1], "12345", 5));
    }
    ::_exit(0);
  }
  const auto writes = [&] {
    std::array<char, 5> answer{};
    REQUIRE(::write(orders[1], "x", 1) == 1);
    REQUIRE(::read(answers[0], answer.data(), answer.size()) == 5);
  };
  FirstIo first;
  snapshot::ProcessCapture sample;
  const auto take_sample = [&] {
    sample.pid = child;
    const IoBytes io = read_io(child);
    sample.written_bytes = io.written;
    sample.read_bytes = io.read;
    first.subtract_from(sample);
  };
  writes();
  take_sample();
  CHECK(sample.written_bytes == 0);
  writes();
  take_sample();
  CHECK(sample.written_bytes == 5);
  CHECK(sample.read_bytes == 1);
  for (const int fd : {orders[0], orders[1], answers[0], answers[1]}) {
    ::close(fd);
  }
  CHECK(::waitpid(child, nullptr, 0) == child);
}

}  // namespace oddrank::waits
