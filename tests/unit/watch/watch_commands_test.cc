// The programs that a watch runs: one that captures, and the user's own at a stall.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/files/temp_folder.h"
#include "base/read_file.h"
#include "base/unique_fd.h"
#include "base/write_file.h"
#include "tests/support/catch.h"
#include "watch/stall_hook.h"
#include "watch/watch_capture.h"

namespace oddrank::watch {
namespace {

using std::chrono::milliseconds;

bool poll_child(const ChildCommand& child) {
  std::vector<pollfd> polled;
  child.add_pollfds(polled);
  ::poll(polled.data(), polled.size(), 20);
  return true;
}

std::vector<std::string> shell(const std::string& line) {
  return {"/bin/sh", "-c", line};
}

TEST_CASE("a capture is taken by the first program that writes one") {
  auto folder = TempFolder::make("oddrank-watch-");
  REQUIRE(folder);
  const std::string file = folder->path() + "/capture";
  const auto take = [&](const std::vector<std::vector<std::string>>& programs) {
    return take_capture(programs, file, milliseconds(20000), poll_child);
  };
  const auto first = take({shell("echo 1 > " + file), shell("echo 2 > " + file)});
  REQUIRE(first);
  CHECK(first->empty());
  CHECK(read_file(file).value_or("") == "1\n");
  ::unlink(file.c_str());
  const auto second = take({shell("echo no srun >&2; exit 4"), shell("echo 2 > " + file)});
  REQUIRE(second);
  CHECK(*second == "no srun");
  ::unlink(file.c_str());
  const auto none = take({shell("echo no srun >&2"), shell("echo nor this >&2")});
  REQUIRE_FALSE(none);
  CHECK(none.error().what == "no srun");
}

TEST_CASE("a program that does not exit is killed, at its deadline or when it is not needed") {
  auto folder = TempFolder::make("oddrank-watch-");
  REQUIRE(folder);
  const std::string file = folder->path() + "/capture";
  const auto late = take_capture({shell("exec sleep 3600")}, file, milliseconds(50), poll_child);
  REQUIRE_FALSE(late);
  CHECK(late.error().code == Errc::kTimeout);
  int asked = 0;
  const auto over = take_capture({shell("exec sleep 3600"), shell("echo 2 > " + file)}, file,
                                 milliseconds(20000), [&asked](const ChildCommand&) {
                                   ++asked;
                                   return false;
                                 });
  REQUIRE_FALSE(over);
  CHECK(over.error().code == Errc::kGone);
  CHECK(asked == 1);
}

TEST_CASE("the user's command is no rank, and gets the verdict") {
  const StallFacts facts{"/j.json", "/c.odd", "io_stall", "io_stall: rank 5 waits"};
  const auto environment = hook_environment(
      {"RANK=5", "LOCAL_RANK=1", "SLURM_PROCID=5", "SLURM_JOB_ID=4711", "RANKS=8", "PATH=/bin"},
      facts);
  const auto has = [&environment](const std::string& variable) {
    return std::find(environment.begin(), environment.end(), variable) != environment.end();
  };
  CHECK_FALSE(has("RANK=5"));
  CHECK_FALSE(has("LOCAL_RANK=1"));
  CHECK_FALSE(has("SLURM_PROCID=5"));
  CHECK(has("SLURM_JOB_ID=4711"));
  CHECK(has("RANKS=8"));
  CHECK(has("PATH=/bin"));
  CHECK(has("ODDRANK_JSON=/j.json"));
  CHECK(has("ODDRANK_CAPTURE=/c.odd"));
  CHECK(has("ODDRANK_KIND=io_stall"));
  CHECK(has("ODDRANK_SUMMARY=io_stall: rank 5 waits"));
}

StallHook ended(const std::string& line, milliseconds patience) {
  auto hook = StallHook::start(line, {"/j.json", "", "", ""}, patience);
  REQUIRE(hook);
  while (hook->advance()) {
    std::vector<pollfd> polled;
    hook->add_pollfds(polled);
    ::poll(polled.data(), polled.size(), 20);
  }
  return std::move(*hook);
}

std::string complaint_of(const std::string& line, milliseconds patience) {
  return ended(line, patience).complaint();
}

TEST_CASE("a failure of the user's command is reported") {
  constexpr milliseconds kLong{20000};
  CHECK(complaint_of("test \"$1\" = /j.json", kLong).empty());
  CHECK(complaint_of("echo a; echo b >&2; exit 3", kLong) == "exit status 3: b");
  CHECK(complaint_of("kill -TERM $$", kLong) == "signal 15 ended it");
  CHECK(complaint_of("exec sleep 3600", milliseconds(50)) ==
        "it timed out and was stopped, with all that it had started");
}

TEST_CASE("what the user's command has started ends with it, also if it ignores SIGTERM") {
  // The child keeps the pipe open for as long as it lives, whatever it does with signals.
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const UniqueFd read(ends[0]);
  UniqueFd write(ends[1]);
  const std::string line = "(trap '' TERM; echo >&" + std::to_string(write.get()) +
                           "; while :; do sleep 3600; done) & wait";
  auto hook = StallHook::start(line, {"/j.json", "", "", ""}, milliseconds(20000));
  REQUIRE(hook);
  write.reset();
  char byte = 0;
  REQUIRE(::read(read.get(), &byte, 1) == 1);  // it ignores the signal now
  { const StallHook stopped = std::move(*hook); }
  pollfd polled{read.get(), POLLIN, 0};
  REQUIRE(::poll(&polled, 1, 20000) == 1);
  CHECK(::read(read.get(), &byte, 1) == 0);
}

TEST_CASE("what the user's command writes is kept for the log") {
  constexpr milliseconds kLong{20000};
  CHECK(ended("echo ticket 7; echo b >&2", kLong).said() ==
        std::vector<std::string>{"ticket 7", "b"});
  CHECK(ended("true", kLong).said().empty());
  const auto last = ended("seq 1 5000", kLong).said();
  REQUIRE_FALSE(last.empty());
  CHECK(last.front().size() == 4);
  CHECK(last.back() == "5000");
}

}  // namespace
}  // namespace oddrank::watch
