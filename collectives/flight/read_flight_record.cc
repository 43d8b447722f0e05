#include "collectives/flight/read_flight_record.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include "base/ascii.h"
#include "base/base_name.h"
#include "base/parse_number.h"
#include "base/split.h"
#include "collectives/flight/json_reader.h"
#include "collectives/flight/pickle_reader.h"
#include "collectives/flight/recorded_words.h"
#include "collectives/flight/text_cache.h"
#include "snapshot/rank_text.h"

namespace oddrank::collectives {
namespace {

using snapshot::FlightEntry;
using snapshot::FlightRecord;
using snapshot::FlightState;
using snapshot::StringId;

enum class Key : std::uint8_t {
  kRecord,
  kSequence,
  kCreated,
  kCreatedMicroseconds,
  kGroup,
  kGroupNumber,
  kName,
  kInputSizes,
  kOutputSizes,
  kInputTypes,
  kOutputTypes,
  kState,
  kP2p,
  kRetired,
  kFrames,
};

// The oldest versions have "seq_id" and "time_created_us".
std::optional<Key> key_of(std::string_view name) {
  static const std::unordered_map<std::string_view, Key> keys = {
      {"record_id", Key::kRecord},
      {"collective_seq_id", Key::kSequence},
      {"seq_id", Key::kSequence},
      {"time_created_ns", Key::kCreated},
      {"time_created_us", Key::kCreatedMicroseconds},
      {"process_group", Key::kGroup},
      {"pg_id", Key::kGroupNumber},
      {"profiling_name", Key::kName},
      {"input_sizes", Key::kInputSizes},
      {"output_sizes", Key::kOutputSizes},
      {"input_dtypes", Key::kInputTypes},
      {"output_dtypes", Key::kOutputTypes},
      {"state", Key::kState},
      {"is_p2p", Key::kP2p},
      {"retired", Key::kRetired},
      {"frames", Key::kFrames},
  };
  const auto at = keys.find(name);
  return at == keys.end() ? std::nullopt : std::optional(at->second);
}

std::int64_t integer_of(const PlainValue& value, std::int64_t unknown) {
  if (value.kind == PlainKind::kInt) {
    return value.integer;
  }
  return parse_number<std::int64_t>(PlainData::text_of(value)).value_or(unknown);
}

bool is_true(const PlainValue& value) {
  return (value.kind == PlainKind::kBool || value.kind == PlainKind::kInt) && value.integer != 0;
}

// Returns {0, 1, 5} for "[0, 1, 5]"; empty if it is not such a list.
std::vector<std::int32_t> parse_rank_list(std::string_view text) {
  std::vector<std::int32_t> ranks;
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') {
    return ranks;
  }
  text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    const auto rank = parse_number<std::int32_t>(trim(take_piece(text, ',')));
    if (!rank || *rank < 0 || ranks.size() >= snapshot::kMaxRanks) {
      return {};
    }
    ranks.push_back(*rank);
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

class RecordReader {
 public:
  // `size`: of the file.
  RecordReader(const PlainDocument& document, std::size_t size, snapshot::Tables& texts)
      : document_(document),
        data_(document.data),
        size_(size),
        left_(size * 16 + 65536),
        texts_(texts) {}
  Result<FlightRecord> read(const std::string& source);

 private:
  // Counts steps; returns false once there are too many. A pickle may refer to a part again and
  // again, so a few bytes may represent any number of values and calls: every value read is a step,
  // and calls count as memory.
  bool spend(std::size_t steps);
  static Error too_often();
  // Returns the items of a list or dict, and spends a step for each; empty once there are too many.
  std::span<const PlainValue> look_at(const PlainValue& value);
  PlainValue find(const PlainValue& dict, std::string_view key);
  StringId text(const PlainValue& value);
  std::uint32_t group(StringId name, StringId description);
  // Reads the groups. Gloo writes one row without name and ranks, which is skipped.
  void read_config(const PlainValue& config);
  // Returns "[4, 2], [3]" for [[4, 2], [3]], and 11 elements.
  StringId read_sizes(const PlainValue& sizes, std::int64_t& count);
  // Returns each type once: "Float" for ["Float", "Float"].
  StringId read_types(const PlainValue& types);
  StringId read_place(const PlainValue& frames);
  StringId place(const PlainValue& name, const PlainValue& file, std::int64_t line);
  void read_name(const PlainValue& value, FlightEntry& entry);
  void read_group(const PlainValue& value, FlightEntry& entry, bool& known);
  void read_field(Key key, const PlainValue& value, FlightEntry& entry);
  // Reads a call; skips one without operation or number, which is the end of a cut file.
  void read_entry(const PlainValue& row);

