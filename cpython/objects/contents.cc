#include "cpython/objects/contents.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/ascii.h"
#include "base/hex.h"
#include "base/secrets/mask_secrets.h"
#include "cpython/objects/arrays.h"
#include "cpython/objects/attributes.h"
#include "cpython/objects/objects.h"
#include "cpython/objects/scalars.h"
#include "cpython/objects/sets.h"
#include "cpython/objects/strings.h"
#include "cpython/objects/types.h"
#include "cpython/telling_types.h"

namespace oddrank::cpython {
namespace {

constexpr std::size_t kMaxContentsReads = 4000;
constexpr std::size_t kMaxContentsObjects = 50000;
constexpr std::size_t kMaxItems = 10;    // of one container
constexpr std::size_t kMaxElements = 8;  // of one array
constexpr std::size_t kMaxShownText = 80;
constexpr std::size_t kMaxMaskedText = 1024;  // read, so that a secret is known before it is cut
constexpr std::size_t kFewBytes = 200;        // of a variable's text at depth 0; doubles with each
constexpr std::size_t kMaxBytesOfVariable = 6400;
constexpr std::uint64_t kMaxIntBits = 2048;

constexpr const char* kMask = "***";            // as mask_text writes it, within other texts
constexpr std::uint64_t kException = 1U << 30;  // Py_TPFLAGS_BASE_EXC_SUBCLASS

bool has(std::uint64_t flags, TypeFlag flag) {
  return (flags & static_cast<std::uint64_t>(flag)) != 0;
}

std::string last_part_of(const std::string& name) {
  return name.substr(name.rfind('.') + 1);
}

// Cuts a text of more than `limit` bytes, not within a character of UTF-8.
std::string cut_text(const std::string& text, std::size_t limit) {
  std::size_t end = limit;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) {
    --end;
  }
  return text.substr(0, end);
}

std::string count_words(const std::string& what, std::uint64_t count) {
  return "<" + what + " of " + std::to_string(count) + ">";
}

ContainerKind container_kind(std::uint64_t flags, std::string_view type) {
  return has(flags, TypeFlag::kTuple)           ? ContainerKind::kTuple
         : has(flags, TypeFlag::kList)          ? ContainerKind::kList
         : has(flags, TypeFlag::kDict)          ? ContainerKind::kDict
         : type == "set" || type == "frozenset" ? ContainerKind::kSet
         : type == "collections.deque"          ? ContainerKind::kDeque
                                                : ContainerKind::kNone;
}

}  // namespace

ContentsPrinter::ContentsPrinter(PythonMemory& memory, ContentsOptions options)
    : memory_(memory), options_(options), classes_(memory), first_call_(memory.calls()) {
  options_.depth = std::min(options_.depth, kMaxContentsDepth);
}

bool ContentsPrinter::spent() const {
  return room_ == 0 || objects_ >= kMaxContentsObjects ||
         memory_.calls() - first_call_ >= kMaxContentsReads;
}

void ContentsPrinter::prefetch(const std::vector<Addr>& objects) {
  constexpr std::size_t kStart = 96;  // the header and the first fields
  const Layout& layout = memory_.layout();
  std::vector<PythonMemory::Range> ranges;
  ranges.reserve(objects.size());
  for (const Addr object : objects) {
    ranges.push_back({object, kStart});
  }
  memory_.prefetch(ranges);
  ranges.clear();
  for (const Addr object : objects) {
    ranges.push_back({type_of(memory_, object), layout.object.type_dict_offset + kStart});
  }
  memory_.prefetch(ranges);
}

std::string ContentsPrinter::print(std::string_view name, Addr object) {
  room_ = 1;
  if (spent()) {
    const std::string text = print_object(memory_, object);
    return names_secret(name) && !text.starts_with('<') ? "<hidden>" : mask_text(text);
  }
  room_ = std::min(kFewBytes << options_.depth, kMaxBytesOfVariable);
  path_.clear();
  return named(name, object, 0);
}

std::string ContentsPrinter::named(std::string_view name, Addr object, unsigned level) {
  if (name.empty() || !names_secret(name)) {
    return value(object, level);
  }
  // A type alone is no secret: "<Tensor (2, 3) float32 cpu>" is a layer's query or key.
  const std::string text = print_object(memory_, object);
  room_ -= std::min(room_, text.size());
  if (level == 0) {
    return text.starts_with('<') || is_innocent_value(name, text) ? text : "<hidden>";
  }
  return is_object_summary(text) || is_innocent_value(name, text) ? text : kMask;
}

