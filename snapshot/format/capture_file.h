// The file format of a capture: CBOR, columnar tables, zstd-compressed, with a magic and a version.
//
// Layout: 8 bytes "ODDRANK" + format number, then one zstd frame of one CBOR map. Every
// length and every id is checked, since a file may come from anywhere. docs/capture-columns.txt
// lists the fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "snapshot/capture.h"

namespace oddrank::snapshot {

// Tables, columns and values of enumerations may be added without a new number: older readers skip
// them.
inline constexpr int kCaptureFormat = 1;

// A capture may cost this much memory for each byte of the file, and this much in any case. The
// largest real ones (all ranks alike, thousands of them) take a hundred times their size.
inline constexpr std::size_t kCaptureBytesForEach = 320;
inline constexpr std::size_t kCaptureBytesAnyway = std::size_t{40} << 20;

enum class Packing : std::uint8_t {
  kSmall = 0,  // to be kept or sent to another machine
  kStored,     // to be read at once by another process: not compressed
};

// Returns the bytes of the file.
std::string encode_capture(const Capture& capture, Packing packing = Packing::kSmall);

// Reads a capture. Fails with kBadData if the bytes are not a capture, damaged, cut, would unpack
// to more than `limit` bytes, or describe much more than real captures of their size do
// (fields/row_table.h), and with kUnsupported if they have another format; `what` says which.
Result<Capture> decode_capture(std::string_view bytes, std::size_t limit = std::size_t{1} << 30);

}  // namespace oddrank::snapshot