  const PlainDocument& document_;
  const PlainData& data_;
  std::size_t size_;
  std::size_t left_;  // of what may still be spent
  snapshot::Tables& texts_;
  FlightRecord record_;
  std::map<std::pair<StringId, StringId>, std::uint32_t> groups_;
  // Puts the sizes into shape_: for each tensor, how many it has, and then the sizes. Returns false
  // if there are more than a few.
  bool take_shape(const PlainValue& sizes);

  // What was read before.
  struct Sizes {
    StringId text{};
    std::int64_t count = 0;
  };
  struct Place {
    const char* file = nullptr;
    std::int64_t line = 0;
    StringId text{};
  };
  TextCache<std::optional<Key>> keys_;
  TextCache<StringId> ids_;
  TextCache<FlightEntry> names_;
  TextCache<bool> files_below_;
  TextCache<Place> places_;
  std::optional<std::pair<std::size_t, StringId>> shown_;  // newest frame (its node) and its place
  std::map<std::vector<std::int64_t>, Sizes> sizes_;       // by shape_
  std::vector<std::int64_t> shape_;
  bool group_known_ = false;
  std::int64_t group_number_ = -1;
};

Result<FlightRecord> RecordReader::read(const std::string& source) {
  record_.source = texts_.string(source);
  record_.rank = rank_in_name(source);
  record_.cut = document_.cut;
  const PlainValue& root = document_.root;
  PlainValue entries = root;  // the oldest versions are a list of entries
  if (root.kind == PlainKind::kDict) {
    const PlainValue version = data_.find(root, "version");
    entries = data_.find(root, "entries");
    const PlainValue config = data_.find(root, "pg_config");
    if (version.kind != PlainKind::kText && entries.kind != PlainKind::kList &&
        config.kind != PlainKind::kDict) {
      return fail(Errc::kBadData, "not a dump of a flight recorder: it has no version or entries");
    }
    record_.version = texts_.string(PlainData::text_of(version).substr(0, 20));
    read_config(config);
  } else if (root.kind != PlainKind::kList) {
    return fail(Errc::kBadData, "not a dump of a flight recorder");
  }
  record_.has_entries = entries.kind == PlainKind::kList;
  auto rows = data_.items(entries);
  if (document_.cut && !rows.empty()) {
    rows = rows.first(rows.size() - 1);  // the last row may be incomplete: sizes, types, state
  }
  if (data_.used() + rows.size() * sizeof(FlightEntry) > size_ * 12 + 65536) {
    return fail(too_often());
  }
  record_.entries.reserve(rows.size());
  for (const PlainValue& row : rows) {
    read_entry(row);
  }
  if (left_ == 0) {
    return fail(too_often());
  }
  return std::move(record_);
}

bool RecordReader::spend(std::size_t steps) {
  left_ -= std::min(left_, steps);
  return left_ > 0;
}

Error RecordReader::too_often() {
  return {Errc::kBadData, "the dump refers to its own parts too often", {}};
}

std::span<const PlainValue> RecordReader::look_at(const PlainValue& value) {
  const auto items = data_.items(value);
  return spend(items.size()) ? items : std::span<const PlainValue>{};
}

PlainValue RecordReader::find(const PlainValue& dict, std::string_view key) {
  return spend(data_.items(dict).size() + 1) ? data_.find(dict, key) : PlainData::none();
}

StringId RecordReader::text(const PlainValue& value) {
  constexpr std::size_t kMaxText = 200;
  if (value.kind != PlainKind::kText) {
    return StringId{};
  }
  return ids_.of(value,
                 [&] { return texts_.string(PlainData::text_of(value).substr(0, kMaxText)); });
}

std::uint32_t RecordReader::group(StringId name, StringId description) {
  const auto [at, is_new] =
      groups_.try_emplace({name, description}, static_cast<std::uint32_t>(record_.groups.size()));
  if (is_new) {
    record_.groups.emplace_back();
    record_.groups.back().name = name;
    record_.groups.back().description = description;
  }
  return at->second;
}

void RecordReader::read_config(const PlainValue& config) {
  const auto rows = data_.items(config);
  for (std::size_t i = 0; i + 1 < rows.size(); i += 2) {
    const std::string_view list = PlainData::text_of(find(rows[i + 1], "ranks"));
    if (!spend(list.size())) {
      return;
    }
    const auto ranks = parse_rank_list(list);
    const StringId name = text(find(rows[i + 1], "name"));
    if (!ranks.empty()) {
      record_.groups[group(name, text(find(rows[i + 1], "desc")))].members =
          texts_.string(snapshot::rank_text(ranks));
    }
  }
}

StringId RecordReader::read_sizes(const PlainValue& sizes, std::int64_t& count) {
  constexpr std::size_t kMaxShapes = 1024;
  const bool small = take_shape(sizes);
  if (const auto known = small ? sizes_.find(shape_) : sizes_.end(); known != sizes_.end()) {
    spend(shape_.size());
    count = known->second.count;
    return known->second.text;
  }
  TensorSizes read;
  for (const PlainValue& tensor : look_at(sizes)) {
    read.begin_tensor();
    for (const PlainValue& dimension : look_at(tensor)) {
      read.add(integer_of(dimension, 0));
    }
    read.end_tensor();
  }
  count = read.count();
  spend(read.text().size());
  const StringId text = texts_.string(read.text());
  if (small && sizes_.size() < kMaxShapes && left_ > 0) {
    sizes_.emplace(shape_, Sizes{text, count});
  }
  return text;
}

bool RecordReader::take_shape(const PlainValue& sizes) {
  constexpr std::size_t kMaxNumbers = 12;
  shape_.clear();
  for (const PlainValue& tensor : data_.items(sizes)) {
    const auto dimensions = data_.items(tensor);
    if (shape_.size() + 1 + dimensions.size() > kMaxNumbers) {
      return false;
    }
    shape_.push_back(static_cast<std::int64_t>(dimensions.size()));
    for (const PlainValue& dimension : dimensions) {
      shape_.push_back(integer_of(dimension, 0));
    }
  }
  return true;
}

StringId RecordReader::read_types(const PlainValue& types) {
  constexpr std::size_t kMaxType = 40;
  const auto all = look_at(types);
  if (all.size() == 1 && all.front().kind == PlainKind::kText && all.front().size <= kMaxType) {
    return text(all.front());
  }
  TensorTypes read;
  for (const PlainValue& type : all) {
    read.add(PlainData::text_of(type).substr(0, kMaxType));
  }
  return texts_.string(read.text());
}

StringId RecordReader::read_place(const PlainValue& frames) {
  for (const PlainValue& frame : data_.items(frames)) {
    if (shown_ && frame.kind == PlainKind::kDict && frame.node == shown_->first) {
      return shown_->second;
    }
    const PlainValue file = find(frame, "filename");
    if (!spend(PlainData::text_of(file).size())) {
      break;
    }
    if (file.kind != PlainKind::kText || file.size == 0 ||
        files_below_.of(file, [&] { return is_below_caller(PlainData::text_of(file)); })) {
      continue;
    }
    const StringId found = place(find(frame, "name"), file, integer_of(find(frame, "line"), 0));
    if (frame.kind == PlainKind::kDict) {
      shown_ = {frame.node, found};
    }
    return found;
  }
  return StringId{};
}

StringId RecordReader::place(const PlainValue& name, const PlainValue& file, std::int64_t line) {
  const auto make = [&] {
    return Place{
        file.text, line,
        texts_.string(recorded_place(PlainData::text_of(name), PlainData::text_of(file), line))};
  };
  if (name.kind != PlainKind::kText) {
    return make().text;
  }
  const Place& known = places_.of(name, make);
  return known.file == file.text && known.line == line ? known.text : make().text;
}

void RecordReader::read_name(const PlainValue& value, FlightEntry& entry) {
  if (value.kind != PlainKind::kText) {
    return;
  }
  const FlightEntry& named = names_.of(value, [&] {
    FlightEntry filled;
    fill_recorded_name(PlainData::text_of(value), texts_, filled);
    return filled;
  });
  entry.backend = named.backend;
  entry.op = named.op;
  entry.peer = named.peer;
  entry.is_p2p = entry.is_p2p || named.is_p2p;
}

void RecordReader::read_group(const PlainValue& value, FlightEntry& entry, bool& known) {
  const auto parts = data_.items(value);
  if (parts.size() >= 2) {
    entry.group = group(text(parts[0]), text(parts[1]));
    known = true;
  }
}

void RecordReader::read_entry(const PlainValue& row) {
  if (row.kind != PlainKind::kDict) {
    return;
  }
  FlightEntry entry;
  group_known_ = false;
  group_number_ = -1;
  const auto fields = look_at(row);
  for (std::size_t i = 0; i + 1 < fields.size(); i += 2) {
    const PlainValue& name = fields[i];
    const auto key = name.kind != PlainKind::kText
                         ? std::nullopt
                         : keys_.of(name, [&] { return key_of(PlainData::text_of(name)); });
    if (key) {
      read_field(*key, fields[i + 1], entry);
    }
  }
  if (entry.op == StringId{} || entry.sequence < 0) {
    return;
  }
  if (!group_known_) {  // the oldest versions have only the number
    entry.group = group(texts_.string(group_number_ < 0 ? "" : std::to_string(group_number_)), {});
  }
  record_.entries.push_back(entry);
}

void RecordReader::read_field(Key key, const PlainValue& value, FlightEntry& entry) {
  switch (key) {
    case Key::kRecord:
      entry.record = integer_of(value, -1);
      break;
    case Key::kSequence:
      entry.sequence = integer_of(value, -1);
      break;
    case Key::kCreated:
      entry.created_ns = integer_of(value, 0);
      break;
    case Key::kCreatedMicroseconds:
      if (__builtin_mul_overflow(integer_of(value, 0), 1000, &entry.created_ns)) {
        entry.created_ns = 0;
      }
      break;
    case Key::kGroup:
      read_group(value, entry, group_known_);
      break;
    case Key::kGroupNumber:
      group_number_ = integer_of(value, -1);
      break;
    case Key::kName:
      read_name(value, entry);
      break;
    case Key::kInputSizes:
      entry.input_sizes = read_sizes(value, entry.input_count);
      break;
    case Key::kOutputSizes:
      entry.output_sizes = read_sizes(value, entry.output_count);
      break;
    case Key::kInputTypes:
      entry.input_types = read_types(value);
      break;
    case Key::kOutputTypes:
      entry.output_types = read_types(value);
      break;
    case Key::kState: {
      const std::string_view state = PlainData::text_of(value);
      entry.state = state == "completed" ? FlightState::kCompleted
                    : state == "started" ? FlightState::kStarted
                                         : FlightState::kScheduled;
      break;
    }
    case Key::kP2p:
      entry.is_p2p = entry.is_p2p || is_true(value);
      break;
    case Key::kRetired:
      entry.retired = is_true(value);
      break;
    case Key::kFrames:
      entry.place = read_place(value);
      break;
  }
}

}  // namespace

std::int32_t rank_in_name(std::string_view source) {
  std::string_view name = base_name(source);
  constexpr std::string_view kRank = "rank";
  if (const auto at = name.rfind(kRank); at != std::string_view::npos) {
    std::string_view rest = name.substr(at + kRank.size());
    rest.remove_prefix(rest.starts_with('_') || rest.starts_with('-') ? 1 : 0);
    const auto end = std::find_if_not(rest.begin(), rest.end(), is_digit);
    if (end != rest.begin()) {
      const auto digits = static_cast<std::size_t>(end - rest.begin());
      return parse_number<std::int32_t>(rest.substr(0, digits)).value_or(-1);
    }
  }
  while (!name.empty() && !is_digit(name.back())) {
    name.remove_suffix(1);
  }
  std::size_t digits = 0;
  while (digits < name.size() && is_digit(name[name.size() - 1 - digits])) {
    ++digits;
  }
  return parse_number<std::int32_t>(name.substr(name.size() - digits)).value_or(-1);
}

bool is_debug_server_text(std::string_view bytes) {
  constexpr std::array<std::string_view, 4> kBegins = {
      "=== Rank ", "=== FR Trace ===", "=== TorchComms FR Trace ===", "PARTIAL DATA: "};
  return std::any_of(kBegins.begin(), kBegins.end(),
                     [bytes](std::string_view begin) { return bytes.starts_with(begin); });
}

Result<FlightRecord> read_flight_record(const std::string& source,
                                        std::string_view bytes,
                                        snapshot::Tables& texts) {
  const auto first = bytes.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) {
    return fail(Errc::kBadData, "the file is empty");
  }
  const bool json = bytes[first] == '{' || bytes[first] == '[';
  ODDRANK_TRY(const PlainDocument document, json ? read_json(bytes) : read_pickle(bytes));
  return RecordReader(document, bytes.size(), texts).read(source);
}

}  // namespace oddrank::collectives
