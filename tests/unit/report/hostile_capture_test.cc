// Captures whose few bytes describe gigabytes: decoding and reporting them takes no more memory
// than 32 times the file and 64 MiB, ranks that did not answer aside. Each is tried in a child with
// that limit (base/confine.h), which dies if it needs more.
#include <zstd.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "aggregate/diagnose.h"
#include "base/confine.h"
#include "base/isolated.h"
#include "report/html/report_html.h"
#include "report/report_dot.h"
#include "report/report_json.h"
#include "report/report_profiles.h"
#include "report/report_text.h"
#include "report/text_options.h"
#include "snapshot/format/capture_file.h"
#include "tests/support/catch.h"

namespace oddrank::report {
namespace {

using snapshot::Capture;
using snapshot::Frame;
using snapshot::FrameId;
using snapshot::ProcessCapture;
using snapshot::StackId;
using snapshot::ThreadCapture;

constexpr std::size_t kManyTimes = 32;
constexpr std::size_t kInAnyCase = std::size_t{64} << 20;

// How many rows to try, smallest first. Where memory has no limit, only the code's own faults can
// show, for which the fewest rows do.
std::vector<std::size_t> sizes(std::vector<std::size_t> ascending) {
  if (!memory_is_limited()) {
    ascending.resize(1);
  }
  return ascending;
}

// Makes the file in a child, so that its memory is not ours.
std::string made(const std::function<std::string()>& make) {
  IsolatedTask task{[&make](int fd) { send_bytes(fd, make()); }, std::chrono::seconds(120)};
  task.may.memory = std::size_t{8} << 30;
  const auto result = run_isolated({task}, 1).front();
  REQUIRE(result.end == IsolatedEnd::kFinished);
  return result.bytes;
}

std::string encoded(const std::function<void(Capture&)>& fill) {
  return made([&fill] {
    Capture capture;
    capture.nodes.emplace_back().host = "n0";
    capture.nodes.front().answered = true;
    fill(capture);
    return snapshot::encode_capture(capture);
  });
}

// Returns "decoded ..." or the decoder's refusal; fails if the limit is too low for either.
std::string report_within_limit(const std::string& file, std::size_t many_times = kManyTimes) {
  const IsolatedTask task{[&file](int fd) {
                            auto capture = snapshot::decode_capture(file);
                            if (!capture) {
                              send_bytes(fd, capture.error().what);
                              return;
                            }
                            aggregate::FrameModel model(capture->tables);
                            const aggregate::JobView view(*capture, model);
                            const auto report = aggregate::diagnose(view);
                            const auto done = [fd](const char* stage, std::size_t bytes) {
                              send_bytes(fd,
                                         std::string(stage) + " " + std::to_string(bytes) + " ");
                            };
                            done("decoded", report.groups.size());
                            done("json", report_json(report, view).size());
                            done("html", report_html(report, view).size());
                            done("folded", report_folded(view).size());
                            done("speedscope", report_speedscope(view).size());
                            done("dot", report_dot(report, view).size());
                            done("text", report_text(report, *capture, TextOptions()).size());
                          },
                          std::chrono::seconds(120)};
  IsolatedTask limited = task;
  limited.may.memory = file.size() * many_times + kInAnyCase;
  const auto result = run_isolated({limited}, 1).front();
  INFO("the file has " << file.size() << " bytes; signal " << result.signal << "; "
                       << result.bytes);
  CHECK(result.end == IsolatedEnd::kFinished);
  return result.bytes;
}

void add_tasks(ProcessCapture& process, std::size_t count, const snapshot::AsyncTask& task) {
  for (std::size_t i = 0; i < count; ++i) {
    process.tasks.push_back(task);
  }
}

ThreadCapture thread_with(StackId stack) {
  ThreadCapture thread;
  thread.tid = 7;
  thread.samples.emplace_back().stack = stack;
  return thread;
}

StackId deep_stack(Capture& capture, std::size_t depth, std::size_t text = 8) {
  snapshot::Stack stack;
  for (std::size_t i = 0; i < depth; ++i) {
    Frame frame;
    frame.kind = snapshot::FrameKind::kPython;
    frame.function = capture.tables.string("f" + std::to_string(i) + std::string(text, 'x'));
    frame.line = static_cast<std::uint32_t>(i);
    stack.frames.push_back(capture.tables.frame(frame));
  }
  return capture.tables.stack(stack);
}

ProcessCapture& add_process(Capture& capture, std::int32_t rank) {
  ProcessCapture& process = capture.processes.emplace_back();
  process.pid = 1000 + rank;
  process.rank = rank;
  process.is_rank = true;
  process.world_size = 2;
  process.state = 'S';
  process.read = snapshot::ReadState::kFull;
  return process;
}

TEST_CASE("a body of zeros is not unpacked") {
  const std::string file = made([] {
    const std::string zeros(std::size_t{512} << 20, '\0');
    std::string packed(::ZSTD_compressBound(zeros.size()), '\0');
    packed.resize(::ZSTD_compress(packed.data(), packed.size(), zeros.data(), zeros.size(), 3));
    return "ODDRANK" + std::string(1, static_cast<char>(snapshot::kCaptureFormat)) + packed;
  });
  CHECK(report_within_limit(file).find("than a capture of its size") != std::string::npos);
}

TEST_CASE("tens of thousands of equal rows are refused before they are made") {
  const std::string file = encoded([](Capture& capture) {
    add_process(capture, 0).threads.assign(100'000, thread_with(deep_stack(capture, 3)));
  });
  CHECK(report_within_limit(file).find("than a capture") != std::string::npos);
}

TEST_CASE("a deep stack counts wherever it is shown") {
  const std::string threads = encoded([](Capture& capture) {
    add_process(capture, 0).threads.assign(10'000, thread_with(deep_stack(capture, 2000)));
  });
  CHECK(report_within_limit(threads).find("may show") != std::string::npos);
  const std::string tasks = encoded([](Capture& capture) {
    ProcessCapture& process = add_process(capture, 0);
    process.threads.push_back(thread_with(deep_stack(capture, 3)));
    snapshot::AsyncTask task;
    task.stack = deep_stack(capture, 1000);
    add_tasks(process, 20'000, task);
  });
  CHECK(report_within_limit(tasks).find("may show") != std::string::npos);
}

TEST_CASE("what just fits is reported within the limit") {
  for (const std::size_t tasks : sizes({20, 60, 100, 140, 200})) {
    report_within_limit(encoded([tasks](Capture& capture) {
      ProcessCapture& process = add_process(capture, 0);
      process.threads.push_back(thread_with(deep_stack(capture, 3)));
      snapshot::AsyncTask task;
      task.stack = deep_stack(capture, 1000);
      add_tasks(process, tasks, task);
    }));
  }
  for (const std::size_t threads : sizes({500, 4000, 12'000, 40'000})) {
    report_within_limit(encoded([threads](Capture& capture) {
      add_process(capture, 0).threads.assign(threads, thread_with(deep_stack(capture, 30)));
    }));
    report_within_limit(encoded([threads](Capture& capture) {
      const StackId stack = deep_stack(capture, 10);
      for (std::size_t i = 0; i < threads; ++i) {
        ProcessCapture& process = add_process(capture, static_cast<std::int32_t>(i));
        process.world_size = static_cast<std::int32_t>(threads);
        process.threads.push_back(thread_with(stack));
      }
    }));
  }
}

TEST_CASE("a long text counts wherever it stands") {
  const std::string file = encoded([](Capture& capture) {
    const auto text = capture.tables.string(std::string(100'000, 'x'));
    ThreadCapture thread = thread_with(deep_stack(capture, 3));
    thread.name = text;
    add_process(capture, 0).threads.assign(5000, thread);
  });
  CHECK(report_within_limit(file).find("may show") != std::string::npos);
  const std::string frames = encoded([](Capture& capture) {
    const StackId stack = deep_stack(capture, 20, 50'000);
    add_process(capture, 0).threads.assign(5000, thread_with(stack));
  });
  CHECK(report_within_limit(frames).find("may show") != std::string::npos);
  const std::string notes = encoded([](Capture& capture) {
    capture.nodes.front().notes.assign(5000, std::string(100'000, 'x'));
  });
  CHECK(report_within_limit(notes).find("may show") != std::string::npos);
}

TEST_CASE("lists of ranks that ten bytes stand for do not add up") {
  const auto list = [](std::size_t i) {
    return std::to_string(i) + "-" + std::to_string(i + 130'000);
  };
  const std::size_t groups = sizes({100, 1000}).back();
  report_within_limit(encoded([&list, groups](Capture& capture) {
    ProcessCapture& process = add_process(capture, 0);
    process.threads.push_back(thread_with(deep_stack(capture, 3)));
    for (std::size_t i = 0; i < groups; ++i) {
      snapshot::ProcessGroup& group = process.groups.emplace_back();
      group.name = capture.tables.string("g" + std::to_string(i));
      group.members = capture.tables.string(list(i));
      snapshot::CollectiveCall call;
      call.members = group.members;
      call.group = group.name;
      ThreadCapture thread = thread_with(deep_stack(capture, 3));
      thread.call = call;
      process.threads.push_back(thread);
    }
  }));
  report_within_limit(encoded([&list, groups](Capture& capture) {
    for (int rank = 0; rank < 4; ++rank) {
      add_process(capture, rank).threads.push_back(thread_with(deep_stack(capture, 3)));
      snapshot::FlightRecord& record = capture.collectives.flight.emplace_back();
      record.rank = rank;
      for (std::size_t i = 0; i < groups; ++i) {
        snapshot::FlightGroup& group = record.groups.emplace_back();
        group.name = capture.tables.string("g" + std::to_string(i));
        group.members = capture.tables.string(list(i % 20));
        snapshot::FlightEntry& entry = record.entries.emplace_back();
        entry.group = static_cast<std::uint32_t>(i);
      }
    }
  }));
}

// A rank that answered nothing takes three bytes in the file, and a node of the graph in the
// report.
TEST_CASE("tens of thousands of ranks that did not answer cost what the decoder counts for them") {
  for (const std::size_t ranks : sizes({5'000, 20'000})) {
    const std::string file = encoded([ranks](Capture& capture) {
      for (std::size_t i = 0; i < ranks; ++i) {
        capture.nodes.front().expected_ranks.push_back(static_cast<std::int32_t>(i));
      }
    });
    report_within_limit(file, 10 * kManyTimes);
  }
}

TEST_CASE("a world of two thousand million ranks is no reason for as many rows") {
  report_within_limit(encoded([](Capture& capture) {
    ProcessCapture& process = add_process(capture, 0);
    process.world_size = 2'000'000'000;
    capture.job.world_size = 2'000'000'000;
    process.threads.push_back(thread_with(deep_stack(capture, 3)));
  }));
}

}  // namespace
}  // namespace oddrank::report
