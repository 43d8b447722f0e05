#include "collectives/flight/recorded_words.h"

#include <algorithm>

#include "base/base_name.h"
#include "base/parse_number.h"

namespace oddrank::collectives {

void fill_recorded_name(std::string_view name,
                        snapshot::Tables& texts,
                        snapshot::FlightEntry& entry) {
  const auto colon = name.find(':');
  if (colon != std::string_view::npos) {
    entry.backend = texts.string(name.substr(0, std::min<std::size_t>(colon, 40)));
    name.remove_prefix(colon + 1);
  }
  const auto blank = name.find(' ');
  entry.op = texts.string(name.substr(0, std::min<std::size_t>(blank, 80)));
  if (blank == std::string_view::npos) {
    return;
  }
  const std::string_view peers = name.substr(blank + 1);
  const auto arrow = std::min(peers.find("->"), peers.find("<-"));
  if (arrow != std::string_view::npos) {
    entry.peer = parse_number<std::int32_t>(peers.substr(arrow + 2)).value_or(-1);
    entry.is_p2p = true;
  }
}

bool is_below_caller(std::string_view file) {
  const bool standard = file.find("/lib/python3") != std::string_view::npos &&
                        file.find("-packages/") == std::string_view::npos;
  return standard || file.ends_with("/typing_extensions.py") ||
         file.find("/torch/") != std::string_view::npos || file.starts_with("torch/") ||
         file.ends_with(".cpp") || file.ends_with(".so") || file.starts_with("??");
}

std::string recorded_place(std::string_view function, std::string_view file, std::int64_t line) {
  return std::string(function.substr(0, 100)) + " (" + std::string(base_name(file).substr(0, 100)) +
         ":" + std::to_string(line) + ")";
}

void TensorSizes::begin_tensor() {
  product_ = 1;
  first_ = true;
  shown_ = text_.size() < kMaxText;
  text_ += shown_ ? (text_.empty() ? "[" : ", [") : "";
}

void TensorSizes::add(std::int64_t size) {
  if (__builtin_mul_overflow(product_, size, &product_)) {
    product_ = 0;
  }
  if (shown_ && text_.size() < kMaxText) {
    text_ += (first_ ? "" : ", ") + std::to_string(size);
  }
  first_ = false;
}

void TensorSizes::end_tensor() {
  text_ += shown_ ? "]" : "";
  if (__builtin_add_overflow(count_, product_, &count_)) {
    count_ = 0;
  }
}

void TensorTypes::add(std::string_view name) {
  constexpr std::size_t kMaxTypes = 200;
  if (name != last_ && text_.size() < kMaxTypes) {
    text_ += (text_.empty() ? "" : ", ") + std::string(name);
    last_ = name;
  }
}

}  // namespace oddrank::collectives
