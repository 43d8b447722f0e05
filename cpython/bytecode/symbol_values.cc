// Sources: Lib/pathlib.py of 3.8 to 3.12, Lib/pathlib/ of later ones (slots of PurePath).
#include "cpython/bytecode/symbol_values.h"

#include <algorithm>
#include <utility>

#include "base/secrets/secret_names.h"
#include "cpython/objects/attributes.h"
#include "cpython/objects/scalars.h"
#include "cpython/objects/strings.h"
#include "cpython/objects/types.h"

namespace oddrank::cpython {

namespace {

constexpr std::size_t kWordSize = sizeof(std::uint64_t);
constexpr std::size_t kMaxName = 128;
constexpr std::string_view kModuleName = "__name__";

std::string plain_text(PythonMemory& memory, Addr object) {
  const auto text = read_string(memory, object, kMaxObjectText);
  return text ? text->utf8 + (text->cut ? "..." : "") : std::string();
}

bool is_path(PythonMemory& memory, Addr object) {
  const std::string type = type_name(memory, object);
  return type == "PosixPath" || type == "PurePosixPath" || type == "Path";
}

// Heuristic: the slots of a path hold its parts and, once used, its whole text, which is the
// longest of them. Their order differs between versions.
std::string path_text(PythonMemory& memory, Addr path) {
  constexpr std::size_t kSlots = 10;
  std::string longest;
  for (std::size_t i = 0; i < kSlots; ++i) {
    const Addr slot = path + memory.layout().object.head + i * kWordSize;
    const Addr value = memory.pointer_or_null(slot);
    std::string text = value == Addr{} ? std::string() : plain_text(memory, value);
    if (text.size() > longest.size()) {
      longest = std::move(text);
    }
  }
  return longest == "/" ? std::string() : longest;
}

// Joins as os.path.join does; empty if a part is empty.
std::string joined_path(const std::string& left, const std::string& right) {
  if (left.empty() || right.empty() || left.size() + right.size() > kMaxObjectText * 2) {
    return {};
  }
  return right.front() == '/' ? right : left + (left.back() == '/' ? "" : "/") + right;
}

std::string single_text(PythonMemory& memory, Addr object) {
  if (is_instance(memory, object, TypeFlag::kStr)) {
    return plain_text(memory, object);
  }
  return is_path(memory, object) ? path_text(memory, object) : std::string();
}

}  // namespace

SymbolValues::SymbolValues(PythonMemory& memory,
                           const CodeCalls& calls,
                           const RawFrame& frame,
                           Addr globals)
    : memory_(memory), calls_(calls), frame_(frame), globals_(globals) {
  if (globals_ == Addr{} && frame_.address != Addr{}) {
    globals_ = memory_.pointer_or_null(frame_.address + memory_.layout().frame.globals);
  }
}

std::string object_text(PythonMemory& memory, Addr object) {
  if (object == Addr{}) {
    return {};
  }
  const Layout& layout = memory.layout();
  const bool list = is_instance(memory, object, TypeFlag::kList);
  if (!list && !is_instance(memory, object, TypeFlag::kTuple)) {
    return single_text(memory, object);
  }
  const Addr items = list ? memory.pointer_or_null(object + layout.object.list_items)
                          : object + layout.object.tuple_items;
  const auto count = memory.value<std::uint64_t>(object + layout.object.size).value_or(0);
  std::string all;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(count, kMaxObjectTexts); ++i) {
    const std::string text = single_text(memory, memory.pointer_or_null(items + i * kWordSize));
    if (text.empty()) {
      return {};
    }
    all += (all.empty() ? "" : ", ") + text;
  }
  return all.empty() || count <= kMaxObjectTexts ? all : all + ", ...";
}

Addr SymbolValues::tuple_item(Addr tuple, std::uint64_t index) {
  const Layout& layout = memory_.layout();
  const auto size = memory_.value<std::uint64_t>(tuple + layout.object.size).value_or(0);
  const bool fits = index < size && is_instance(memory_, tuple, TypeFlag::kTuple);
  return fits ? memory_.pointer_or_null(tuple + layout.object.tuple_items + index * kWordSize)
              : Addr{};
}

