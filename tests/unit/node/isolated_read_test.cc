// Data that a reader's child sends to its parent: through a real pipe, and damaged on purpose.
#include "node/isolated_read.h"

#include <signal.h>

#include <functional>

#include "snapshot/format/capture_file.h"
#include "tests/support/capture_builder.h"
#include "tests/support/catch.h"

namespace oddrank::node {
namespace {

using snapshot::Capture;
using std::chrono::milliseconds;

constexpr milliseconds kPatience{20000};

Capture sample() {
  tests::CaptureBuilder job({"n0"}, 1);
  job.thread(job.rank(0, "n0", 10), {{tests::py("step", "train.py", 9)}});
  return job.take();
}

Result<Capture> sent_by(const std::function<void(int fd)>& child) {
  return received_capture(run_isolated({{child, kPatience}}, 1).front());
}

Result<Capture> received(const std::string& bytes) {
  return received_capture({IsolatedEnd::kFinished, 0, bytes, {}, {}});
}

TEST_CASE("a capture travels through the pipe") {
  const auto capture = sent_by([](int fd) { send_capture(fd, sample()); });
  REQUIRE(capture);
  CHECK(snapshot::encode_capture(*capture) == snapshot::encode_capture(sample()));
}

TEST_CASE("an error travels through the pipe, with its code and its hint") {
  const Error error{Errc::kPermission, "cannot read maps of pid 7",
                    "run as the job's user,\nor as root"};
  const auto capture = sent_by([&error](int fd) { send_capture(fd, fail(error)); });
  REQUIRE_FALSE(capture);
  CHECK(capture.error().code == error.code);
  CHECK(capture.error().what == error.what);
  CHECK(capture.error().hint == error.hint);
}

TEST_CASE("an error of every code travels") {
  for (const Errc code : {Errc::kPermission, Errc::kGone, Errc::kNotFound, Errc::kTimeout,
                          Errc::kUnsupported, Errc::kBadData, Errc::kIo, Errc::kUsage}) {
    const auto capture = sent_by([code](int fd) { send_capture(fd, fail(code, "why")); });
    REQUIRE_FALSE(capture);
    CHECK(capture.error().code == code);
  }
}

TEST_CASE("a capture that was cut anywhere is refused") {
  const std::string whole = snapshot::encode_capture(sample());
  REQUIRE(received(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto cut = received(whole.substr(0, size));
    REQUIRE_FALSE(cut);
    CHECK(cut.error().code == Errc::kIo);
  }
  CHECK(received("").error().what == "the reader sent nothing");
  CHECK(received(whole.substr(0, whole.size() / 2)).error().what ==
        "the reader sent an incomplete capture");
}

TEST_CASE("an error that is cut or made up is refused") {
  for (const char* bytes : {"E", "E1", "E1\nwhat", "Ex\nwhat\n", "E-1\nwhat\n", "E99\nwhat\n"}) {
    const auto cut = received(bytes);
    REQUIRE_FALSE(cut);
    CHECK(cut.error().code == Errc::kIo);
    CHECK(cut.error().what == "the reader sent an incomplete error");
  }
}

TEST_CASE("a reader that sent nothing is described by its end") {
  const auto crashed = sent_by([](int) { ::raise(SIGKILL); });
  REQUIRE_FALSE(crashed);
  CHECK(crashed.error().what == "the reader was ended by signal 9");
  const auto late = received_capture({IsolatedEnd::kDeadline, 9, "", milliseconds(3040), {}});
  REQUIRE_FALSE(late);
  CHECK(late.error().code == Errc::kTimeout);
  CHECK(late.error().what == "did not answer in 3 s");
  CHECK(received_capture({IsolatedEnd::kNotRun, 0, "", {}, {}}).error().what ==
        "no reader could be started");
}

TEST_CASE("a source for whose tasks no time was left says for how many ranks") {
  std::vector<IsolatedResult> results(3);
  std::vector<std::string> notes;
  note_no_time(results, "the dumps", notes);
  CHECK(notes.empty());
  results[1].end = IsolatedEnd::kNoTime;
  note_no_time(results, "the dumps", notes);
  results[2].end = IsolatedEnd::kNoTime;
  note_no_time(results, "the dumps", notes);
  CHECK(notes == std::vector<std::string>{"no time was left for the dumps of 1 rank",
                                          "no time was left for the dumps of 2 ranks"});
}

}  // namespace
}  // namespace oddrank::node
