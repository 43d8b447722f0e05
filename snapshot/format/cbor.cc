#include "snapshot/format/cbor.h"

namespace oddrank::snapshot {
namespace {

// The lower five bits of the first byte: the number itself, or how many bytes of it follow. Larger
// ones are reserved, or stand for indefinite lengths.
constexpr unsigned kTypeShift = 5;
constexpr unsigned kInfoMask = 0x1f;
constexpr unsigned kFirstFollowing = 24;  // one byte; then two, four, eight
constexpr unsigned kLastFollowing = 27;

}  // namespace

std::optional<CborItem> CborReader::next() {
  if (left() == 0) {
    return std::nullopt;
  }
  const auto first = static_cast<unsigned char>(input_[at_]);
  const unsigned type = first >> kTypeShift;
  const unsigned info = first & kInfoMask;
  if (type > static_cast<unsigned>(CborType::kMap) || info > kLastFollowing) {
    return std::nullopt;
  }
  CborItem item{static_cast<CborType>(type), info, {}};
  std::size_t end = at_ + 1;
  if (info >= kFirstFollowing) {
    const std::size_t width = std::size_t{1} << (info - kFirstFollowing);
    if (left() <= width) {
      return std::nullopt;
    }
    item.number = 0;
    for (const char byte : input_.substr(end, width)) {
      item.number = item.number << 8U | static_cast<unsigned char>(byte);
    }
    end += width;
  }
  if (item.type == CborType::kBytes || item.type == CborType::kText) {
    if (item.number > input_.size() - end) {
      return std::nullopt;
    }
    item.bytes = input_.substr(end, item.number);
    end += item.bytes.size();
  }
  at_ = end;
  return item;
}

void put_cbor_head(std::string& into, CborType type, std::uint64_t number) {
  const unsigned high = static_cast<unsigned>(type) << kTypeShift;
  if (number < kFirstFollowing) {
    into.push_back(static_cast<char>(high | number));
    return;
  }
  unsigned info = kFirstFollowing;
  while (info < kLastFollowing && number >> (8U << (info - kFirstFollowing)) != 0) {
    ++info;
  }
  into.push_back(static_cast<char>(high | info));
  for (unsigned left = 1U << (info - kFirstFollowing); left > 0; --left) {
    into.push_back(static_cast<char>(number >> (8 * (left - 1))));
  }
}

void put_cbor_text(std::string& into, std::string_view text) {
  put_cbor_head(into, CborType::kText, text.size());
  into += text;
}

}  // namespace oddrank::snapshot