Addr SymbolValues::item_of(std::uint32_t tuple, std::uint32_t index) {
  return tuple_item(memory_.pointer_or_null(frame_.code + tuple), index);
}

Addr SymbolValues::name_object(const Symbol& symbol) {
  const CodeOffsets& offsets = memory_.layout().code;
  switch (symbol.kind) {
    case SymbolKind::kGlobal:
    case SymbolKind::kAttribute:
      return item_of(offsets.names, symbol.index);
    case SymbolKind::kFast:
      return item_of(offsets.local_names, symbol.index);
    case SymbolKind::kDeref: {
      if (offsets.cell_names == kAbsent) {
        return item_of(offsets.local_names, symbol.index);
      }
      const Addr cells = memory_.pointer_or_null(frame_.code + offsets.cell_names);
      const auto count =
          memory_.value<std::uint64_t>(cells + memory_.layout().object.size).value_or(0);
      return symbol.index < count
                 ? tuple_item(cells, symbol.index)
                 : item_of(offsets.free_names, symbol.index - static_cast<std::uint32_t>(count));
    }
    default:
      return Addr{};
  }
}

std::string SymbolValues::name_of(std::uint32_t symbol) {
  return name_of(calls_.symbols[symbol]);
}

std::string SymbolValues::name_of(const Symbol& symbol) {
  const Addr object = name_object(symbol);
  const auto name = object == Addr{} ? std::nullopt : read_string(memory_, object, kMaxName);
  return name ? name->utf8 : std::string();
}

// Returns the value of a local, or of what is in its cell.
Addr SymbolValues::variable(std::uint32_t index, bool in_cell) {
  const Layout& layout = memory_.layout();
  std::uint64_t slot = index;
  if (in_cell && layout.code.cell_names != kAbsent) {
    const Addr names = memory_.pointer_or_null(frame_.code + layout.code.local_names);
    slot += memory_.value<std::uint64_t>(names + layout.object.size).value_or(0);
  }
  constexpr std::uint64_t kMaxSlot = 4096;
  if (slot > kMaxSlot || frame_.address == Addr{}) {
    return Addr{};
  }
  const Addr at = frame_.address + layout.frame.localsplus + slot * kWordSize;
  const Addr value = without_tags(layout, memory_.pointer_or_null(at));
  if (!in_cell) {
    return value;
  }
  return type_name(memory_, value) == "cell"
             ? memory_.pointer_or_null(value + layout.object.cell_value)
             : Addr{};
}

Addr SymbolValues::global(std::string_view name) {
  return globals_ == Addr{} || name.empty() ? Addr{} : find_in_dict(memory_, globals_, name);
}

// Every dict of globals that can be read has its module's name.
bool SymbolValues::is_builtin(const Symbol& symbol) {
  return symbol.kind == SymbolKind::kGlobal && global(name_of(symbol)) == Addr{} &&
         global(kModuleName) != Addr{};
}

std::string SymbolValues::module_of(Addr callable) {
  const std::string type = type_name(memory_, callable);
  if (is_instance(memory_, callable, TypeFlag::kType)) {
    return full_name_of_type(memory_, callable);
  }
  const ObjectOffsets& offsets = memory_.layout().object;
  if (type == "builtin_function_or_method") {
    const Addr name = memory_.pointer_or_null(callable + offsets.head + 2 * kWordSize);
    return plain_text(memory_, name);
  }
  if (type != "function") {
    return full_name_of_type(memory_, type_of(memory_, callable));
  }
  // The code comes first up to 3.10, and then the globals; later the globals come first.
  const bool code_first = offsets.function_code == offsets.head;
  const Addr dict = memory_.pointer_or_null(callable + offsets.head + (code_first ? kWordSize : 0));
  return plain_text(memory_, find_in_dict(memory_, dict, kModuleName));
}

