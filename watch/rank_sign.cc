#include "watch/rank_sign.h"

#include <type_traits>

#include "base/parse_number.h"

namespace oddrank::watch {
namespace {

constexpr std::size_t kMaxSentPlaces = 4096;

// Each field ends with NUL, which no field can contain.
void put(std::string& text, std::string_view field) {
  for (const char byte : field) {
    text += byte == '\0' ? '?' : byte;
  }
  text += '\0';
}

template <typename T>
void put_number(std::string& text, T value) {
  put(text, std::to_string(value));
}

class Fields {
 public:
  explicit Fields(std::string_view text) : text_(text) {}

  std::string next();
  template <typename T>
  T number();
  std::optional<std::uint64_t> number_or_none();
  bool good() const { return good_; }

 private:
  std::string_view text_;
  bool good_ = true;
};

std::string Fields::next() {
  const auto end = text_.find('\0');
  if (end == std::string_view::npos) {
    good_ = false;
    return {};
  }
  std::string field(text_.substr(0, end));
  text_.remove_prefix(end + 1);
  return field;
}

template <typename T>
T Fields::number() {
  const auto value = parse_number<T>(next());
  good_ = good_ && value;
  return value.value_or(T{});
}

std::optional<std::uint64_t> Fields::number_or_none() {
  const std::string field = next();
  const auto value = parse_number<std::uint64_t>(field);
  good_ = good_ && (field.empty() || value);
  return value;
}

}  // namespace

std::string encode_sign(const RankSign& sign) {
  std::string text;
  put_number(text, sign.pid);
  put_number(text, sign.rank);
  put_number(text, sign.gone ? 1 : 0);
  put(text, sign.trouble);
  put(text, std::string_view(&sign.state, 1));
  put_number(text, sign.switches);
  put_number(text, sign.unrun_ms);
  put_number(text, sign.frames_read ? 1 : 0);
  put(text, sign.where);
  put(text, sign.backends);
  put_number(text, sign.group_timeout_s);
  put_number(text, sign.stored_bytes);
  put_number(text, sign.log_bytes);
  put_number(text, sign.log_by_watcher ? 1 : 0);
  put(text, sign.launches ? std::to_string(*sign.launches) : "");
  put(text, sign.calls ? std::to_string(*sign.calls) : "");
  put_number(text, sign.places.size());
  for (const std::uint64_t place : sign.places) {
    put_number(text, place);
  }
  return text;
}

std::optional<RankSign> decode_sign(std::string_view text) {
  Fields fields(text);
  RankSign sign;
  sign.pid = fields.number<pid_t>();
  sign.rank = fields.number<std::int32_t>();
  sign.gone = fields.number<int>() != 0;
  sign.trouble = fields.next();
  const std::string state = fields.next();
  sign.state = state.size() == 1 ? state.front() : '?';
  sign.switches = fields.number<std::uint64_t>();
  sign.unrun_ms = fields.number<std::int64_t>();
  sign.frames_read = fields.number<int>() != 0;
  sign.where = fields.next();
  sign.backends = fields.next();
  sign.group_timeout_s = fields.number<std::int64_t>();
  sign.stored_bytes = fields.number<std::uint64_t>();
  sign.log_bytes = fields.number<std::uint64_t>();
  sign.log_by_watcher = fields.number<int>() != 0;
  sign.launches = fields.number_or_none();
  sign.calls = fields.number_or_none();
  const auto count = fields.number<std::size_t>();
  for (std::size_t i = 0; fields.good() && i < count && i < kMaxSentPlaces; ++i) {
    sign.places.push_back(fields.number<std::uint64_t>());
  }
  return fields.good() ? std::optional(std::move(sign)) : std::nullopt;
}

}  // namespace oddrank::watch