std::string ContentsPrinter::value(Addr object, unsigned level) {
  ++objects_;
  const std::size_t room = room_;
  std::string text = contents(object, level);
  const bool telling = contains(text, " at 0x");  // shows its own
  const bool identity = text.starts_with('<') || text.starts_with('[') || text.starts_with('{') ||
                        text.ends_with(')') || text.starts_with("bytearray");
  if (options_.addresses && identity && !telling) {
    text += "@0x" + hex_number(value_of(object));
  }
  room_ = room - std::min(room, text.size());  // whatever its parts took
  return text;
}

std::string ContentsPrinter::contents(Addr object, unsigned level) {
  const std::uint64_t flags = type_flags(memory_, object);
  const std::string type = type_name(memory_, object);
  if (type.empty()) {
    return "<unreadable>";
  }
  if (find_telling_type(std::string_view(type).substr(type.rfind('.') + 1)) != nullptr) {
    return print_object(memory_, object);
  }
  if (std::find(path_.begin(), path_.end(), object) != path_.end()) {
    return "...";  // it contains itself
  }
  if (std::string known = scalar(object, flags, type); !known.empty()) {
    return known;
  }
  path_.push_back(object);
  std::string found = container(object, flags, type, level);
  found = found.empty() ? instance(object, type, level) : std::move(found);
  path_.pop_back();
  return found;
}

std::string ContentsPrinter::text(Addr object) {
  const auto read = read_string(memory_, object, kMaxMaskedText);
  if (!read) {
    return "<unreadable>";
  }
  const std::string masked = mask_text(read->utf8);
  const bool cut = masked.size() > kMaxShownText;
  return quoted(cut ? cut_text(masked, kMaxShownText) : masked, cut || read->cut);
}

std::string ContentsPrinter::bytes(Addr object, bool is_array) {
  const auto read = escaped_bytes(memory_, object, is_array, kMaxMaskedText);
  if (!read) {
    return "<unreadable>";
  }
  const std::string masked = mask_text(read->utf8);
  const bool cut = masked.size() > kMaxShownText;
  const std::string quotes =
      "b'" + (cut ? cut_text(masked, kMaxShownText) : masked) + (cut || read->cut ? "'..." : "'");
  return is_array ? "bytearray(" + quotes + ")" : quotes;
}

std::string ContentsPrinter::scalar(Addr object, std::uint64_t flags, const std::string& type) {
  const bool is_int = has(flags, TypeFlag::kInt);
  const bool is_str = has(flags, TypeFlag::kStr);
  const bool builtin = type == "int" || type == "bool" || type == "str";
  if ((is_int || is_str) && !builtin) {
    const ClassFacts& facts = classes_.of(type_of(memory_, object));
    if (facts.kind == ClassKind::kEnum) {
      return enum_member(object, facts, 0);
    }
  }
  if (is_int) {
    return print_int(memory_, object, type, kMaxIntBits);
  }
  if (is_str) {
    return text(object);
  }
  if (type == "float") {
    const auto number = memory_.value<double>(object + memory_.layout().object.float_value);
    return number ? float_text(*number) : "<unreadable>";
  }
  if (has(flags, TypeFlag::kBytes) || type == "bytearray") {
    return bytes(object, type == "bytearray");
  }
  if (auto array = print_array(memory_, object, kMaxElements)) {
    return *array;
  }
  return print_small(memory_, object, flags, type);
}

std::string ContentsPrinter::container(Addr object,
                                       std::uint64_t flags,
                                       const std::string& type,
                                       unsigned level) {
  const ContainerKind kind = container_kind(flags, type);
  if (kind == ContainerKind::kNone) {
    return {};
  }
  const ObjectOffsets& offsets = memory_.layout().object;
  const std::string name = last_part_of(type);
  const std::size_t count_at = kind == ContainerKind::kDict  ? offsets.dict_used
                               : kind == ContainerKind::kSet ? offsets.set_mask - kPointerSize
                                                             : offsets.size;
  const auto count = memory_.value<std::int64_t>(object + count_at);
  if (!count || *count < 0) {
    return "<unreadable>";
  }
  const auto size = static_cast<std::uint64_t>(*count);
  if (size > 0 && (level >= options_.depth || spent())) {
    return count_words(name, size);
  }
  if (kind == ContainerKind::kTuple && type != "tuple") {
    const ClassFacts& facts = classes_.of(type_of(memory_, object));
    if (facts.kind == ClassKind::kNamedTuple) {
      return named_tuple(object, size, facts, level);
    }
  }
  std::string items = items_of(kind, object, size, type == "tuple" ? "()" : "[]", level);
  const bool plain = type == "dict" || type == "list" || type == "tuple" || type == "set";
  if (plain && !(kind == ContainerKind::kSet && size == 0)) {
    return items;
  }
  return (type == "torch.Size" ? type : name) + "(" + items + ")";
}