std::string SymbolValues::owner_of_receiver(std::uint32_t receiver) {
  const Symbol& symbol = calls_.symbols[receiver];
  if (symbol.kind == SymbolKind::kResult) {  // Path(name).exists()
    const Addr maker = object_of(calls_.calls[symbol.index].callee);
    return maker != Addr{} && is_instance(memory_, maker, TypeFlag::kType)
               ? full_name_of_type(memory_, maker)
               : std::string();
  }
  const bool joined = symbol.kind == SymbolKind::kPathJoined;  // (folder / name).exists()
  const Addr object = object_of(joined ? symbol.base : receiver);
  if (object == Addr{}) {
    return is_builtin(symbol) ? "builtins" : std::string();
  }
  if (type_name(memory_, object) == "module") {
    return plain_text(memory_, find_global(memory_, object, kModuleName));
  }
  return full_name_of_type(
      memory_, is_instance(memory_, object, TypeFlag::kType) ? object : type_of(memory_, object));
}

std::string SymbolValues::owner_of(std::uint32_t callee) {
  const Symbol& symbol = calls_.symbols[callee];
  if (symbol.kind == SymbolKind::kAttribute) {
    return owner_of_receiver(symbol.base);
  }
  const Addr object = object_of(callee);
  if (object != Addr{}) {
    return module_of(object);
  }
  return is_builtin(symbol) ? "builtins" : std::string();
}

Addr SymbolValues::object_within(std::uint32_t symbol, int depth) {
  constexpr int kMaxAttributes = 3;  // a.b.c.d
  const Symbol& one = calls_.symbols[symbol];
  switch (one.kind) {
    case SymbolKind::kFast:
      return variable(one.index, false);
    case SymbolKind::kDeref:
      return variable(one.index, true);
    case SymbolKind::kConstant:
      return item_of(memory_.layout().code.constants, one.index);
    case SymbolKind::kGlobal:
      return global(name_of(symbol));
    case SymbolKind::kFirstOf:
      return depth < kMaxAttributes ? object_within(one.base, depth + 1) : Addr{};
    case SymbolKind::kAttribute: {
      const Addr base = depth < kMaxAttributes ? object_within(one.base, depth + 1) : Addr{};
      if (base == Addr{}) {
        return Addr{};
      }
      const std::string name = name_of(symbol);
      return type_name(memory_, base) == "module" ? find_global(memory_, base, name)
                                                  : read_attribute(memory_, base, name);
    }
    default:
      return Addr{};
  }
}

Addr SymbolValues::object_of(std::uint32_t symbol) {
  return object_within(symbol, 0);
}

std::string SymbolValues::text_of_object(std::uint32_t symbol, bool numbers) {
  const Symbol& one = calls_.symbols[symbol];
  if (one.kind == SymbolKind::kUnknown) {
    return {};
  }
  const Addr object = object_of(symbol);
  std::string text = object_text(memory_, object);
  if (numbers && type_name(memory_, object) == "int") {
    const auto number = read_int(memory_, object);
    text = number ? std::to_string(*number) : std::string();
  }
  // Every store calls its names "key"; that is not a secret.
  const std::string name = name_of(symbol);
  const bool store_key = name == "key" || name == "keys" || name.ends_with("_key");
  return !text.empty() && !store_key && names_secret(name) ? "<hidden>" : text;
}

std::string SymbolValues::text_of_result(const CodeCall& call, int depth) {
  const Symbol& callee = calls_.symbols[call.callee];
  const std::string name = name_of(call.callee);
  if (call.arguments.empty() || call.count > call.arguments.size()) {
    return {};
  }
  if (name == "join" && callee.kind == SymbolKind::kAttribute && name_of(callee.base) == "path") {
    std::string path = text_within(call.arguments.front(), depth);
    for (std::size_t i = 1; i < call.arguments.size(); ++i) {
      path = joined_path(path, text_within(call.arguments[i], depth));
    }
    return path;
  }
  const bool keeps = name == "str" || name == "fspath" || name == "Path" || name == "PosixPath" ||
                     name == "abspath" || name == "realpath";
  return keeps && call.count == 1 ? text_within(call.arguments.front(), depth) : std::string();
}

