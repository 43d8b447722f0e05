// Measures what a verdict costs by the number of ranks:
//   verdict_scale RANKS [THREADS]         threads a rank, default 4
//   verdict_scale RANKS THREADS FOLDER    writes the nodes' captures there, for `oddrank report`
//
// A job of eight ranks a node, tensor groups of eight, pipelines of sixteen stages and data groups
// over the rest hangs because one rank waits for its loader. Every node's capture is made, encoded
// (its size is printed), decoded and merged, as `oddrank report FOLDER` does with files; then the
// view, the verdict, the text and the JSON are made. Each part is timed; memory is the peak of the
// process. Ranks differ as real ones do: addresses, counters, lines of the program, steps, idle
// threads.
#include <sys/resource.h>

#include <cstdio>
#include <ctime>
#include <fstream>
#include <random>
#include <string>

#include "aggregate/diagnose.h"
#include "base/parse_number.h"
#include "report/report_json.h"
#include "report/report_text.h"
#include "snapshot/format/capture_file.h"
#include "snapshot/merge.h"
#include "snapshot/rank_text.h"
#include "tests/support/hung_jobs.h"

namespace oddrank::bench {
namespace {

using snapshot::CallKind;
using snapshot::Capture;
using tests::CaptureBuilder;
using tests::native;
using tests::ThreadSpec;

constexpr std::int32_t kTensor = 8;  // also ranks a node
constexpr std::int32_t kPipeline = 16;
constexpr std::int32_t kReplica = kTensor * kPipeline;

class Job {
 public:
  Job(std::int32_t ranks, int threads)
      : ranks_(ranks),
        threads_(threads),
        odd_(ranks / 3),
        random_(static_cast<std::uint64_t>(ranks)) {}

  std::int32_t nodes() const { return ranks_ / kTensor; }

  Capture node(std::int32_t node);

 private:
  static std::string host_of(std::int32_t node);

  std::uint64_t any(std::uint64_t below) { return random_() % below; }

  // Returns the rank's main thread: the odd rank waits for its loader, its tensor group for it, its
  // pipeline for that group, and the other replicas for their gradients.
  ThreadSpec main_thread(std::int32_t rank);
  static tests::CallSpec call(std::string_view op,
                              std::string_view group,
                              std::int32_t first,
                              std::int32_t stride,
                              std::int32_t count);
  ThreadSpec idle_thread(int number);
  void add_locals(CaptureBuilder& builder, snapshot::ThreadCapture& thread, std::int32_t rank);
  void add_rank(CaptureBuilder& builder, const std::string& host, std::int32_t rank);

