#include "collectives/flight/pickle_reader.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

namespace oddrank::collectives {
namespace {

// Functions of torch.jit._pickle that return their first argument as a list of one type.
constexpr std::array<std::string_view, 5> kListMarkers = {
    "build_intlist", "build_doublelist", "build_boollist", "build_tensorlist", "restore_type_tag"};

enum class Step : std::uint8_t { kGoOn, kStop, kCut };

// As a std::vector, but that adding a value is no call: millions are added.
class ValueStack {
 public:
  std::size_t size() const { return size_; }
  std::size_t room() const { return values_.size(); }
  bool empty() const { return size_ == 0; }
  const PlainValue& front() const { return values_.front(); }
  const PlainValue& back() const { return values_[size_ - 1]; }
  const PlainValue& operator[](std::size_t at) const { return values_[at]; }
  std::span<const PlainValue> from(std::size_t first) const {
    return std::span(values_).first(size_).subspan(first);
  }
  PlainValue& operator[](std::size_t at) { return values_[at]; }
  void make_room() { values_.resize(std::max<std::size_t>(64, 2 * size_)); }
  // Precondition: there is room.
  void add(const PlainValue& value) { values_[size_++] = value; }
  // Precondition: not above the top.
  void drop_from(std::size_t first) { size_ = first; }

 private:
  std::vector<PlainValue> values_;
  std::size_t size_ = 0;
};

// Grows in pieces that stay where they are: a dump memoises a hundred thousand values, and copying
// them again and again was a tenth of the time.
class Memo {
 public:
  static constexpr std::size_t kPiece = 1024;

  std::size_t size() const { return size_; }
  bool full() const { return size_ == pieces_.size() * kPiece; }
  // Precondition: below size().
  PlainValue& operator[](std::size_t at) {
    return reinterpret_cast<PlainValue*>(pieces_[at / kPiece].get())[at % kPiece];
  }
  void make_room();
  // Precondition: it is not full.
  void add(const PlainValue& value);

 private:
  std::vector<std::unique_ptr<std::byte[]>> pieces_;
  std::size_t size_ = 0;
};

inline void Memo::add(const PlainValue& value) {
  ++size_;
  (*this)[size_ - 1] = value;
}

// Bytes: an array of values would be filled with empty ones first.
void Memo::make_room() {
  static_assert(std::is_trivially_copyable_v<PlainValue>);
  pieces_.push_back(std::make_unique_for_overwrite<std::byte[]>(kPiece * sizeof(PlainValue)));
}

class Machine {
 public:
  explicit Machine(std::string_view bytes) : bytes_(bytes), data_(bytes.size()) {}
  Result<PlainDocument> run();

 private:
  Result<PlainDocument> document(bool cut);
  Step bad(std::string what);
  std::size_t left() const { return bytes_.size() - at_; }
  // Reads a little-endian number of `width` bytes; returns false at the end of the file.
  [[gnu::always_inline]] bool take_number(std::size_t width, std::uint64_t& number);
  bool take_bytes(std::uint64_t size, std::string_view& text);
  bool take_line(std::string_view& line);
  [[gnu::always_inline]] void push(const PlainValue& value);
  // Make room for another value, and charge for it.
  void grow_stack();
  void grow_memo();
  template <std::size_t kWidth>
  Step push_text();
  template <std::size_t kWidth, bool kSigned>
  Step push_int();
  // Pushes a number in two's complement of any length. One that does not fit becomes None: no field
  // in use is so large.
  template <std::size_t kWidth>
  Step push_long();
  Step push_real();
  Step put(std::uint64_t index);
  Step put_out_of_order(std::uint64_t index);
  template <std::size_t kWidth>
  Step put_numbered();
  template <std::size_t kWidth>
  Step get();
  Step append(std::size_t first, bool pairs);
  Step append_marked(bool pairs);
  Step append_last(std::size_t count, bool pairs);
  Step tuple_from(std::size_t first);
  Step tuple_of_last(std::size_t count);
  Step close_mark(bool keep);
  Step global();
  // Replaces a list marker's global and tuple of arguments by the first argument.
  Step reduce();
  Step pop();
  Step duplicate();
  Step skip(std::size_t count);
  Step mark();
  Step push_container(PlainKind kind);
  Step push_value(const PlainValue& value);
  Step next();
  Step next_rare(unsigned char opcode);
  // At the end of a cut file: adds the complete items to every open list and dict.
  void close_all();

