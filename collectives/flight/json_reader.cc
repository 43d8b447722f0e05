#include "collectives/flight/json_reader.h"

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace oddrank::collectives {
namespace {

constexpr std::size_t kMaxDepth = 64;

// The parser calls it for each piece of the text; false stops the parser.
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Builder(std::string_view bytes) : size_(bytes.size()), data_(bytes.size()) {}
  bool null() override { return add(PlainData::none()); }
  bool boolean(bool value) override { return add(PlainData::boolean(value)); }
  bool number_integer(std::int64_t value) override { return add(PlainData::integer(value)); }
  bool number_unsigned(std::uint64_t value) override;
  bool number_float(double value, const std::string& /*text*/) override;
  bool string(std::string& value) override { return add(data_.copied_text(value)); }
  bool binary(binary_t& /*value*/) override { return false; }
  bool key(std::string& value) override;
  bool start_object(std::size_t /*size*/) override { return open(data_.dict()); }
  bool start_array(std::size_t /*size*/) override { return open(data_.list()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position,
                   const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override;
  Result<PlainDocument> result();

 private:
  bool check();
  // Adds a value to the open container. A container is added when it opens: a cut file keeps it.
  bool add(const PlainValue& value);
  bool open(const PlainValue& container);
  bool close();

  std::size_t size_;
  PlainData data_;
  PlainValue root_;
  PlainValue key_;
  bool has_root_ = false;
  bool cut_ = false;
  std::vector<PlainValue> open_;
  std::string problem_;
};

bool Builder::number_unsigned(std::uint64_t value) {
  constexpr auto kMaxInteger = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return add(value > kMaxInteger ? PlainData::none()
                                 : PlainData::integer(static_cast<std::int64_t>(value)));
}

bool Builder::number_float(double value, const std::string& /*text*/) {
  return add(PlainData::real(value));
}

bool Builder::key(std::string& value) {
  key_ = data_.copied_text(value);
  return check();
}

bool Builder::parse_error(std::size_t position,
                          const std::string& /*token*/,
                          const nlohmann::detail::exception& /*error*/) {
  cut_ = position > size_;  // the end counts as a character
  problem_ = cut_ ? "" : fmt::format("invalid JSON at byte {}", position);
  return false;
}

Result<PlainDocument> Builder::result() {
  if (!problem_.empty()) {
    return fail(Errc::kBadData, problem_);
  }
  if (!has_root_) {
    return fail(Errc::kBadData, "the JSON ends before its first value");
  }
  return PlainDocument{std::move(data_), root_, cut_};
}

bool Builder::check() {
  if (data_.over_budget()) {
    problem_ = "the JSON unpacks to more than ten times its size, and 64 MiB";
  }
  return problem_.empty();
}

bool Builder::add(const PlainValue& value) {
  if (open_.empty()) {
    root_ = value;
    has_root_ = true;
    return check();
  }
  const PlainValue& parent = open_.back();
  if (parent.kind == PlainKind::kDict) {
    const std::array<PlainValue, 2> pair = {key_, value};
    data_.append(parent, pair);
  } else {
    data_.append(parent, std::span(&value, 1));
  }
  return check();
}

bool Builder::open(const PlainValue& container) {
  if (open_.size() >= kMaxDepth) {
    problem_ = fmt::format("the JSON is nested deeper than {}", kMaxDepth);
    return false;
  }
  const bool goes_on = add(container);
  open_.push_back(container);
  return goes_on;
}

bool Builder::close() {
  open_.pop_back();
  return true;
}

}  // namespace

Result<PlainDocument> read_json(std::string_view bytes) {
  Builder builder(bytes);
  nlohmann::json::sax_parse(bytes.begin(), bytes.end(), &builder);
  return builder.result();
}

}  // namespace oddrank::collectives
