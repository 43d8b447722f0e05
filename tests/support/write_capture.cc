// Writes a made-up capture to a file, as --save does:
//   write_capture NAME FILE             one of hung_jobs.h
//   write_capture tasks FILE            a job of one rank with asyncio tasks
//   write_capture calls FILE            a job whose calls were read from its memory
//   write_capture store FILE            ranks that wait for a key of a store, which rank 2 is to
//   set write_capture late_loader FILE      a rank that is a step behind the others write_capture
//   big:RANKS FILE        a job of eight ranks a node, each with 99 threads, of which
//                                       one rank waits for its loader and the others for it
//   write_capture mesh:DPxPPxTP FILE    a job of three dimensions (mesh_job.h)
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <random>
#include <string>
#include <string_view>

#include "base/parse_number.h"
#include "snapshot/format/capture_file.h"
#include "tests/support/hung_jobs.h"
#include "tests/support/mesh_job.h"
#include "tests/support/recorders.h"

namespace oddrank::tests {
namespace {

constexpr std::int32_t kRanksPerNode = 8;
constexpr int kThreads = 99;

ThreadSpec pool_thread() {
  ThreadSpec spec;
  spec.frames = {native("do_spin", "/usr/lib/libgomp.so.1"),
                 native("gomp_thread_start", "/usr/lib/libgomp.so.1")};
  spec.has_python = false;
  return spec;
}

std::string host_of_node(std::int32_t node) {
  std::string number = std::to_string(node);
  return "node" + std::string(number.size() < 5 ? 5 - number.size() : 0, '0') + number;
}

snapshot::Capture big_job(std::int32_t ranks) {
  std::vector<std::string> hosts;
  for (std::int32_t node = 0; node * kRanksPerNode < ranks; ++node) {
    hosts.push_back(host_of_node(node));
  }
  CaptureBuilder job(hosts, ranks);
  const std::int32_t odd = ranks / 3;
  std::mt19937_64 random(1);
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    const std::string& host = hosts[static_cast<std::size_t>(rank / kRanksPerNode)];
    auto& process = job.rank(rank, host, 1000 + 100 * (rank % kRanksPerNode));
    process.local_rank = rank % kRanksPerNode;
    job.thread(process, rank == odd ? in_loader(0) : in_all_reduce());
    // Real threads differ; a small file that describes many equal ones is refused as a bomb.
    for (int thread = 1; thread < kThreads; ++thread) {
      auto& one = job.thread(process, pool_thread());
      one.wait.address = random();
      for (std::size_t at = 0; at < one.samples.size(); ++at) {
        auto& sample = one.samples.edit(at);
        sample.voluntary_switches = random() % 1'000'000;
        sample.cpu_us = random() % 100'000'000;
      }
    }
  }
  return job.take();
}

snapshot::Capture job_with_tasks() {
  CaptureBuilder job({"n0"}, 1);
  auto& process = job.rank(0, "n0", 1000);
  job.thread(process, sleeping());
  job.task(process, {"load", {py("read_shard", "/u/shards.py", 31)}, "<Future>"});
  job.task(process,
           {"all", {py("gather_shards", "/u/shards.py", 47)}, "<_GatheringFuture>", {"load"}});
  return job.take();
}

// Eight ranks whose calls were read from their memory: rank 6 has left out a call of another group,
// and sums another size.
snapshot::Capture job_with_calls() {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  std::uint64_t looked_us = 0;
  for (const auto& process : job.capture.processes) {
    looked_us = std::max(looked_us, process.read_us);
  }
  const Recorders::Ranks world = {0, 1, 2, 3, 4, 5, 6, 7};
  const Recorders::Ranks others = {0, 1, 2, 3, 4, 5, 7};
  Recorders recorders(8);
  recorders.created_us = looked_us - 1;
  recorders.description = "default_pg";
  recorders.call("0", world, world, "all_reduce", true);
  recorders.description = "tp";
  recorders.call("tp", world, others, "broadcast", true);
  recorders.call("0", world, others, "all_reduce", false, 4);
  recorders.call("0", world, {6}, "all_reduce", false, 8);
  for (snapshot::FlightRecord& record : recorders.records) {
    record.from_memory = true;
  }
  recorders.into(job.capture, looked_us + 1);
  return job.take();
}

snapshot::Capture job_with_store() {
  CaptureBuilder job({"n0"}, 4);
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    auto& process = job.rank(rank, "n0", 1000 + rank);
    auto& thread = job.thread(process, sleeping());
    if (rank != 2) {
      thread.wait.rare.edit().key = job.capture.tables.string("ready/2");
    }
  }
  auto& store = job.capture.processes[0].store;
  for (const char* key : {"run/ready/0", "run/ready/1", "run/ready/3"}) {
    store.push_back({job.capture.tables.string(key), 0});
  }
  store.push_back({job.capture.tables.string("run/ready/2"), 3});
  store.push_back({job.capture.tables.string("run/<b>bold"), 1});
  return job.take();
}

// Returns the numbers of "8x16x8"; empty if it is anything else.
std::vector<std::int32_t> sizes_in(std::string_view words) {
  std::vector<std::int32_t> sizes;
  for (;;) {
    const std::size_t end = words.find('x');
    const auto size = parse_number<std::int32_t>(words.substr(0, end));
    if (!size || *size < 1) {
      return {};
    }
    sizes.push_back(*size);
    if (end == std::string_view::npos) {
      return sizes;
    }
    words.remove_prefix(end + 1);
  }
}

int write(std::string_view name, const char* path) {
  snapshot::Capture capture;
  constexpr std::string_view kBig = "big:";
  constexpr std::string_view kMesh = "mesh:";
  if (name.substr(0, kMesh.size()) == kMesh) {
    const std::vector<std::int32_t> sizes = sizes_in(name.substr(kMesh.size()));
    if (sizes.size() != 3) {
      return 2;
    }
    capture = mesh_job(three_dimensions(sizes[0], sizes[1], sizes[2])).take();
  } else if (name.substr(0, kBig.size()) == kBig) {
    const auto ranks = parse_number<std::int32_t>(name.substr(kBig.size()));
    if (!ranks || *ranks < 1) {
      return 2;
    }
    capture = big_job(*ranks);
  } else if (name == "tasks") {
    capture = job_with_tasks();
  } else if (name == "calls") {
    capture = job_with_calls();
  } else if (name == "store") {
    capture = job_with_store();
  } else if (name == "late_loader") {
    capture = late_loader_job().take();
  } else {
    bool known = false;
    for (const HungJob& job : hung_jobs()) {
      if (job.name == name) {
        capture = job.build().take();
        known = true;
      }
    }
    if (!known) {
      return 2;
    }
  }
  const std::string bytes = snapshot::encode_capture(capture);
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return file.good() ? 0 : 1;
}

}  // namespace
}  // namespace oddrank::tests

int main(int count, char** arguments) {
  const int result = count == 3 ? oddrank::tests::write(arguments[1], arguments[2]) : 2;
  if (result == 2) {
    std::fprintf(
        stderr,
        "usage: write_capture NAME|tasks|calls|store|late_loader|big:RANKS|mesh:DPxPPxTP FILE\n");
  }
  return result;
}