  std::string_view bytes_;
  std::size_t at_ = 0;
  PlainData data_;
  ValueStack stack_;
  std::vector<std::size_t> marks_;
  Memo memo_;
  std::string problem_;
};

Result<PlainDocument> Machine::run() {
  Step step = Step::kGoOn;
  while (step == Step::kGoOn && !data_.over_budget()) {
    step = next();
  }
  if (!problem_.empty()) {
    return fail(Errc::kBadData, problem_);
  }
  if (data_.over_budget()) {
    return fail(Errc::kBadData, "the pickle unpacks to more than ten times its size, and 64 MiB");
  }
  if (step == Step::kCut) {
    close_all();
  }
  return document(step == Step::kCut);
}

Result<PlainDocument> Machine::document(bool cut) {
  if (stack_.empty()) {
    return fail(Errc::kBadData,
                cut ? "the pickle ends before its first value" : "the pickle ends without a value");
  }
  const PlainValue root = cut ? stack_.front() : stack_.back();
  return PlainDocument{std::move(data_), root, cut};
}

Step Machine::bad(std::string what) {
  problem_ = std::move(what);
  return Step::kStop;
}

inline bool Machine::take_number(std::size_t width, std::uint64_t& number) {
  if (left() < width) {
    return false;
  }
  number = 0;
  for (std::size_t i = 0; i < width; ++i) {
    number |= std::uint64_t{static_cast<unsigned char>(bytes_[at_ + i])} << (8 * i);
  }
  at_ += width;
  return true;
}

bool Machine::take_bytes(std::uint64_t size, std::string_view& text) {
  if (left() < size) {
    return false;
  }
  text = bytes_.substr(at_, size);
  at_ += size;
  return true;
}

bool Machine::take_line(std::string_view& line) {
  const auto end = bytes_.find('\n', at_);
  if (end == std::string_view::npos) {
    return false;
  }
  line = bytes_.substr(at_, end - at_);
  at_ = end + 1;
  return true;
}

void Machine::grow_stack() {
  stack_.make_room();
  data_.charge((stack_.room() - stack_.size()) * sizeof(PlainValue));
}

void Machine::grow_memo() {
  memo_.make_room();
  data_.charge(Memo::kPiece * sizeof(PlainValue));
}

inline void Machine::push(const PlainValue& value) {
  if (stack_.size() == stack_.room()) {
    grow_stack();
  }
  stack_.add(value);
}

template <std::size_t kWidth>
Step Machine::push_text() {
  std::uint64_t size = 0;
  std::string_view text;
  if (!take_number(kWidth, size) || !take_bytes(size, text)) {
    return Step::kCut;
  }
  push(PlainData::text(text));
  return Step::kGoOn;
}

template <std::size_t kWidth, bool kSigned>
Step Machine::push_int() {
  std::uint64_t number = 0;
  if (!take_number(kWidth, number)) {
    return Step::kCut;
  }
  push(PlainData::integer(kSigned ? std::int64_t{static_cast<std::int32_t>(number)}
                                  : static_cast<std::int64_t>(number)));
  return Step::kGoOn;
}

template <std::size_t kWidth>
Step Machine::push_long() {
  std::uint64_t size = 0;
  std::string_view digits;
  if (!take_number(kWidth, size) || !take_bytes(size, digits)) {
    return Step::kCut;
  }
  if (digits.size() > sizeof(std::uint64_t)) {
    push(PlainData::none());
    return Step::kGoOn;
  }
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    number |= std::uint64_t{static_cast<unsigned char>(digits[i])} << (8 * i);
  }
  const bool negative = !digits.empty() && (static_cast<unsigned char>(digits.back()) & 0x80U);
  if (negative && digits.size() < sizeof(number)) {
    number |= ~std::uint64_t{0} << (8 * digits.size());
  }
  push(PlainData::integer(static_cast<std::int64_t>(number)));
  return Step::kGoOn;
}

Step Machine::push_real() {
  if (left() < sizeof(std::uint64_t)) {
    return Step::kCut;
  }
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < sizeof(bits); ++i) {
    bits = bits << 8U | static_cast<unsigned char>(bytes_[at_ + i]);
  }
  at_ += sizeof(bits);
  push(PlainData::real(std::bit_cast<double>(bits)));
  return Step::kGoOn;
}

inline Step Machine::put(std::uint64_t index) {
  if (index != memo_.size() || stack_.empty()) {
    return put_out_of_order(index);
  }
  if (memo_.full()) {
    grow_memo();
  }
  memo_.add(stack_.back());
  return Step::kGoOn;
}

