#include "snapshot/format/capture_file.h"

#include <zstd.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "base/memory_budget.h"
#include "snapshot/format/columns.h"
#include "snapshot/format/convert_rows.h"

namespace oddrank::snapshot {
namespace {

constexpr std::string_view kMagic = "ODDRANK";
constexpr int kSmallLevel = 9;  // a node's capture is small; 16,384 of them are not

void append_little_endian(std::string& bytes, std::uint64_t value, unsigned size) {
  for (unsigned i = 0; i < size; ++i) {
    bytes.push_back(static_cast<char>(value >> 8 * i & 0xff));
  }
}

// Appends a frame as any reader of zstd takes it, whose blocks hold the bytes as they are (RFC
// 8878, 3.1.1). The library compresses even at its fastest level, and clears half a megabyte before
// that.
void append_stored(std::string& bytes, std::string_view body) {
  constexpr std::uint32_t kFrameMagic = 0xfd2fb528;
  constexpr std::uint8_t kSizeOfEightBytes = 3U << 6;
  constexpr std::uint8_t kOneSegment = 1U << 5;
  constexpr std::size_t kMaxBlock = std::size_t{128} << 10;
  constexpr unsigned kSizeAt = 3;  // above the bit of the last block and the two bits of the kind
  bytes.reserve(bytes.size() + body.size() + 64 + body.size() / 1024);
  append_little_endian(bytes, kFrameMagic, 4);
  append_little_endian(bytes, kSizeOfEightBytes | kOneSegment, 1);
  append_little_endian(bytes, body.size(), 8);
  bool last = false;
  while (!last) {
    const std::string_view block = body.substr(0, kMaxBlock);
    body.remove_prefix(block.size());
    last = body.empty();
    append_little_endian(bytes, block.size() << kSizeAt | (last ? 1U : 0U), 3);
    bytes.append(block);
  }
}

void append_compressed(std::string& bytes, std::string_view body) {
  const std::size_t header = bytes.size();
  bytes.resize(header + ::ZSTD_compressBound(body.size()));
  const std::size_t packed = ::ZSTD_compress(bytes.data() + header, bytes.size() - header,
                                             body.data(), body.size(), kSmallLevel);
  // Cannot fail: the buffer has the size that the library requires.
  bytes.resize(header + (::ZSTD_isError(packed) != 0U ? 0 : packed));
}

}  // namespace

std::string encode_capture(const Capture& capture, Packing packing) {
  const std::string body = encode_document(to_document(capture));
  std::string bytes(kMagic);
  bytes.push_back(static_cast<char>(kCaptureFormat));
  packing == Packing::kStored ? append_stored(bytes, body) : append_compressed(bytes, body);
  return bytes;
}

namespace {

// Says what to do with a file that is something else, as its first bytes tell.
Error not_a_capture(std::string_view bytes) {
  constexpr std::size_t kElfType = 16;  // Elf64_Ehdr::e_type
  constexpr char kCore = 4;             // ET_CORE
  if (bytes.starts_with("\177ELF") && bytes.size() > kElfType && bytes[kElfType] == kCore) {
    return {Errc::kBadData, "this is a core file, not an oddrank capture",
            "oddrank core reads core files"};
  }
  if (bytes.starts_with('{')) {
    return {Errc::kBadData, "this is JSON, not an oddrank capture",
            "oddrank report reads what --save writes, not what --json writes; oddrank fr reads "
            "dumps of flight recorders"};
  }
  return {Errc::kBadData, "this is not an oddrank capture",
          "captures are written by --save and by `oddrank agent --out`"};
}

}  // namespace

Result<Capture> decode_capture(std::string_view bytes, std::size_t limit) {
  if (bytes.substr(0, kMagic.size()) != kMagic || bytes.size() <= kMagic.size()) {
    return fail(not_a_capture(bytes));
  }
  const int format = static_cast<unsigned char>(bytes[kMagic.size()]);
  if (format != kCaptureFormat) {
    return fail(Errc::kUnsupported,
                "the capture has format " + std::to_string(format) +
                    ", this oddrank reads format " + std::to_string(kCaptureFormat),
                "use the oddrank that wrote it, or a newer one");
  }
  bytes.remove_prefix(kMagic.size() + 1);
  const std::string damaged = "the capture is damaged";
  const unsigned long long size = ::ZSTD_getFrameContentSize(bytes.data(), bytes.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN) {
    return fail(Errc::kBadData, damaged + " or cut: no compressed body");
  }
  if (size > limit) {
    return fail(Errc::kBadData, "the capture would unpack to " + std::to_string(size) +
                                    " bytes, more than " + std::to_string(limit));
  }
  // A few kilobytes may unpack to gigabytes, and a body of zeros describes many times its size.
  MemoryBudget budget =
      MemoryBudget::of_input(bytes.size(), kCaptureBytesForEach, kCaptureBytesAnyway);
  if (!budget.take(static_cast<std::size_t>(size))) {
    return fail(Errc::kBadData, damaged + ": it unpacks to more than a capture of its size may");
  }
  std::string body(static_cast<std::size_t>(size), '\0');
  // Kept: otherwise each of thousands of captures would create a context.
  thread_local const std::unique_ptr<ZSTD_DCtx, decltype(&::ZSTD_freeDCtx)> context(
      ::ZSTD_createDCtx(), &::ZSTD_freeDCtx);
  if (context == nullptr) {
    return fail(Errc::kIo, "no memory to unpack the capture");
  }
  const std::size_t unpacked =
      ::ZSTD_decompressDCtx(context.get(), body.data(), body.size(), bytes.data(), bytes.size());
  if (::ZSTD_isError(unpacked) != 0U || unpacked != body.size()) {
    return fail(Errc::kBadData, damaged + " or cut: its body does not unpack");
  }
  // A value takes eight bytes, in an array that grows by copying.
  constexpr std::size_t kCostOfValue = 3 * sizeof(std::int64_t);
  const std::size_t values = budget.left() / kCostOfValue;
  auto document = decode_document(std::move(body), values);
  if (!document) {
    return fail(std::move(document).error().in(damaged));
  }
  auto capture = from_document(*document, budget);
  if (!capture) {
    return fail(std::move(capture).error().in(damaged));
  }
  return capture;
}

}  // namespace oddrank::snapshot
