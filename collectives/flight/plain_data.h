// Numbers, texts, lists and dicts from an untrusted file (pickle_reader.h, json_reader.h). Values
// are small and refer to nodes by index: lists may contain each other in cycles, and nothing here
// recurses.
//
// Memory is accounted: a file whose values need more than ten times its own size (and 64 MiB) is
// refused. PyTorch's dumps need 3 to 6 times their size, dumps rewritten by Python (whose pickles
// are smaller) 12 times. A vector of the reader briefly needs half as much again while it grows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace oddrank::collectives {

enum class PlainKind : std::uint8_t { kNone = 0, kBool, kInt, kReal, kText, kList, kDict };

struct PlainValue {
  PlainKind kind = PlainKind::kNone;
  std::uint32_t size = 0;  // of a text
  union {
    std::int64_t integer = 0;  // also of a bool
    double real;
    const char* text;
    std::size_t node;  // of a list or dict
  };
};

class PlainData {
 public:
  // `input_size`: of the file. Texts may point into the file, which must outlive the data.
  // `anyway`: the bytes that it may need however small the file is.
  explicit PlainData(std::size_t input_size, std::size_t anyway = std::size_t{64} << 20)
      : budget_(input_size * 10 + anyway) {}

  static PlainValue none() { return {}; }
  static PlainValue boolean(bool value);
  static PlainValue integer(std::int64_t value);
  static PlainValue real(double value);
  static PlainValue text(std::string_view value);  // borrows
  PlainValue copied_text(std::string_view value);
  PlainValue list();
  PlainValue dict();  // its items are key, value, key, value, ...
  // Adds values to a list or dict; does nothing for any other value.
  void append(const PlainValue& container, std::span<const PlainValue> values);

  static std::string_view text_of(const PlainValue& value);  // "" if it is not a text
  // Returns the values of a list, or keys and values of a dict in turn; empty for everything else.
  std::span<const PlainValue> items(const PlainValue& value) const;
  // Returns the last value with that key in a dict; none() if there is none.
  PlainValue find(const PlainValue& dict, std::string_view key) const;

  bool over_budget() const { return used_ > budget_; }
  // Accounts for memory that a reader needs for this data.
  void charge(std::size_t bytes) { used_ += bytes; }
  std::size_t used() const { return used_; }

 private:
  // There are millions of short lists, so their values share chunks instead of one allocation each.
  struct Node {
    PlainValue* values = nullptr;
    std::uint32_t size = 0;
    std::uint32_t room = 0;
  };

  PlainValue container(PlainKind kind);
  // Gives the node the next `room` free values. Precondition: there are enough.
  void take_room(Node& node, std::size_t room);
  // Moves the node's values to a place for `room` values; false if a node may not have so many.
  bool make_room(Node& node, std::size_t room);

  std::vector<Node> nodes_;
  std::vector<std::unique_ptr<std::byte[]>> value_chunks_;
  std::size_t values_left_ = 0;
  PlainValue* values_at_ = nullptr;
  std::vector<std::unique_ptr<char[]>> chunks_;
  std::size_t chunk_left_ = 0;
  char* chunk_at_ = nullptr;
  std::size_t budget_;
  std::size_t used_ = 0;
};

// The result of a reader: the outermost value, and whether the file ended before it was complete.
struct PlainDocument {
  PlainData data;
  PlainValue root;
  bool cut = false;
};

}  // namespace oddrank::collectives