Step Machine::put_out_of_order(std::uint64_t index) {
  if (stack_.empty()) {
    return bad("the pickle memoises nothing");
  }
  if (index > memo_.size() + bytes_.size() / 16) {  // gaps cost memory
    return bad("the pickle's memo has a gap");
  }
  while (memo_.size() <= index) {
    if (memo_.full()) {
      grow_memo();
    }
    memo_.add(PlainValue());
  }
  memo_[index] = stack_.back();
  return Step::kGoOn;
}

template <std::size_t kWidth>
Step Machine::put_numbered() {
  std::uint64_t index = 0;
  return take_number(kWidth, index) ? put(index) : Step::kCut;
}

template <std::size_t kWidth>
Step Machine::get() {
  std::uint64_t index = 0;
  if (!take_number(kWidth, index)) {
    return Step::kCut;
  }
  if (index >= memo_.size()) {
    return bad("the pickle uses a memo that it has not made");
  }
  push(memo_[index]);
  return Step::kGoOn;
}

Step Machine::append(std::size_t first, bool pairs) {
  if (first == 0 || first > stack_.size()) {
    return bad("the pickle adds to nothing");
  }
  const PlainValue container = stack_[first - 1];
  const bool fits = container.kind == (pairs ? PlainKind::kDict : PlainKind::kList);
  if (!fits || (pairs && (stack_.size() - first) % 2 != 0)) {
    return bad("the pickle adds items to what cannot hold them");
  }
  data_.append(container, stack_.from(first));
  stack_.drop_from(first);
  return Step::kGoOn;
}

Step Machine::append_marked(bool pairs) {
  if (marks_.empty()) {
    return bad("the pickle closes what it has not opened");
  }
  const std::size_t mark = marks_.back();
  marks_.pop_back();
  return append(mark, pairs);
}

Step Machine::append_last(std::size_t count, bool pairs) {
  return stack_.size() < count ? bad("the pickle adds nothing")
                               : append(stack_.size() - count, pairs);
}

Step Machine::tuple_from(std::size_t first) {
  if (first > stack_.size()) {
    return bad("the pickle closes what it has not opened");
  }
  const PlainValue tuple = data_.list();
  data_.append(tuple, stack_.from(first));
  stack_.drop_from(first);
  push(tuple);
  return Step::kGoOn;
}

Step Machine::tuple_of_last(std::size_t count) {
  return stack_.size() < count ? bad("the pickle makes a tuple of nothing")
                               : tuple_from(stack_.size() - count);
}

Step Machine::close_mark(bool keep) {
  if (marks_.empty()) {
    return bad("the pickle closes what it has not opened");
  }
  const std::size_t mark = marks_.back();
  marks_.pop_back();
  if (keep) {
    return tuple_from(mark);
  }
  stack_.drop_from(std::min(mark, stack_.size()));
  return Step::kGoOn;
}

Step Machine::global() {
  std::string_view module;
  std::string_view name;
  if (!take_line(module) || !take_line(name)) {
    return Step::kCut;
  }
  const bool marker =
      module == "torch.jit._pickle" &&
      std::find(kListMarkers.begin(), kListMarkers.end(), name) != kListMarkers.end();
  if (!marker) {
    return bad(fmt::format("the pickle wants to call {}.{}, which plain data do not need",
                           module.substr(0, 60), name.substr(0, 60)));
  }
  push(PlainData::none());
  return Step::kGoOn;
}

Step Machine::reduce() {
  if (stack_.size() < 2) {
    return bad("the pickle calls nothing");
  }
  const auto arguments = data_.items(stack_.back());
  const PlainValue first = arguments.empty() ? PlainData::none() : arguments.front();
  stack_.drop_from(stack_.size() - 2);
  push(first);
  return Step::kGoOn;
}

Step Machine::pop() {
  if (stack_.empty()) {
    return bad("the pickle drops what is not there");
  }
  stack_.drop_from(stack_.size() - 1);
  return Step::kGoOn;
}

Step Machine::duplicate() {
  if (stack_.empty()) {
    return bad("the pickle copies what is not there");
  }
  push(PlainValue(stack_.back()));
  return Step::kGoOn;
}

Step Machine::skip(std::size_t count) {
  if (left() < count) {
    return Step::kCut;
  }
  at_ += count;
  return Step::kGoOn;
}

Step Machine::mark() {
  const std::size_t before = marks_.capacity();
  marks_.push_back(stack_.size());
  data_.charge((marks_.capacity() - before) * sizeof(std::size_t));
  return Step::kGoOn;
}