  std::int32_t ranks_;
  int threads_;
  std::int32_t odd_;
  std::mt19937_64 random_;
};

Capture Job::node(std::int32_t node) {
  const std::string host = host_of(node);
  CaptureBuilder builder({host}, ranks_);
  builder.capture.job.hosts = {host};
  for (std::int32_t local = 0; local < kTensor; ++local) {
    add_rank(builder, host, node * kTensor + local);
  }
  return builder.take();
}

std::string Job::host_of(std::int32_t node) {
  const std::string number = std::to_string(node);
  return "node" + std::string(5 - std::min<std::size_t>(5, number.size()), '0') + number;
}

ThreadSpec Job::main_thread(std::int32_t rank) {
  ThreadSpec spec = rank == odd_ ? tests::in_loader(0) : tests::in_all_reduce();
  spec.frames[spec.frames.size() - 8].line += static_cast<std::uint32_t>(rank % kReplica / 32);
  spec.wait.address = 0x7f0000000000 + (any(1 << 30) << 3);
  if (rank == odd_) {
    return spec;
  }
  const std::int32_t replica = rank / kReplica;
  const std::int32_t stage = rank % kReplica / kTensor;
  const std::int32_t odd_stage = odd_ % kReplica / kTensor;
  if (replica != odd_ / kReplica) {
    spec.call = call("all_reduce", "dp", rank % kReplica, kReplica, ranks_ / kReplica);
  } else if (stage == odd_stage) {
    spec.call = call("broadcast", "tp", rank / kTensor * kTensor, 1, kTensor);
  } else {
    spec.call = call("recv", "pp", rank % kTensor + replica * kReplica, kTensor, kPipeline);
    spec.call->kind = CallKind::kRecv;
    spec.call->peer = rank + (stage > odd_stage ? -kTensor : kTensor);
  }
  return spec;
}

tests::CallSpec Job::call(std::string_view op,
                          std::string_view group,
                          std::int32_t first,
                          std::int32_t stride,
                          std::int32_t count) {
  tests::CallSpec call;
  call.op = op;
  call.group = std::string(group) + '#' + std::to_string(first);
  for (std::int32_t i = 0; i < count; ++i) {
    call.members.push_back(first + i * stride);
  }
  call.sequence = group == "dp" ? 4711 : 940;
  call.evidence = "frame " + std::string(op) + " (distributed_c10d.py:3170)";
  return call;
}

ThreadSpec Job::idle_thread(int number) {
  constexpr std::string_view kTorch = "/opt/venv/lib/libtorch_cuda.so";
  ThreadSpec spec;
  if (number == 1) {
    spec.frames = {native("poll", "/lib/libc.so.6"), native("", "/lib/libcuda.so.550.54")};
    spec.name = "cuda-EvtHandlr";
  } else if (number == 2) {
    spec.frames = {native("pthread_cond_wait", "/lib/libc.so.6"),
                   native("_ZN4c10d16ProcessGroupNCCL15watchdogHandlerEv", kTorch)};
    spec.name = "pt_nccl_watchdg";
  } else {
    spec.frames = {native("do_spin", "/usr/lib/libgomp.so.1"),
                   native("gomp_thread_start", "/usr/lib/libgomp.so.1")};
    spec.wait.address = 0x7f1000000000 + (any(1 << 30) << 3);
  }
  spec.wait.syscall = number == 1 ? "poll" : "futex";
  spec.has_python = false;
  spec.python_name = "";
  return spec;
}

void Job::add_locals(CaptureBuilder& builder, snapshot::ThreadCapture& thread, std::int32_t rank) {
  auto& tables = builder.capture.tables;
  const auto& frames = tables.stacks()[thread.samples.back().stack].frames;
  snapshot::FrameLocals row;
  row.frame = static_cast<std::uint32_t>(frames.size() - 8);
  row.locals = {{tables.string("step"), tables.string("4711")},
                {tables.string("rank"), tables.string(std::to_string(rank))}};
  thread.locals.push_back(row);
}

void Job::add_rank(CaptureBuilder& builder, const std::string& host, std::int32_t rank) {
  const auto pid = 20'000 + 300 * (rank % kTensor) + static_cast<pid_t>(any(100));
  auto& process = builder.rank(rank, host, pid);
  process.local_rank = rank % kTensor;
  process.start_us = 9'000'000 + any(1'000'000);
  process.read_us += any(900'000);
  add_locals(builder, builder.thread(process, main_thread(rank)), rank);
  for (int number = 1; number < threads_; ++number) {
    builder.thread(process, idle_thread(number));
  }
  for (auto& thread : process.threads) {
    for (auto& sample : thread.samples) {
      sample.cpu_us += any(50) * 10'000;
      sample.voluntary_switches = any(100'000);
    }
    thread.samples.back() = thread.samples.front();  // they stand still
  }
  auto& tables = builder.capture.tables;
  const auto group = [&](std::string_view label, std::int32_t first, std::int32_t stride,
                         std::int32_t count) {
    const auto members = call("", label, first, stride, count).members;
    process.groups.push_back({tables.string(std::string(label) + '#' + std::to_string(first)),
                              tables.string(label), tables.string("nccl"), false,
                              tables.string(snapshot::rank_text(members))});
  };
  group("tp", rank / kTensor * kTensor, 1, kTensor);
  group("pp", rank / kReplica * kReplica + rank % kTensor, kTensor, kPipeline);
  group("dp", rank % kReplica, kReplica, ranks_ / kReplica);
}

// Adds up the seconds of CPU time that a piece of work takes: other work on the machine does not
// count.
class Timer {
 public:
  template <typename Work>
  auto time(const Work& work);
  double seconds() const { return seconds_; }

 private:
  double seconds_ = 0;
};

template <typename Work>
auto Timer::time(const Work& work) {
  const std::clock_t began = std::clock();
  auto result = work();
  seconds_ += static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
  return result;
}

bool write_captures(std::int32_t ranks, int threads, const std::string& folder) {
  Job job(ranks, threads);
  for (std::int32_t node = 0; node < job.nodes(); ++node) {
    std::ofstream file(folder + "/" + std::to_string(node) + ".odd", std::ios::binary);
    if (!(file << snapshot::encode_capture(job.node(node)))) {
      std::fprintf(stderr, "cannot write into %s\n", folder.c_str());
      return false;
    }
  }
  return true;
}

double peak_mib() {
  struct rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

int run(std::int32_t ranks, int threads) {
  Job job(ranks, threads);
  Timer decoding;
  Timer merging;
  Timer viewing;
  Timer judging;
  Timer writing;
  std::size_t largest = 0;
  Capture whole;
  snapshot::Merger merger(whole);
  for (std::int32_t node = 0; node < job.nodes(); ++node) {
    const std::string bytes = snapshot::encode_capture(job.node(node));
    largest = std::max(largest, bytes.size());
    auto part = decoding.time([&] { return snapshot::decode_capture(bytes); });
    if (!part) {
      std::fprintf(stderr, "%s\n", part.error().what.c_str());
      return 1;
    }
    merging.time([&] {
      merger.add(std::move(*part));
      return 0;
    });
  }
  const double merged = peak_mib();
  aggregate::FrameModel model(whole.tables);
  const auto view = viewing.time([&] { return aggregate::JobView(whole, model); });
  const auto report = judging.time([&] { return aggregate::diagnose(view); });
  const auto bytes = writing.time([&] {
    return std::pair(report::report_text(report, whole, {}).size(),
                     report::report_json(report, view).size());
  });
  std::printf("%s\n", report::report_sentence(report).c_str());
  std::printf("ranks %d, threads a rank %d, largest capture of a node %.1f KiB\n", ranks, threads,
              static_cast<double>(largest) / 1024);
  std::printf("decode %.2f s, merge %.2f s (%.0f MiB by then)\n", decoding.seconds(),
              merging.seconds(), merged);
  const double verdict = viewing.seconds() + judging.seconds() + writing.seconds();
  std::printf(
      "view %.2f s, verdict %.2f s, text and JSON %.2f s (%.1f MB): %.2f s, %.1f us a rank\n",
      viewing.seconds(), judging.seconds(), writing.seconds(),
      static_cast<double>(bytes.first + bytes.second) / 1e6, verdict, verdict * 1e6 / ranks);
  std::printf("peak %.0f MiB\n", peak_mib());
  return 0;
}

}  // namespace
}  // namespace oddrank::bench

int main(int count, char** arguments) {
  const auto ranks = count > 1 ? oddrank::parse_number<std::int32_t>(arguments[1]) : std::nullopt;
  const auto threads = count > 2 ? oddrank::parse_number<int>(arguments[2]) : 4;
  constexpr std::int32_t kUnit = oddrank::bench::kReplica;
  if (!ranks || !threads || *ranks < kUnit || *ranks % kUnit != 0 || *threads < 1) {
    std::fprintf(stderr,
                 "usage: verdict_scale RANKS [THREADS [FOLDER]]   (RANKS: a multiple of %d)\n",
                 kUnit);
    return 2;
  }
  if (count > 3) {
    return oddrank::bench::write_captures(*ranks, *threads, arguments[3]) ? 0 : 1;
  }
  return oddrank::bench::run(*ranks, *threads);
}
