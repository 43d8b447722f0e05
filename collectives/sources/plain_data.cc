#include "collectives/sources/plain_data.h"

#include <algorithm>
#include <cstring>
#include <limits>

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
  nodes_.emplace_back();
  charge(sizeof(decltype(nodes_)::value_type));
  return result;
}

PlainValue PlainData::list() {
  return container(PlainKind::kList);
}

PlainValue PlainData::dict() {
  return container(PlainKind::kDict);
}

void PlainData::append(const PlainValue& container, std::span<const PlainValue> values) {
  if (container.kind != PlainKind::kList && container.kind != PlainKind::kDict) {
    return;
  }
  std::vector<PlainValue>& node = nodes_[container.node];
  const std::size_t before = node.capacity();
  if (node.empty()) {
    node.reserve(values.size());  // most are filled at once
  }
  node.insert(node.end(), values.begin(), values.end());
  charge((node.capacity() - before) * sizeof(PlainValue));
}

std::string_view PlainData::text_of(const PlainValue& value) {
  return value.kind == PlainKind::kText ? std::string_view(value.text, value.size)
                                        : std::string_view();
}

std::span<const PlainValue> PlainData::items(const PlainValue& value) const {
  if (value.kind != PlainKind::kList && value.kind != PlainKind::kDict) {
    return {};
  }
  return nodes_[value.node];
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
