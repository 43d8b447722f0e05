#include "collectives/torch/cxx_object.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace oddrank::collectives {
namespace {

using cpython::RemoteReader;

constexpr std::size_t kMaxClassName = 128;
constexpr std::size_t kNameStep = 16;
constexpr std::uint64_t kTextInside = 15;  // of a new string, without the final zero

bool is_aligned(Addr at) {
  return at != Addr{} && value_of(at) % 8 == 0;
}

}  // namespace

std::string class_of(RemoteReader& reader, Addr object) {
  if (!is_aligned(object)) {
    return {};
  }
  const Addr table = reader.pointer_or_null(object);
  const Addr type = is_aligned(table) ? reader.pointer_or_null(table - 8) : Addr{};
  Addr at = is_aligned(type) ? reader.pointer_or_null(type + 8) : Addr{};
  std::string name;
  while (at != Addr{} && name.size() < kMaxClassName) {
    const auto step = reader.value<std::array<char, kNameStep>>(at);
    if (!step) {
      return {};
    }
    const auto* const end = std::find(step->begin(), step->end(), '\0');
    const bool plain = std::all_of(step->begin(), end, [](char c) { return c > ' ' && c < 127; });
    if (!plain) {
      return {};
    }
    name.append(step->begin(), end);
    if (end != step->end()) {
      // A name that begins with '*' is of a class that only its own library knows.
      return name.starts_with('*') ? name.substr(1) : name;
    }
    at = at + kNameStep;
  }
  return {};
}

std::optional<std::vector<Addr>> nodes_of_table(RemoteReader& reader,
                                                Addr table,
                                                std::uint64_t most) {
  const auto size = reader.value<std::uint64_t>(table + kTableSize);
  if (!size || *size > most) {
    return std::nullopt;
  }
  std::vector<Addr> nodes;
  Addr node = reader.pointer_or_null(table + kTableFirst);
  for (; node != Addr{} && nodes.size() < *size; node = reader.pointer_or_null(node)) {
    nodes.push_back(node);
  }
  return node == Addr{} && nodes.size() == *size ? std::optional(std::move(nodes)) : std::nullopt;
}

std::optional<std::string> read_text(RemoteReader& reader,
                                     Addr at,
                                     StringAbi abi,
                                     std::size_t most) {
  const Addr data = reader.pointer_or_null(at);
  if (data == Addr{}) {
    return std::nullopt;
  }
  const auto size = reader.value<std::uint64_t>(abi == StringAbi::kNew ? at + 8 : data - 24);
  if (!size || *size > most) {
    return std::nullopt;
  }
  const bool inside = abi == StringAbi::kNew && data == at + 16;
  const auto capacity =
      abi == StringAbi::kNew && inside
          ? std::optional<std::uint64_t>(kTextInside)
          : reader.value<std::uint64_t>(abi == StringAbi::kNew ? at + 16 : data - 16);
  if (!capacity || *capacity < *size) {
    return std::nullopt;
  }
  const auto bytes = reader.bytes(data, *size);
  if (!bytes) {
    return std::nullopt;
  }
  return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

}  // namespace oddrank::collectives