std::string ContentsPrinter::named_tuple(Addr object,
                                         std::uint64_t size,
                                         const ClassFacts& facts,
                                         unsigned level) {
  Named items;
  for (std::size_t i = 0; i < facts.fields.size() && i < size; ++i) {
    const Addr at = object + memory_.layout().object.tuple_items + i * kPointerSize;
    items.emplace_back(facts.fields[i], memory_.pointer_or_null(at));
  }
  return facts.name + "(" + fields(items, level) + ")";
}

// `brackets`: of a list or a tuple.
std::string ContentsPrinter::items_of(ContainerKind kind,
                                      Addr object,
                                      std::uint64_t size,
                                      std::string_view brackets,
                                      unsigned level) {
  const ObjectOffsets& offsets = memory_.layout().object;
  if (kind == ContainerKind::kDict) {
    return dict(object, size, level);
  }
  if (kind == ContainerKind::kSet) {
    return size == 0 ? "" : sequence(read_set(memory_, object, kMaxItems * 16), size, "{}", level);
  }
  if (kind == ContainerKind::kDeque) {
    return sequence(read_deque(memory_, object, kMaxItems), size, "[]", level);
  }
  const Addr start = kind == ContainerKind::kList
                         ? memory_.pointer_or_null(object + offsets.list_items)
                         : object + offsets.tuple_items;
  std::vector<Addr> found(std::min<std::uint64_t>(size, kMaxItems));
  for (std::size_t i = 0; i < found.size(); ++i) {
    found[i] = memory_.pointer_or_null(start + i * kPointerSize);
  }
  return sequence(found, size, brackets, level);
}

std::string ContentsPrinter::sequence(const std::vector<Addr>& items,
                                      std::uint64_t count,
                                      std::string_view brackets,
                                      unsigned level) {
  std::vector<Addr> shown(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(
                                                             std::min(items.size(), kMaxItems)));
  prefetch(shown);
  std::string words(1, brackets[0]);
  std::string before;  // the item before, if it is a text
  std::size_t at = 0;
  for (; at < shown.size() && !spent(); ++at) {
    // ["--password", "x"] and ("password", "x"): the name comes before the value.
    words += (at == 0 ? "" : ", ") + named(before, shown[at], level + 1);
    before = key_name(shown[at]);
  }
  if (count > at) {
    words += (at == 0 ? "... " : ", ... ") + std::to_string(count) + " items";
  } else if (count == 1 && brackets[0] == '(') {
    words += ",";
  }
  return words + brackets[1];
}

std::string ContentsPrinter::dict(Addr object, std::uint64_t count, unsigned level) {
  // Removed entries take places, so more are read than are shown.
  constexpr std::size_t kEntriesRead = 256;
  const auto items = read_dict(memory_, object, kEntriesRead);
  const std::size_t some = std::min(items.size(), kMaxItems);
  std::vector<Addr> objects;
  for (std::size_t i = 0; i < some; ++i) {
    objects.push_back(items[i].key);
    objects.push_back(items[i].value);
  }
  prefetch(objects);
  std::string words = "{";
  std::size_t at = 0;
  for (; at < some && !spent(); ++at) {
    const std::string key = value(items[at].key, level + 1);
    words += (at == 0 ? "" : ", ") + key + ": " +
             named(key_name(items[at].key), items[at].value, level + 1);
  }
  if (count > at) {
    words += (at == 0 ? "... " : ", ... ") + std::to_string(count) + " items";
  }
  return words + "}";
}

