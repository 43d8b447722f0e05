#include "collectives/torch/recorder_layout.h"

#include <array>

namespace oddrank::collectives {
namespace {

// In the order of RecorderLayout, for x86-64.
// clang-format off
constexpr std::array kRecorderLayouts = std::to_array<RecorderLayout>({
    {210, 215, StringAbi::kNew, 8, 96, 160, 208, 512, 8, 16, 24, 88, 112, 144, 176, 184, 192, 208, 224, 240, 288, 312, 360, 384, 472, 504},
    {208, 209, StringAbi::kNew, 8, 0, 96, 144, 504, 0, 8, 16, 80, 104, 136, 168, 176, 184, 200, 216, 232, 280, 304, 352, 376, 464, 496},
    {206, 207, StringAbi::kNew, 8, 0, 96, 144, 464, 0, 8, 16, 80, 104, 136, 168, 176, 184, 200, 216, 232, 280, 304, 352, 376, 0, 456},
    {206, 206, StringAbi::kOld, 8, 0, 96, 144, 392, 0, 8, 16, 32, 56, 64, 96, 104, 112, 128, 144, 160, 208, 232, 280, 304, 0, 384},
    {205, 205, StringAbi::kOld, 4, 0, 96, 144, 360, 0, 8, 16, 32, 56, 64, 96, 104, 112, 128, 144, 160, 192, 216, 248, 272, 0, 352},
    {204, 204, StringAbi::kOld, 4, 0, 0, 96, 352, 0, 8, 16, 32, 56, 64, 96, 0, 104, 120, 136, 152, 184, 208, 240, 264, 0, 344},
});
// clang-format on

template <typename Layouts>
constexpr Layouts behind_our_mutex(Layouts layouts) {
  for (RecorderLayout& layout : layouts) {
    for (std::uint32_t* member : {&layout.epoch, &layout.status, &layout.ranks}) {
      *member += *member == 0 ? 0 : kMutexGrowth;
    }
  }
  return layouts;
}

// c10/core/ScalarType.h, in its order.
constexpr std::array kScalarTypes = std::to_array<std::string_view>({
    "Byte",
    "Char",
    "Short",
    "Int",
    "Long",
    "Half",
    "Float",
    "Double",
    "ComplexHalf",
    "ComplexFloat",
    "ComplexDouble",
    "Bool",
    "QInt8",
    "QUInt8",
    "QInt32",
    "BFloat16",
    "QUInt4x2",
    "QUInt2x4",
    "Bits1x8",
    "Bits2x4",
    "Bits4x2",
    "Bits8",
    "Bits16",
    "Float8_e5m2",
    "Float8_e4m3fn",
    "Float8_e5m2fnuz",
    "Float8_e4m3fnuz",
    "UInt16",
    "UInt32",
    "UInt64",
    "UInt1",
    "UInt2",
    "UInt3",
    "UInt4",
    "UInt5",
    "UInt6",
    "UInt7",
    "Int1",
    "Int2",
    "Int3",
    "Int4",
    "Int5",
    "Int6",
    "Int7",
    "Float8_e8m0fnu",
    "Float4_e2m1fn_x2",
});

constexpr std::array kRecorderSymbols = std::to_array<std::string_view>({
    "_ZZN4c10d15NCCLTraceBuffer3getEvE8instance",  // 2.4, 2.5
    "_ZZN4c10d14FlightRecorder3getEvE8instance",   // 2.6, 2.7
    "_ZZN4c10d14FlightRecorderI*E3getEvE8instance",
});

}  // namespace

std::span<const RecorderLayout> recorder_layouts() {
  static constexpr auto kOurs = behind_our_mutex(kRecorderLayouts);
  return kOurs;
}

std::string_view scalar_type_name(std::uint8_t type) {
  return type < kScalarTypes.size() ? kScalarTypes[type] : std::string_view();
}

std::span<const std::string_view> recorder_symbols() {
  return kRecorderSymbols;
}

}  // namespace oddrank::collectives