Step Machine::push_container(PlainKind kind) {
  push(kind == PlainKind::kDict ? data_.dict() : data_.list());
  return Step::kGoOn;
}

Step Machine::push_value(const PlainValue& value) {
  push(value);
  return Step::kGoOn;
}

void Machine::close_all() {
  while (!marks_.empty()) {
    const std::size_t first = marks_.back();
    marks_.pop_back();
    if (first == 0 || first > stack_.size()) {
      continue;
    }
    const PlainValue container = stack_[first - 1];
    std::size_t count = stack_.size() - first;
    count -= container.kind == PlainKind::kDict ? count % 2 : 0;
    data_.append(container, stack_.from(first).first(count));
    stack_.drop_from(first);
  }
}

Step Machine::next() {
  if (left() == 0) {
    return Step::kCut;
  }
  const auto opcode = static_cast<unsigned char>(bytes_[at_]);
  ++at_;
  switch (opcode) {  // names as in Python's pickletools
    case 'h':        // BINGET
      return get<1>();
    case 'j':  // LONG_BINGET
      return get<4>();
    case 'q':  // BINPUT
      return put_numbered<1>();
    case 'r':  // LONG_BINPUT
      return put_numbered<4>();
    case 0x94:  // MEMOIZE
      return put(memo_.size());
    case 'K':  // BININT1
      return push_int<1, false>();
    case 'M':  // BININT2
      return push_int<2, false>();
    case 'J':  // BININT
      return push_int<4, true>();
    case 'X':  // BINUNICODE
      return push_text<4>();
    case 0x8c:  // SHORT_BINUNICODE
      return push_text<1>();
    case '(':  // MARK
      return mark();
    case ']':  // EMPTY_LIST
      return push_container(PlainKind::kList);
    case '}':  // EMPTY_DICT
      return push_container(PlainKind::kDict);
    case 'e':  // APPENDS
      return append_marked(false);
    case 'u':  // SETITEMS
      return append_marked(true);
    case 'a':  // APPEND
      return append_last(1, false);
    case 's':  // SETITEM
      return append_last(2, true);
    case 'N':  // NONE
      return push_value(PlainData::none());
    case 0x88:  // NEWTRUE
      return push_value(PlainData::boolean(true));
    case 0x89:  // NEWFALSE
      return push_value(PlainData::boolean(false));
    case 0x86:  // TUPLE2
      return tuple_of_last(2);
    default:
      return next_rare(opcode);
  }
}

Step Machine::next_rare(unsigned char opcode) {
  switch (opcode) {
    case '.':  // STOP
      return Step::kStop;
    case 0x80:  // PROTO
      return skip(1);
    case 0x95:  // FRAME
      return skip(8);
    case 0x8a:  // LONG1
      return push_long<1>();
    case 0x8b:  // LONG4
      return push_long<4>();
    case 'G':  // BINFLOAT
      return push_real();
    case 0x8d:  // BINUNICODE8
      return push_text<8>();
    case 'C':  // SHORT_BINBYTES
      return push_text<1>();
    case 'B':  // BINBYTES
      return push_text<4>();
    case ')':   // EMPTY_TUPLE
    case 0x8f:  // EMPTY_SET
      return push_container(PlainKind::kList);
    case 0x90:  // ADDITEMS
      return append_marked(false);
    case 0x85:  // TUPLE1
      return tuple_of_last(1);
    case 0x87:  // TUPLE3
      return tuple_of_last(3);
    case 't':  // TUPLE
      return close_mark(true);
    case '1':  // POP_MARK
      return close_mark(false);
    case '0':  // POP
      return pop();
    case '2':  // DUP
      return duplicate();
    case 'c':  // GLOBAL
      return global();
    case 'R':  // REDUCE
      return reduce();
    default:
      return bad(
          fmt::format("the pickle has opcode {:#04x} at byte {}, which plain data do not need",
                      opcode, at_ - 1));
  }
}

}  // namespace

Result<PlainDocument> read_pickle(std::string_view bytes) {
  if (bytes.size() < 2 || static_cast<unsigned char>(bytes[0]) != 0x80 ||
      static_cast<unsigned char>(bytes[1]) < 2 || static_cast<unsigned char>(bytes[1]) > 5) {
    return fail(Errc::kBadData, "not a pickle of protocol 2 to 5");
  }
  return Machine(bytes).run();
}

}  // namespace oddrank::collectives
