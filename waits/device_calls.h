// The calls of device drivers and runtimes in which a thread waits for the device, as data: one row
// for each exported function.
//
// Sources: NVIDIA's CUDA driver and runtime API references ("API synchronization behavior": which
// copies return before the device is done), AMD's HIP and ROCR references, the specification of
// Level Zero, the headers of NCCL, Habana's SynapseAI, Ascend's ACL and AWS Neuron. C++ names are
// from PyTorch 1.13 to 2.13 and from SYCL.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "waits/frame_pattern.h"

namespace oddrank::waits {

enum class DeviceCallKind : std::uint8_t {
  kWaits = 0,  // returns when the device is done: a thread inside waits, even if it uses CPU
  // Returns at once, unless the device's queue is full, or the driver waits for its context, or for
  // the device in order to load a kernel's module. A thread inside waits only if it sleeps there,
  // repeatedly yields the CPU, or polls in one activation of the call; otherwise it works: it
  // writes commands, maps memory, compiles a kernel.
  kMayWait,
  kPolls,  // returns whether the device is done: a thread found there in every sample waits
};

struct DeviceCall {
  // As short_name() returns it, without the suffix of a version or default stream.
  std::string_view function;
  std::string_view library;  // the library that exports it: the beginning of the file's name
  DeviceCallKind kind = DeviceCallKind::kWaits;
};

// Returns the table.
std::span<const DeviceCall> device_calls();

// Finds the row of a function; nullptr without one. `symbol`: mangled, as in the file, or readable.
// Compares whole names, without "_v2", "_ptsz" and the like.
const DeviceCall* find_device_call(std::string_view symbol);

// Returns the Python functions in which a thread waits for the device, for threads without native
// frames.
std::span<const FramePattern> python_device_calls();

}  // namespace oddrank::waits
