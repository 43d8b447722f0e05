#include "aggregate/view/locals_diff.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "aggregate/diagnose.h"
#include "aggregate/view/groups.h"
#include "report/report_json.h"
#include "report/report_text.h"
#include "tests/support/capture_builder.h"
#include "tests/support/catch.h"

namespace oddrank::aggregate {
namespace {

using tests::native;
using tests::py;

using Locals = std::vector<std::pair<std::string, std::string>>;

// Returns ranks in the same recv; the loop's frame (index 2) has the locals of `locals_of`.
snapshot::Capture job(std::int32_t size,
                      const std::function<Locals(std::int32_t)>& locals_of,
                      const tests::FrameSpec& loop = py("train", "/home/u/demo/train.py", 88)) {
  tests::CaptureBuilder builder({"n0"}, size);
  for (std::int32_t rank = 0; rank < size; ++rank) {
    auto& process = builder.rank(rank, "n0", 1000 + rank);
    tests::ThreadSpec spec;
    spec.frames = {native("recv", "/lib/libc.so.6"), py("recv", "/home/u/demo/pipe.py", 12), loop};
    auto& thread = builder.thread(process, spec);
    snapshot::FrameLocals row;
    row.frame = 2;
    for (const auto& [name, value] : locals_of(rank)) {
      row.locals.push_back(
          {builder.capture.tables.string(name), builder.capture.tables.string(value)});
    }
    thread.locals.push_back(std::move(row));
  }
  return builder.take();
}

std::vector<std::string> differences(const snapshot::Capture& capture) {
  FrameModel model(capture.tables);
  const JobView view(capture, model);
  const auto groups = find_groups(view);
  REQUIRE(groups.size() == 1);
  std::vector<std::string> words;
  for (const LocalDifference& one : diff_locals(view, groups[0].ranks)) {
    words.push_back(one.words());
  }
  return words;
}

}  // namespace

TEST_CASE("a rank in another iteration is reported, the lagging counter first", "[aggregate]") {
  const auto capture = job(16, [](std::int32_t rank) {
    return Locals{{"backend", rank == 3 ? "'gloo'" : "'nccl'"},
                  {"ahead", rank == 2 ? "8" : "7"},
                  {"step", rank == 7 ? "1206" : "1207"},
                  {"epoch", "3"},
                  {"model", "<Model>"}};
  });
  CHECK(differences(capture) ==
        std::vector<std::string>{"step=1207 on 0-6,8-15; step=1206 on 7",
                                 "ahead=7 on 0-1,3-15; ahead=8 on 2",
                                 "backend='nccl' on 0-2,4-15; backend='gloo' on 3"});
  FrameModel model(capture.tables);
  const JobView view(capture, model);
  const auto first = diff_locals(view, find_groups(view)[0].ranks).front();
  CHECK(first.behind == std::vector<std::int32_t>{7});
  CHECK(first.function == "train");
  CHECK(first.place == "demo/train.py:88");
}

TEST_CASE("a variable that is meant to differ is no difference", "[aggregate]") {
  CHECK(differences(job(4, [](std::int32_t rank) {
          return Locals{
              {"rank", std::to_string(rank)}, {"local_rank", std::to_string(rank % 2)},
              {"me", std::to_string(rank)},   {"first_row", std::to_string(100 + rank)},
              {"api_token", "<hidden>"},      {"x", "<Tensor (" + std::to_string(rank) + ",)>"}};
        })).empty());
  CHECK(differences(job(1, [](std::int32_t) { return Locals{{"step", "1"}}; })).empty());
  CHECK(differences(job(2, [](std::int32_t) { return Locals{}; })).empty());
}

TEST_CASE("time limits of Python's own waits are no difference", "[aggregate]") {
  const auto timeouts = [](std::int32_t rank) {
    return Locals{{"timeout", rank == 3 ? "0.4999" : "0.5"}};
  };
  CHECK(differences(job(8, timeouts)).size() == 1);
  CHECK(
      differences(job(8, timeouts, py("Queue.get", "/usr/lib/python3.11/queue.py", 171))).empty());
}

TEST_CASE("a rank's place in the job's layout is no difference", "[aggregate]") {
  CHECK(differences(job(8, [](std::int32_t rank) {
          return Locals{{"stage", std::to_string(rank / 4)},
                        {"shard", std::to_string(rank % 4)},
                        {"replica", std::to_string(rank / 2 % 2)}};
        })).empty());
  // A rank that is not where the layout puts it is a difference.
  CHECK(differences(job(8, [](std::int32_t rank) {
          return Locals{{"stage", rank == 7 ? "0" : std::to_string(rank / 4)}};
        })) == std::vector<std::string>{"stage=0 on 0-3,7; stage=1 on 4-6"});
}

TEST_CASE("the smallest and largest numbers are handled", "[aggregate]") {
  const auto capture = job(3, [](std::int32_t rank) {
    return Locals{{"x", rank == 0 ? "9223372036854775807" : "-9223372036854775808"}};
  });
  CHECK(differences(capture).size() == 1);
}

TEST_CASE("two ranks have no majority: the lower counter is behind", "[aggregate]") {
  const auto capture = job(2, [](std::int32_t rank) {
    return Locals{{"step", rank == 0 ? "11" : "12"}};
  });
  CHECK(differences(capture) == std::vector<std::string>{"step=12 on 1; step=11 on 0"});
}

TEST_CASE("many values are cut, many differences too", "[aggregate]") {
  const auto capture = job(12, [](std::int32_t rank) {
    Locals locals;
    for (int i = 0; i < 20; ++i) {
      locals.emplace_back("loss" + std::to_string(i), std::to_string(rank * rank + i) + ".5");
    }
    return locals;
  });
  const auto words = differences(capture);
  CHECK(words.size() == kMaxLocalDifferences);
  CHECK(words[0].find("; 8 more values") != std::string::npos);
}

TEST_CASE("locals that name no frame are left out", "[aggregate]") {
  auto capture = job(2, [](std::int32_t rank) {
    return Locals{{"step", std::to_string(10 * rank)}};
  });
  capture.processes[0].threads[0].locals[0].frame = 99;
  CHECK(differences(capture).empty());
}

TEST_CASE("reports show the difference", "[aggregate]") {
  const auto capture = job(16, [](std::int32_t rank) {
    return Locals{{"step", rank == 7 ? "1206" : "1207"}};
  });
  const Diagnosis report = diagnose(capture);
  const std::string text = report::report_text(report, capture, {});
  INFO(text);
  CHECK(text.find("step=1207 on 0-6,8-15; step=1206 on 7 in train (demo/train.py:88)") !=
        std::string::npos);
  const std::string json = report::report_json(report, capture);
  CHECK(json.find("\"behind\": \"7\"") != std::string::npos);
  CHECK(json.find("\"locals_differ\"") != std::string::npos);
}

}  // namespace oddrank::aggregate
