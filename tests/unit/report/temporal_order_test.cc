// Which of several paths through the program is behind, judged by counters; and what must not
// decide it.
#include "report/tree/temporal_order.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "aggregate/diagnose.h"
#include "report/report_dot.h"
#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"
#include "tests/support/viewed.h"

namespace oddrank::report {
namespace {

using tests::native;
using tests::py;

using LoopLocals = std::vector<std::pair<std::string, std::string>>;

constexpr std::string_view kProgram = "/home/u/demo/train.py";

// Returns ranks in which train() has called the function that `ways` returns; train's frame, or the
// one `frame` further in, has the locals that `locals_of` returns.
snapshot::Capture job_in_loops(std::int32_t size,
                               const std::function<std::string(std::int32_t)>& way,
                               const std::function<LoopLocals(std::int32_t)>& locals_of,
                               std::uint32_t frame = 2) {
  tests::CaptureBuilder builder({"n0"}, size);
  for (std::int32_t rank = 0; rank < size; ++rank) {
    tests::ThreadSpec spec;
    spec.frames = {native("recv", "/lib/libc.so.6"), py(way(rank), kProgram, 12),
                   py("train", kProgram, 88), py("<module>", kProgram, 99)};
    auto& thread = builder.thread(builder.rank(rank, "n0", 1000 + rank), spec);
    snapshot::FrameLocals row;
    row.frame = frame;
    for (const auto& [name, value] : locals_of(rank)) {
      row.locals.push_back(
          {builder.capture.tables.string(name), builder.capture.tables.string(value)});
    }
    thread.locals.push_back(std::move(row));
  }
  return builder.take();
}

// Returns the children of the first node that has several, as "function counter", with "!" if
// behind.
std::vector<std::string> siblings(const snapshot::Capture& capture) {
  aggregate::FrameModel model(capture.tables);
  const aggregate::JobView view(capture, model);
  const PrefixTree tree = build_prefix_tree(view);
  std::vector<std::string> found;
  for (const TreeNode& node : tree.nodes) {
    if (node.children.size() < 2) {
      continue;
    }
    for (const std::size_t at : node.children) {
      const TreeNode& child = tree.nodes[at];
      found.push_back(child.frame.name + (child.counter.empty() ? "" : " " + child.counter) +
                      (child.behind ? "!" : ""));
    }
    break;
  }
  return found;
}

using Names = std::vector<std::string>;

const Names kMostFirst = {"sync", "load"};  // if nothing decides

// Returns "load" for two of eight ranks, "sync" for the others.
std::string two_load(std::int32_t rank) {
  return rank == 3 || rank == 5 ? "load" : "sync";
}

bool loads(std::int32_t rank) {
  return rank == 3 || rank == 5;
}

TEST_CASE("time: the lower counter is behind and comes first, with its evidence") {
  const auto capture = job_in_loops(8, two_load, [](std::int32_t rank) {
    return LoopLocals{{"epoch", "3"}, {"step", loads(rank) ? "1206" : "1207"}};
  });
  CHECK(siblings(capture) == Names{"load step=1206!", "sync step=1207"});
  const std::string dot = report_dot(aggregate::diagnose(capture), tests::Viewed(capture));
  INFO(dot);
  CHECK(dot.find("[label=\"2: 3,5 | step=1206, behind\"]") != std::string::npos);
  CHECK(dot.find("[label=\"6: 0-2,4,6-7 | step=1207\"]") != std::string::npos);
  CHECK(dot.find("train demo/train.py:88\\l\", ordering=out]") != std::string::npos);
  CHECK(dot.find("step=1206") < dot.find("step=1207"));
}

TEST_CASE("time: ranges that do not overlap decide, too") {
  CHECK(siblings(job_in_loops(8, two_load, [](std::int32_t rank) {
          return LoopLocals{{"step", std::to_string(loads(rank) ? 10 + rank : 16 + rank % 2)}};
        })) == Names{"load step=13 to 15!", "sync step=16 to 17"});
}

TEST_CASE("time: of three paths, two with overlapping counters are ordered by size") {
  const auto way = [](std::int32_t rank) -> std::string {
    return rank == 0 ? "early" : rank < 3 ? "few" : "many";
  };
  CHECK(siblings(job_in_loops(8, way, [](std::int32_t rank) {
          return LoopLocals{{"step", rank == 0 ? "4" : "5"}};
        })) == Names{"early step=4!", "many step=5", "few step=5"});
  // early and many do not overlap, but few overlaps both.
  CHECK(siblings(job_in_loops(8, way, [](std::int32_t rank) {
          return LoopLocals{{"step", rank <= 1 ? "4" : "5"}};
        })) == Names{"many", "few", "early"});
}

TEST_CASE("time: the frame of the branch itself counts, if all are in the same function") {
  const auto lines = [](bool same_function) {
    tests::CaptureBuilder builder({"n0"}, 3);
    for (std::int32_t rank = 0; rank < 3; ++rank) {
      tests::ThreadSpec spec;
      const bool late = rank == 2;
      spec.frames = {py(late && !same_function ? "test" : "train", kProgram, late ? 90 : 88),
                     py("<module>", kProgram, 99)};
      auto& thread = builder.thread(builder.rank(rank, "n0", 1000 + rank), spec);
      snapshot::FrameLocals row;
      row.locals = {
          {builder.capture.tables.string("i"), builder.capture.tables.string(late ? "6" : "7")}};
      thread.locals.push_back(row);
    }
    return siblings(builder.take());
  };
  CHECK(lines(true) == Names{"train i=6!", "train i=7"});
  CHECK(lines(false) == Names{"train", "test"});
}

TEST_CASE("time: overlapping counters decide nothing") {
  CHECK(siblings(job_in_loops(8, two_load, [](std::int32_t rank) {
          return LoopLocals{{"step", rank == 3 || rank == 0 ? "1206" : "1207"}};
        })) == kMostFirst);
  CHECK(siblings(job_in_loops(8, two_load, [](std::int32_t) {
          return LoopLocals{{"step", "7"}};
        })) == kMostFirst);
}

TEST_CASE("time: a variable that one rank lacks decides nothing") {
  for (const std::int32_t lacking : {0, 3}) {
    CHECK(siblings(job_in_loops(8, two_load, [lacking](std::int32_t rank) {
            return rank == lacking ? LoopLocals{}
                                   : LoopLocals{{"step", loads(rank) ? "1206" : "1207"}};
          })) == kMostFirst);
    CHECK(siblings(job_in_loops(8, two_load, [lacking](std::int32_t rank) {
            return LoopLocals{{"step", rank == lacking ? "None" : loads(rank) ? "1206" : "1207"}};
          })) == kMostFirst);
  }
}

TEST_CASE("time: a variable that only inner frames have decides nothing") {
  // The same name and file, but of a call that only those ranks are in.
  CHECK(siblings(job_in_loops(
            8, two_load,
            [](std::int32_t rank) {
              return LoopLocals{{"step", loads(rank) ? "1206" : "1207"}};
            },
            1)) == kMostFirst);
}

TEST_CASE("time: a variable that follows the rank decides nothing") {
  const auto high = [](std::int32_t rank) -> std::string { return rank < 3 ? "load" : "sync"; };
  const auto reported_by = [&high](const std::function<std::int64_t(std::int32_t)>& number) {
    return siblings(job_in_loops(8, high, [&number](std::int32_t rank) {
      return LoopLocals{{"x", std::to_string(number(rank))}};
    }));
  };
  CHECK(reported_by([](std::int32_t rank) { return rank; }) == kMostFirst);
  CHECK(reported_by([](std::int32_t rank) { return 100 + rank; }) == kMostFirst);
  CHECK(reported_by([](std::int32_t rank) { return 1000 * rank * rank; }) == kMostFirst);
  const auto stages = [](std::int32_t rank) -> std::string { return rank < 4 ? "load" : "sync"; };
  const auto layout = [&stages](const std::function<std::int64_t(std::int32_t)>& number) {
    return siblings(job_in_loops(8, stages, [&number](std::int32_t rank) {
      return LoopLocals{{"x", std::to_string(number(rank))}};
    }));
  };
  CHECK(layout([](std::int32_t rank) { return rank / 4; }) == Names{"load", "sync"});
  CHECK(layout([](std::int32_t rank) { return 5 + rank / 4; }) == Names{"load x=5!", "sync x=6"});
  CHECK(siblings(job_in_loops(8, high, [](std::int32_t rank) {
          return LoopLocals{{"local_rank", rank < 3 ? "0" : "1"},
                            {"seed_of_epoch", rank < 3 ? "1" : "2"}};
        })) == kMostFirst);
}

TEST_CASE("time: two counters that contradict each other decide nothing") {
  CHECK(siblings(job_in_loops(8, two_load, [](std::int32_t rank) {
          return LoopLocals{{"step", loads(rank) ? "1206" : "1207"},
                            {"left", loads(rank) ? "4" : "3"}};
        })) == kMostFirst);
  // A counter that decides nothing does not contradict; if two agree, the first in the source
  // counts.
  CHECK(siblings(job_in_loops(8, two_load, [](std::int32_t rank) {
          return LoopLocals{{"batch", std::to_string(rank % 3)},
                            {"seen", loads(rank) ? "512" : "544"},
                            {"step", loads(rank) ? "16" : "17"}};
        })) == Names{"load seen=512!", "sync seen=544"});
}

TEST_CASE("time: if a function is active twice, the outermost activations are compared") {
  tests::CaptureBuilder builder({"n0"}, 3);
  for (std::int32_t rank = 0; rank < 3; ++rank) {
    const bool late = rank == 2;
    tests::ThreadSpec spec;
    spec.frames = {py(late ? "load" : "sync", kProgram, 5), py("walk", kProgram, 3),
                   py("walk", kProgram, 3), py("<module>", kProgram, 99)};
    auto& thread = builder.thread(builder.rank(rank, "n0", 1000 + rank), spec);
    const auto add = [&](std::uint32_t frame, std::string_view value) {
      snapshot::FrameLocals row;
      row.frame = frame;
      row.locals = {{builder.capture.tables.string("at"), builder.capture.tables.string(value)}};
      thread.locals.push_back(row);
    };
    add(2, late ? "6" : "7");  // the outer one
    if (!late) {
      add(1, "1");
    }
  }
  CHECK(siblings(builder.take()) == Names{"load at=6!", "sync at=7"});
}

TEST_CASE("time: the smallest and largest numbers are handled") {
  CHECK(siblings(job_in_loops(8, two_load, [](std::int32_t rank) {
          return LoopLocals{{"step", loads(rank) ? "-9223372036854775808" : "9223372036854775807"}};
        })) == Names{"load step=-9223372036854775808!", "sync step=9223372036854775807"});
}

}  // namespace
}  // namespace oddrank::report
