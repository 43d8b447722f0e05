// Fills the flight recorder of PyTorch's NCCL backends (FlightRecorder<CUDAEvent> of libtorch_cuda;
// nccl2's FlightRecorder<c10::Event> of libtorch_cpu) by its own functions, without a GPU. Most are
// local symbols: the caller passes their addresses.
// Compiled by tests/live/nccl_recorder_test.py with the headers of the PyTorch that it runs.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/FlightRecorder.hpp>

namespace {

struct Event;  // never made: as calls whose device has not said anything
using Recorder = c10d::FlightRecorder<Event>;
using Name = std::tuple<std::string, std::string>;
using Get = Recorder* (*)();
using GetOf = Recorder* (*)(const std::string&);
using Record = std::optional<size_t> (*)(Recorder*,
                                         size_t,
                                         const Name&,
                                         size_t,
                                         size_t,
                                         size_t,
                                         std::string,
                                         const std::vector<at::Tensor>&,
                                         const std::vector<at::Tensor>&,
                                         Event*,
                                         Event*,
                                         std::chrono::milliseconds,
                                         std::shared_ptr<c10d::ProcessGroupStatus>,
                                         bool);
using Members = void (*)(Recorder*, const Name&, std::vector<uint64_t>);

std::shared_ptr<c10d::ProcessGroupStatus> status() {
  static const auto one = std::make_shared<c10d::ProcessGroupStatus>();
  return one;
}

const Name kDefault{"0", "default_pg"};

}  // namespace

// `backend`: null if the process has one such recorder.
extern "C" void* recorder_of(void* get, const char* backend) {
  return backend == nullptr ? reinterpret_cast<Get>(get)() : reinterpret_cast<GetOf>(get)(backend);
}

extern "C" void record_members(void* recorder, void* members, unsigned ranks) {
  std::vector<uint64_t> all;
  for (unsigned rank = 0; rank < ranks; ++rank) {
    all.push_back(rank);
  }
  reinterpret_cast<Members>(members)(static_cast<Recorder*>(recorder), kDefault, all);
}

// Records a call of four numbers, which has not ended.
extern "C" void record_call(void* recorder,
                            void* record,
                            const char* name,
                            unsigned long sequence,
                            unsigned long transfer) {
  const std::vector<at::Tensor> tensors{at::ones({4})};
  reinterpret_cast<Record>(record)(static_cast<Recorder*>(recorder), 0, kDefault, sequence,
                                   transfer, sequence + transfer, name, tensors, tensors, nullptr,
                                   nullptr, std::chrono::milliseconds(600000), status(),
                                   std::string(name).find(' ') != std::string::npos);
}

// Notes that the newest call has ended, as the watchdog would.
extern "C" void end_call(void* recorder) {
  auto* filled = static_cast<Recorder*>(recorder);
  const std::lock_guard<std::mutex> lock(filled->mutex_);
  auto& entry =
      filled->entries_[(filled->next_ + filled->entries_.size() - 1) % filled->entries_.size()];
  entry.time_discovered_started_ = entry.time_discovered_completed_ = c10::getTime();
  entry.retired_ = true;
}

// The lock that the process takes for each call, held or not.
extern "C" void lock_recorder(void* recorder, bool held) {
  auto& mutex = static_cast<Recorder*>(recorder)->mutex_;
  held ? mutex.lock() : mutex.unlock();
}
