#include "waits/node/kernel_log.h"

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace oddrank::waits {
namespace {

TEST_CASE("kills of the whole machine and of a cgroup") {
  auto kill = parse_memory_kill(
      "3,1234,5678901,-;Out of memory: Killed process 77 (python3) total-vm:9kB, anon-rss:5kB\n");
  REQUIRE(kill);
  CHECK(kill->pid == 77);
  CHECK(kill->name == "python3");
  CHECK(kill->at_us == 5678901);
  kill = parse_memory_kill(
      "3,1235,99,-,caller=T77;Memory cgroup out of memory: Killed process 8 (pt_data_worker) x\n"
      " SUBSYSTEM=memory\n");
  REQUIRE(kill);
  CHECK(kill->pid == 8);
  CHECK(kill->name == "pt_data_worker");
}

TEST_CASE("other records, and hostile ones") {
  CHECK_FALSE(parse_memory_kill("6,1,2,-;usb 1-1: new device\n"));
  CHECK_FALSE(parse_memory_kill("6,1,2,-;oom_reaper: reaped process 77 (python3), now anon-rss\n"));
  CHECK_FALSE(parse_memory_kill("Out of memory: Killed process 77 (python3)"));
  CHECK_FALSE(parse_memory_kill("3,1;Out of memory: Killed process 77 (python3)"));
  CHECK_FALSE(parse_memory_kill("3,1,2,-;Out of memory: Killed process -7 (python3)"));
  CHECK_FALSE(parse_memory_kill("3,1,2,-;Out of memory: Killed process 77 (python3"));
  CHECK_FALSE(parse_memory_kill("3,1,2,-;Out of memory: Killed process "));
  const auto kill = parse_memory_kill("3,1,2,-;Out of memory: Killed process 7 (\x1b[2J)");
  REQUIRE(kill);
  CHECK(kill->name == "?[2J");
}

TEST_CASE("errors of GPUs") {
  const auto error = parse_gpu_error(
      "3,1234,5678901,-;NVRM: Xid (PCI:0000:4A:00): 79, pid=77, name=python3, GPU has fallen "
      "off\n");
  REQUIRE(error);
  CHECK(*error ==
        GpuError{"0000:4a:00", 79, "79, pid=77, name=python3, GPU has fallen off", 5678901});
  const auto hostile = parse_gpu_error("3,1,2,-;NVRM: Xid (PCI:0000:01:00): 31, \x1b[2J");
  REQUIRE(hostile);
  CHECK(hostile->text == "31, ?[2J");
  for (const char* other :
       {"6,1,2,-;NVRM: loading NVIDIA UNIX x86_64 Kernel Module",
        "NVRM: Xid (PCI:0000:41:00): 79, x", "3,1,2,-;NVRM: Xid (PCI:0000:41:00",
        "3,1,2,-;NVRM: Xid (PCI:0000:41:00): x, y", "3,1;NVRM: Xid (PCI:0): 79,",
        "3,1,2,-;NVRM: Xid (PCI:0): -3, y"}) {
    CHECK_FALSE(parse_gpu_error(other));
  }
}

TEST_CASE("the newest kills since the job began are told, and the others are counted") {
  constexpr std::uint64_t kSecond = 1'000'000;
  std::vector<MemoryKill> kills = {{6, "before", 10 * kSecond}, {7, "python3", 100 * kSecond}};
  CHECK(kill_notes(kills, 90 * kSecond, 141 * kSecond) ==
        std::vector<std::string>{
            "pid 7 (python3) was killed for lack of memory 41 s ago (kernel log)"});
  kills.insert(kills.end(), kMaxKernelNotes, kills.back());
  CHECK(kill_notes(kills, 90 * kSecond, 141 * kSecond).size() == kMaxKernelNotes + 1);
}

TEST_CASE("the log of this machine is read to its end, or may not be read") {
  const KernelWords words = read_kernel_words();
  for (const MemoryKill& kill : words.kills) {
    CHECK(kill.pid > 0);
  }
  for (const ServerWord& each : words.servers) {
    CHECK_FALSE(each.server.empty());
  }
}

constexpr std::uint64_t kSecondUs = 1'000'000;

// A node with the GPUs 0000:02:00 and 0000:03:00, and one whose address is not known.
snapshot::Capture gpu_node() {
  snapshot::Capture capture;
  capture.nodes.emplace_back();
  for (const char* pci : {"0000:02:00", "0000:03:00", ""}) {
    capture.collectives.devices.emplace_back().pci = capture.tables.string(pci);
  }
  return capture;
}

TEST_CASE("errors of GPUs since the job began: the most telling one of each") {
  KernelWords words;
  words.readable = true;
  words.gpu_errors = {{"0000:03:00", 79, "79, before the job", 10 * kSecondUs},
                      {"0000:02:00", 48, "48, pid=7", 98 * kSecondUs},
                      {"0000:02:00", 79, "79, GPU has fallen off", 100 * kSecondUs},
                      {"0000:04:00", 31, "31, first", 101 * kSecondUs},
                      {"0000:04:00", 94, "94, pid=8", 102 * kSecondUs},
                      {"0000:02:00", 45, "45, cleanup", 103 * kSecondUs},
                      {"0000:02:00", 9, "9, unused", 103 * kSecondUs}};
  snapshot::Capture capture = gpu_node();
  add_gpu_errors(words, 90 * kSecondUs, 110 * kSecondUs, capture);
  const auto& gpus = capture.collectives.devices;
  CHECK(gpus[0].xid == 79);
  CHECK(gpus[0].xid_ago_s == 10);
  CHECK(capture.tables.text(gpus[0].xid_text) == "79, GPU has fallen off");
  CHECK(gpus[1].xid == 0);
  CHECK(gpus[1].xid_ago_s == -1);
  CHECK(gpus[2].xid == -1);
  CHECK(
      capture.nodes.front().notes ==
      std::vector<std::string>{"GPU 0000:04:00 had an error 8 s ago (kernel log): Xid 94, pid=8"});
}

TEST_CASE("errors of GPUs: a log that may not be read says nothing") {
  snapshot::Capture capture = gpu_node();
  add_gpu_errors(KernelWords{}, 0, 0, capture);
  CHECK(capture.collectives.devices[0].xid == -1);
  CHECK(capture.nodes.front().notes.empty());
}

}  // namespace
}  // namespace oddrank::waits
