#include "waits/target_text.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/ascii.h"

namespace oddrank::waits {
namespace {

// Most paths are short; a chunk never crosses a page, since the next one may not be mapped.
constexpr std::uint64_t kChunk = 256;

}  // namespace

std::string read_c_string(const attach::Target& target, attach::Addr address, std::size_t limit) {
  std::string text;
  while (text.size() < limit) {
    const attach::Addr from = address + text.size();
    const std::uint64_t to_boundary = kChunk - (attach::value_of(from) % kChunk);
    const std::size_t wanted = std::min<std::size_t>(to_boundary, limit - text.size());
    std::array<char, kChunk> bytes{};
    attach::ReadRequest request{from, std::as_writable_bytes(std::span(bytes).first(wanted)), 0};
    target.read_many(std::span(&request, 1));
    const auto span = std::span<char>(bytes).first(std::min(request.got, wanted));
    const auto end = std::find(span.begin(), span.end(), '\0');
    std::replace_copy_if(span.begin(), end, std::back_inserter(text), is_control, '?');
    if (end != span.end() || span.size() < wanted) {
      return text;
    }
  }
  return text;
}

}  // namespace oddrank::waits