std::string ContentsPrinter::fields(const Named& fields, unsigned level) {
  std::vector<Addr> objects;
  for (std::size_t i = 0; i < fields.size() && i < kMaxItems; ++i) {
    objects.push_back(fields[i].second);
  }
  prefetch(objects);
  std::string words;
  std::size_t at = 0;
  for (; at < objects.size() && !spent(); ++at) {
    words += (at == 0 ? "" : ", ") + fields[at].first + "=" +
             named(fields[at].first, objects[at], level + 1);
  }
  if (at < fields.size()) {
    words += (at == 0 ? "... " : ", ... ") + std::to_string(fields.size()) + " attributes";
  }
  return words;
}

std::string ContentsPrinter::key_name(Addr key) {
  const std::uint64_t flags = type_flags(memory_, key);
  if (has(flags, TypeFlag::kStr)) {
    const auto read = read_string(memory_, key, kMaxNameLength);
    return read ? read->utf8 : "";
  }
  if (!has(flags, TypeFlag::kBytes)) {
    return {};
  }
  const auto read = escaped_bytes(memory_, key, false, kMaxNameLength);
  return read ? read->utf8 : "";
}

ContentsPrinter::Named ContentsPrinter::attributes(Addr object, const ClassFacts& facts) {
  Named found;
  for (const DictItem& item : read_attributes(memory_, object)) {
    if (const auto name = read_string(memory_, item.key, kMaxNameLength)) {
      found.emplace_back(name->utf8, item.value);
    }
  }
  for (const ClassSlot& slot : facts.slots) {
    const Addr held = memory_.pointer_or_null(object + slot.offset);
    if (held != Addr{}) {
      found.emplace_back(slot.name, held);
    }
  }
  return found;
}

std::string ContentsPrinter::enum_member(Addr object, const ClassFacts& facts, unsigned level) {
  const Named all = attributes(object, facts);
  const auto find = [&all](std::string_view name) {
    const auto at =
        std::find_if(all.begin(), all.end(), [name](const auto& one) { return one.first == name; });
    return at == all.end() ? Addr{} : at->second;
  };
  const auto name = read_string(memory_, find("_name_"), kMaxNameLength);
  std::string words = "<" + facts.name + (name ? "." + name->utf8 : "");
  if (const Addr held = find("_value_"); held != Addr{} && held != object) {
    words += ": " + named(name ? name->utf8 : "", held, level + 1);
  }
  return words + ">";
}

std::string ContentsPrinter::instance(Addr object, const std::string& type, unsigned level) {
  constexpr unsigned kOptIn = 2;  // depths that other contents have more than attributes
  const ClassFacts& facts = classes_.of(type_of(memory_, object));
  std::string alone = "<" + last_part_of(type) + ">";
  const bool deep = level >= options_.depth || spent();
  if (facts.kind == ClassKind::kEnum) {
    return enum_member(object, facts, level);
  }
  if ((type_flags(memory_, object) & kException) != 0) {
    // PyBaseExceptionObject: the dict, then the tuple of arguments.
    const Addr args = memory_.pointer_or_null(object + memory_.layout().object.head + kPointerSize);
    const bool tuple = is_instance(memory_, args, TypeFlag::kTuple);
    if (!tuple) {
      return alone;
    }
    std::string text = deep ? "(...)" : contents(args, level);
    if (text.ends_with(",)")) {  // one argument
      text.replace(text.size() - 2, 2, ")");
    }
    return last_part_of(type) + text;
  }
  const bool plain = facts.kind == ClassKind::kOther;
  if (deep || (plain && level + kOptIn >= options_.depth)) {
    return alone;
  }
  const Named all = attributes(object, facts);
  if (facts.kind == ClassKind::kUserDict || facts.kind == ClassKind::kUserList) {
    const auto data =
        std::find_if(all.begin(), all.end(), [](const auto& one) { return one.first == "data"; });
    return data == all.end() ? alone : facts.name + "(" + contents(data->second, level) + ")";
  }
  if (plain) {
    return all.empty() ? alone : "<" + facts.name + ": " + fields(all, level) + ">";
  }
  if (facts.kind == ClassKind::kNamespace) {
    return facts.name + "(" + fields(all, level) + ")";
  }
  Named known;
  for (const std::string& field : facts.fields) {
    const auto at = std::find_if(all.begin(), all.end(),
                                 [&field](const auto& one) { return one.first == field; });
    if (at != all.end()) {
      known.push_back(*at);
    }
  }
  return facts.name + "(" + fields(known, level) + ")";
}

}  // namespace oddrank::cpython
