// The memory layout of PyTorch's flight recorders (c10d::FlightRecorder): offsets as data, a row
// for each change. From torch 2.8 on scripts/torch_offsets compares the rows with the headers of a
// wheel; the older ones follow from the structs of those versions.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/machine.h"
#include "collectives/torch/cxx_object.h"

namespace oddrank::collectives {

// Bytes from the start of the recorder, the same in all versions. One member is a mutex of the C
// library.
struct RecorderHead {
  static constexpr std::uint32_t kEnabled = 0;                  // 1 byte
  static constexpr std::uint32_t kLock = 8;                     // 4 bytes, of the mutex
  static constexpr std::uint32_t kEntries = 48 + kMutexGrowth;  // std::vector
  static constexpr std::uint32_t kMost =
      72 + kMutexGrowth;  // the number of entries that the ring holds
  static constexpr std::uint32_t kNext = 80 + kMutexGrowth;  // the next one to be written
  static constexpr std::uint32_t kId = 88 + kMutexGrowth;    // the number of calls so far
  static constexpr std::uint32_t kSize = 96 + kMutexGrowth;
};

struct RecorderLayout {
  int first = 0;  // versions of torch: 210 is 2.10
  int last = 0;
  StringAbi abi = StringAbi::kNew;
  std::uint8_t dimension_bytes = 8;  // of the number of dimensions of a tensor

  // Members of the recorder.
  std::uint32_t epoch = 0;   // 0: it has none
  std::uint32_t status = 0;  // std::map of shared pointers; 0: it has none
  std::uint32_t ranks = 0;   // std::map of std::vector

  // Members of an entry.
  std::uint32_t entry_size = 0;
  std::uint32_t entry_epoch = 0;  // 0: it has none
  std::uint32_t group_id = 0;
  std::uint32_t group_name = 0;  // std::tuple: the description comes first
  std::uint32_t sequence = 0;    // of collectives; the numbers of transfers and operations follow
                                 // it
  std::uint32_t name = 0;
  std::uint32_t traceback = 0;
  std::uint32_t created = 0;
  std::uint32_t timeout = 0;  // 0: it has none
  std::uint32_t is_p2p = 0;
  std::uint32_t started = 0;  // std::optional, like the next one
  std::uint32_t completed = 0;
  std::uint32_t input_dimensions = 0;  // SmallVector
  std::uint32_t input_types = 0;       // std::vector of one byte each
  std::uint32_t output_dimensions = 0;
  std::uint32_t output_types = 0;
  std::uint32_t sizes = 0;   // SmallVector of 64-bit numbers
  std::uint32_t thread = 0;  // name of a thread; 0: it has none
  std::uint32_t retired = 0;
};

// Returns all rows, newest first.
std::span<const RecorderLayout> recorder_layouts();

// Returns PyTorch's name of a c10::ScalarType ("Float"); "" if it is unknown.
std::string_view scalar_type_name(std::uint8_t type);

// The names of the variables that hold a recorder, mangled; a '*' stands for any type of events.
// In libtorch_cpu.so or libtorch_cuda.so, as local symbols.
std::span<const std::string_view> recorder_symbols();

}  // namespace oddrank::collectives
