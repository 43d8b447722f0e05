// The file format of a capture: CBOR, columnar tables, zstd-compressed, with a magic and a version.
//
// Layout: 8 bytes "ODDRANK" + format number, then one zstd frame of one CBOR map. Readers refuse
// unknown contents, and name them; every length and every id is checked, since a file may come from
// anywhere. docs/capture-format.md lists the fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "snapshot/capture.h"

namespace oddrank::snapshot {

inline constexpr int kCaptureFormat = 14;
inline constexpr int kOldestFormat = 8;  // the oldest that is still read

enum class Packing : std::uint8_t {
  kSmall = 0,  // to be kept or sent to another machine
  kStored,     // to be read at once by another process: not compressed
};

std::string encode_capture(const Capture& capture, Packing packing = Packing::kSmall);

// Reads a capture. Fails with kBadData if the bytes are not a capture, damaged, cut, would unpack
// to more than `limit` bytes, or describe much more than real captures of their size do
// (row_costs.h), and with kUnsupported if they have another format; `what` says which.
Result<Capture> decode_capture(std::string_view bytes, std::size_t limit = std::size_t{1} << 30);

}  // namespace oddrank::snapshot
