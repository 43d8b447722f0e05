#include "waits/node/gpu_errors.h"

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace oddrank::waits {
namespace {

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
