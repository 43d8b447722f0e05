// The part of CBOR (RFC 8949) that a capture is made of: integers, texts, byte strings, arrays and
// maps of definite length.
//
// Not a general parser, because a report of a large job reads thousands of files of some hundred
// short items each: with an object for each item, that took a fifth of its time. Private to
// snapshot/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace oddrank::snapshot {

// The major types, by their numbers.
enum class CborType : std::uint8_t {
  kUnsigned = 0,
  kNegative = 1,
  kBytes = 2,
  kText = 3,
  kArray = 4,
  kMap = 5,
};

struct CborItem {
  CborType type = CborType::kUnsigned;
  // An integer (-1 - number if negative), or how many items of an array or pairs of a map follow.
  // That is what the input says: there may be fewer.
  std::uint64_t number = 0;
  std::string_view bytes;  // of a text or a byte string
};

// Borrows the input.
class CborReader {
 public:
  explicit CborReader(std::string_view input) : input_(input) {}

  // Returns nothing at the end of the input, if an item is cut, and for any other type.
  std::optional<CborItem> next();
  std::size_t position() const { return at_; }
  std::size_t left() const { return input_.size() - at_; }

 private:
  std::string_view input_;
  std::size_t at_ = 0;
};

// Appends the head of an item; the caller appends its bytes or items.
void put_cbor_head(std::string& into, CborType type, std::uint64_t number);
void put_cbor_text(std::string& into, std::string_view text);

}  // namespace oddrank::snapshot
