// The rows come from scripts/nccl_offsets, which also compares them with a library.
#include "collectives/sources/nccl_layout.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/parse_number.h"
#include "base/split.h"

namespace oddrank::collectives {
namespace {

// In the order of NcclLayout: version, peer_info, peer_info_valid, hash, rank, ranks, device,
// async_result, abort_flag, destroy_flag, init_state, finalize_called, counts, end_magic; host_hash
// and pid_hash of a peer.
// clang-format off
constexpr std::array kLayouts = std::to_array<NcclLayout>({
    {22602, 26272, 0, 492720, 492728, 492732, 492736, 494404, 494408, 494448, 500952, 500956, 501008, 506744, 16, 24},
    {22605, 26272, 0, 492720, 492728, 492732, 492736, 494404, 494408, 494448, 500952, 500956, 501008, 506744, 16, 24},
    {22703, 26272, 26312, 1066160, 1066168, 1066172, 1066176, 1067844, 1067848, 1067888, 1074456, 1074460, 1074512, 1080312, 16, 24},
    {22705, 26272, 26312, 1066160, 1066168, 1066172, 1066176, 1067844, 1067848, 1067888, 1074456, 1074460, 1074512, 1080312, 16, 24},
    {22706, 26272, 26312, 1066160, 1066168, 1066172, 1066176, 1067844, 1067848, 1067888, 1074456, 1074460, 1074512, 1080312, 16, 24},
    {22707, 26272, 26312, 1066160, 1066168, 1066172, 1066176, 1067844, 1067848, 1067888, 1074456, 1074460, 1074512, 1080312, 16, 24},
    {22803, 26272, 26312, 1066176, 1066184, 1066188, 1066192, 1069036, 1069040, 1069080, 1075664, 1075668, 1075720, 1081808, 16, 24},
    {22807, 26272, 26312, 1066184, 1066192, 1066196, 1066200, 1069044, 1069048, 1069088, 1075672, 1075676, 1075728, 1082960, 16, 24},
    {22809, 26272, 26312, 1066184, 1066192, 1066196, 1066200, 1069044, 1069048, 1069088, 1075672, 1075676, 1075728, 1082960, 16, 24},
    {22902, 26784, 26824, 1066704, 1066712, 1066716, 1066720, 1069564, 1069568, 1069608, 1076800, 1076804, 1076856, 1084800, 16, 24},
    {22903, 26784, 26824, 1066704, 1066712, 1066716, 1066720, 1069564, 1069568, 1069608, 1076800, 1076804, 1076856, 1084800, 16, 24},
    {22907, 26784, 26824, 1181392, 1181400, 1181404, 1181408, 1184252, 1184256, 1184296, 1191488, 1191492, 1191544, 1199584, 16, 24},
    {23003, 26784, 26824, 1181400, 1181408, 1181412, 1181416, 1184276, 1184280, 1184320, 1191504, 1191508, 1191560, 1199720, 16, 24},
    {23004, 26784, 26824, 1181400, 1181408, 1181412, 1181416, 1184276, 1184280, 1184320, 1191504, 1191508, 1191560, 1199720, 16, 24},
    {23007, 26784, 26824, 1181416, 1181424, 1181428, 1181432, 1184292, 1184296, 1184336, 1191520, 1191524, 1191576, 1199736, 16, 24},
    {23102, 26784, 26832, 1181408, 1181416, 1181420, 1181424, 1185136, 1185144, 1185184, 1193720, 1193724, 1193776, 1196456, 16, 24},
    {23203, 26784, 26832, 1181408, 1181416, 1181420, 1181424, 1185144, 1185152, 1185192, 1193744, 1193748, 1193800, 1196528, 16, 24},
});
// clang-format on

}  // namespace

int nccl_version_code(std::string_view version) {
  const auto parts = split(version, '.');
  std::array<int, 3> numbers{};
  if (parts.size() != numbers.size()) {
    return 0;
  }
  for (std::size_t at = 0; at < numbers.size(); ++at) {
    const auto number = parse_number<int>(parts[at]);
    if (!number || *number < 0 || *number > 99) {
      return 0;
    }
    numbers[at] = *number;
  }
  return numbers[0] * 10000 + numbers[1] * 100 + numbers[2];
}

std::string nccl_version_text(int code) {
  return std::to_string(code / 10000) + "." + std::to_string(code / 100 % 100) + "." +
         std::to_string(code % 100);
}

const NcclLayout* nccl_layout(int version) {
  const auto* const at =
      std::find_if(kLayouts.begin(), kLayouts.end(),
                   [version](const NcclLayout& layout) { return layout.version == version; });
  return at == kLayouts.end() ? nullptr : at;
}

NcclRange nccl_range() {
  const auto [first, last] = std::minmax_element(
      kLayouts.begin(), kLayouts.end(),
      [](const NcclLayout& a, const NcclLayout& b) { return a.version < b.version; });
  return {first->version, last->version};
}

}  // namespace oddrank::collectives
