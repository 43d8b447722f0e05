#include "collectives/flight/plain_data.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

namespace oddrank::collectives {

PlainValue PlainData::boolean(bool value) {
  PlainValue result = integer(value ? 1 : 0);
  result.kind = PlainKind::kBool;
  return result;
}

PlainValue PlainData::integer(std::int64_t value) {
  PlainValue result;
  result.kind = PlainKind::kInt;
  result.integer = value;
  return result;
}

PlainValue PlainData::real(double value) {
  PlainValue result;
  result.kind = PlainKind::kReal;
  result.real = value;
  return result;
}

PlainValue PlainData::text(std::string_view value) {
  PlainValue result;
  result.kind = PlainKind::kText;
  result.size = static_cast<std::uint32_t>(
      std::min<std::size_t>(value.size(), std::numeric_limits<std::uint32_t>::max()));
  result.text = value.data();
  return result;
}

PlainValue PlainData::copied_text(std::string_view value) {
  constexpr std::size_t kChunk = 16384;
  if (value.size() > chunk_left_) {
    chunk_left_ = std::max(kChunk, value.size());
    charge(chunk_left_ + sizeof(chunks_.front()));
    chunks_.push_back(std::make_unique<char[]>(chunk_left_));
    chunk_at_ = chunks_.back().get();
  }
  char* start = chunk_at_;
  std::copy(value.begin(), value.end(), start);
  chunk_at_ += value.size();
  chunk_left_ -= value.size();
  return text({start, value.size()});
}

PlainValue PlainData::container(PlainKind kind) {
  PlainValue result;
  result.kind = kind;
  result.node = nodes_.size();
  const std::size_t before = nodes_.capacity();
  nodes_.emplace_back();
  charge((nodes_.capacity() - before) * sizeof(Node));
  return result;
}

PlainValue PlainData::list() {
  return container(PlainKind::kList);
}

PlainValue PlainData::dict() {
  return container(PlainKind::kDict);
}

void PlainData::take_room(Node& node, std::size_t room) {
  node.values = values_at_;
  node.room = static_cast<std::uint32_t>(room);
  values_at_ += room;
  values_left_ -= room;
}

void PlainData::append(const PlainValue& container, std::span<const PlainValue> values) {
  if (container.kind != PlainKind::kList && container.kind != PlainKind::kDict) {
    return;
  }
  Node& node = nodes_[container.node];
  const std::size_t size = node.size + values.size();
  if (node.room == 0 && size <= values_left_) {  // most are filled at once
    take_room(node, size);
  } else if (size > node.room && !make_room(node, node.size == 0 ? size : 2 * size)) {
    return;
  }
  std::copy(values.begin(), values.end(), node.values + node.size);
  node.size = static_cast<std::uint32_t>(size);
}

bool PlainData::make_room(Node& node, std::size_t room) {
  constexpr std::size_t kChunk = 1024;
  if (room > std::numeric_limits<std::uint32_t>::max()) {
    used_ = budget_ + 1;
    return false;
  }
  const std::size_t more = room - node.room;
  if (node.room != 0 && node.values + node.room == values_at_ && more <= values_left_) {
    node.room = static_cast<std::uint32_t>(room);
    values_at_ += more;
    values_left_ -= more;
    return true;
  }
  if (room > values_left_) {
    values_left_ = std::max(kChunk, room);
    charge(values_left_ * sizeof(PlainValue) + sizeof(value_chunks_.front()));
    if (over_budget()) {
      values_left_ = 0;
      return false;
    }
    // Bytes: an array of values would be filled with empty ones first.
    static_assert(std::is_trivially_copyable_v<PlainValue>);
    value_chunks_.push_back(
        std::make_unique_for_overwrite<std::byte[]>(values_left_ * sizeof(PlainValue)));
    values_at_ = reinterpret_cast<PlainValue*>(value_chunks_.back().get());
  }
  std::copy_n(node.values, node.size, values_at_);
  take_room(node, room);
  return true;
}

std::string_view PlainData::text_of(const PlainValue& value) {
  return value.kind == PlainKind::kText ? std::string_view(value.text, value.size)
                                        : std::string_view();
}

std::span<const PlainValue> PlainData::items(const PlainValue& value) const {
  if (value.kind != PlainKind::kList && value.kind != PlainKind::kDict) {
    return {};
  }
  const Node& node = nodes_[value.node];
  return {node.values, node.size};
}

PlainValue PlainData::find(const PlainValue& dict, std::string_view key) const {
  if (dict.kind != PlainKind::kDict) {
    return {};
  }
  const auto all = items(dict);
  for (std::size_t i = all.size() / 2; i-- > 0;) {
    if (all[2 * i].kind == PlainKind::kText && text_of(all[2 * i]) == key) {
      return all[2 * i + 1];
    }
  }
  return {};
}

}  // namespace oddrank::collectives
