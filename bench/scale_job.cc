#include "bench/scale_job.h"

#include <algorithm>
#include <utility>

#include "snapshot/rank_text.h"

namespace oddrank::bench {
namespace {

using snapshot::CallKind;
using snapshot::Capture;
using tests::CaptureBuilder;
using tests::native;
using tests::ThreadSpec;

constexpr std::int32_t kPipeline = 16;

}  // namespace

Capture ScaleJob::node(std::int32_t node) {
  const std::string host = host_of(node);
  CaptureBuilder builder({host}, ranks_);
  builder.capture.job.hosts = {host};
  for (std::int32_t local = 0; local < kTensorRanks; ++local) {
    add_rank(builder, host, node * kTensorRanks + local);
  }
  return builder.take();
}

std::string ScaleJob::host_of(std::int32_t node) {
  const std::string number = std::to_string(node);
  return "node" + std::string(5 - std::min<std::size_t>(5, number.size()), '0') + number;
}

ThreadSpec ScaleJob::main_thread(std::int32_t rank) {
  ThreadSpec spec = rank == odd_ ? tests::in_loader(0) : tests::in_all_reduce();
  spec.frames[spec.frames.size() - 8].line += static_cast<std::uint32_t>(rank % kReplicaRanks / 32);
  spec.wait.address = 0x7f0000000000 + (any(1 << 30) << 3);
  if (rank == odd_) {
    return spec;
  }
  const std::int32_t replica = rank / kReplicaRanks;
  const std::int32_t stage = rank % kReplicaRanks / kTensorRanks;
  const std::int32_t odd_stage = odd_ % kReplicaRanks / kTensorRanks;
  if (replica != odd_ / kReplicaRanks) {
    spec.call =
        call("all_reduce", "dp", rank % kReplicaRanks, kReplicaRanks, ranks_ / kReplicaRanks);
  } else if (stage == odd_stage) {
    spec.call = call("broadcast", "tp", rank / kTensorRanks * kTensorRanks, 1, kTensorRanks);
  } else {
    spec.call =
        call("recv", "pp", rank % kTensorRanks + replica * kReplicaRanks, kTensorRanks, kPipeline);
    spec.call->kind = CallKind::kRecv;
    spec.call->peer = rank + (stage > odd_stage ? -kTensorRanks : kTensorRanks);
  }
  return spec;
}

tests::CallSpec ScaleJob::call(std::string_view op,
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

ThreadSpec ScaleJob::idle_thread(int number) {
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

void ScaleJob::add_locals(CaptureBuilder& builder,
                          snapshot::ThreadCapture& thread,
                          std::int32_t rank) {
  auto& tables = builder.capture.tables;
  const auto& frames = tables.stacks()[thread.samples.back().stack].frames;
  snapshot::FrameLocals row;
  row.frame = static_cast<std::uint32_t>(frames.size() - 8);
  row.locals = {{tables.string("step"), tables.string("4711")},
                {tables.string("rank"), tables.string(std::to_string(rank))}};
  thread.locals.push_back(row);
}

void ScaleJob::add_rank(CaptureBuilder& builder, const std::string& host, std::int32_t rank) {
  const auto pid = 20'000 + 300 * (rank % kTensorRanks) + static_cast<pid_t>(any(100));
  auto& process = builder.rank(rank, host, pid);
  process.local_rank = rank % kTensorRanks;
  process.start_us = 9'000'000 + any(1'000'000);
  process.read_us += any(900'000);
  add_locals(builder, builder.thread(process, main_thread(rank)), rank);
  for (int number = 1; number < threads_; ++number) {
    builder.thread(process, idle_thread(number));
  }
  for (auto& thread : process.threads) {
    for (std::size_t at = 0; at < thread.samples.size(); ++at) {
      auto& sample = thread.samples.edit(at);
      sample.cpu_us += any(50) * 10'000;
      sample.voluntary_switches = any(100'000);
    }
    thread.samples.edit_back() = thread.samples.front();  // they stand still
  }
  auto& tables = builder.capture.tables;
  const auto group = [&](std::string_view label, std::int32_t first, std::int32_t stride,
                         std::int32_t count) {
    const auto members = call("", label, first, stride, count).members;
    process.groups.push_back({tables.string(std::string(label) + '#' + std::to_string(first)),
                              tables.string(label), tables.string("nccl"), false,
                              tables.string(snapshot::rank_text(members))});
  };
  group("tp", rank / kTensorRanks * kTensorRanks, 1, kTensorRanks);
  group("pp", rank / kReplicaRanks * kReplicaRanks + rank % kTensorRanks, kTensorRanks, kPipeline);
  group("dp", rank % kReplicaRanks, kReplicaRanks, ranks_ / kReplicaRanks);
}

}  // namespace oddrank::bench