std::string SymbolValues::text_within(std::uint32_t symbol, int depth) {
  constexpr int kMaxParts = 8;  // nested
  const Symbol& one = calls_.symbols[symbol];
  if (depth > kMaxParts || parts_left_ == 0) {
    return {};
  }
  --parts_left_;
  switch (one.kind) {
    case SymbolKind::kResult:
      return text_of_result(calls_.calls[one.index], depth + 1);
    case SymbolKind::kFormatted: {
      const std::string text = text_within(one.base, depth + 1);
      return text.empty() ? text_of_object(one.base, true) : text;
    }
    case SymbolKind::kFirstOf:
      return text_within(one.base, depth + 1);
    case SymbolKind::kConcatenated:
    case SymbolKind::kPathJoined: {
      const std::string left = text_within(one.base, depth + 1);
      const std::string right = left.empty() ? left : text_within(one.other, depth + 1);
      if (right.empty() || left.size() + right.size() > kMaxObjectText * 2) {
        return {};
      }
      return one.kind == SymbolKind::kConcatenated ? left + right : joined_path(left, right);
    }
    default:
      return text_of_object(symbol, false);
  }
}

std::string SymbolValues::text_of(std::uint32_t symbol) {
  constexpr int kMaxPartsOfText = 64;
  parts_left_ = kMaxPartsOfText;
  return text_within(symbol, 0);
}

Addr SymbolValues::code_of(std::uint32_t symbol) {
  const Symbol& one = calls_.symbols[symbol];
  if (one.kind != SymbolKind::kFunction) {
    return Addr{};
  }
  const Addr code = item_of(memory_.layout().code.constants, one.index);
  return type_name(memory_, code) == "code" ? code : Addr{};
}

void SymbolStack::push(std::uint32_t symbol) {
  if (values_.size() >= kMaxStackSymbols) {
    forget();
  }
  values_.push_back(symbol);
}

void SymbolStack::push_unknown(std::size_t count) {
  if (count > kMaxStackSymbols) {
    forget();
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    push(kUnknownSymbol);
  }
}

std::uint32_t SymbolStack::pop() {
  if (values_.empty()) {
    known_ = false;
    return kUnknownSymbol;
  }
  const std::uint32_t top = values_.back();
  values_.pop_back();
  return top;
}

void SymbolStack::drop(std::size_t count) {
  known_ = known_ && count <= values_.size();
  values_.resize(values_.size() - std::min(count, values_.size()));
}

void SymbolStack::add(int effect) {
  if (effect > 0) {
    push_unknown(static_cast<std::size_t>(effect));
  } else {
    drop(static_cast<std::size_t>(-effect));
  }
}

std::uint32_t SymbolStack::peek(std::size_t from_top) const {
  return from_top < values_.size() ? values_[values_.size() - 1 - from_top] : kUnknownSymbol;
}

void SymbolStack::swap_with(std::size_t depth) {
  if (depth == 0 || depth > values_.size()) {
    forget();
  } else {
    std::swap(values_.back(), values_[values_.size() - depth]);
  }
}

void SymbolStack::blur(std::size_t count) {
  const auto first = values_.end() - static_cast<std::ptrdiff_t>(std::min(count, values_.size()));
  std::fill(first, values_.end(), kUnknownSymbol);
}

void SymbolStack::forget() {
  values_.clear();
  known_ = false;
}

void SymbolStack::cut_to(std::size_t kept, std::size_t pushed) {
  if (kept + pushed > kMaxStackSymbols) {
    forget();
    return;
  }
  values_.resize(kept, kUnknownSymbol);
  values_.resize(kept + pushed, kUnknownSymbol);
  known_ = true;
}

void SymbolStack::merge(const SymbolStack& other) {
  if (values_.size() != other.values_.size()) {
    forget();
    return;
  }
  for (std::size_t i = 0; i < values_.size(); ++i) {
    values_[i] = values_[i] == other.values_[i] ? values_[i] : kUnknownSymbol;
  }
  known_ = known_ && other.known_;
}

}  // namespace oddrank::cpython
