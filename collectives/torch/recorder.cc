#include "collectives/torch/recorder.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/ascii.h"
#include "collectives/flight/recorded_words.h"
#include "collectives/torch/recorder_maps.h"
#include "collectives/torch/ring.h"
#include "collectives/torch/traceback_lines.h"
#include "snapshot/rank_text.h"

namespace oddrank::collectives {
namespace {

using cpython::PythonMemory;
using cpython::RemoteReader;
using snapshot::FlightEntry;
using snapshot::FlightGroup;
using snapshot::FlightRecord;
using snapshot::FlightState;
using snapshot::StringId;
using snapshot::Tables;

constexpr std::int64_t kMaxSequence = std::int64_t{1} << 48;
constexpr std::size_t kMaxTensors = 4096;  // of one call
constexpr std::size_t kMaxSizes = 16384;
constexpr std::size_t kMaxRecordedName = 512;
constexpr const char* kNoNames = "the recorded calls do not say their groups";
constexpr std::array<std::string_view, 8> kBackendPrefixes = {
    "nccl:", "gloo:", "nccl2:", "nccl-lazy:", "xccl:", "ucc:", "mpi:", "c10d:"};

class RingReader {
 public:
  RingReader(RemoteReader& reader,
             PythonMemory* python,
             const RecorderRequest& request,
             Tables& texts)
      : reader_(reader), lines_(python), request_(request), texts_(texts) {}

  Result<FlightRecord> run();

 private:
  // Returns how often the recorder was reset; nullopt if that cannot be read.
  std::optional<std::uint64_t> recorded_epoch(const RecorderLayout& layout);
  std::optional<FlightRecord> read_as(const Ring& ring, const RecorderLayout& layout);
  // Returns the entries that are kept.
  std::vector<RawEntry> chosen(const std::vector<RawEntry>& all,
                               const RecorderLayout& layout) const;
  bool read_entry(const RawEntry& raw, const RecorderLayout& layout, FlightRecord& record);
  bool read_name(const RawEntry& raw, const RecorderLayout& layout, FlightEntry& entry);
  std::optional<std::uint32_t> read_group(const RawEntry& raw,
                                          const RecorderLayout& layout,
                                          StringId backend,
                                          FlightRecord& record);
  bool read_tensors(const RawEntry& raw, const RecorderLayout& layout, FlightEntry& entry);
  template <typename T>
  std::optional<std::vector<T>> numbers(Addr data, std::uint64_t count, std::size_t most);
  std::optional<std::vector<std::uint64_t>> small_vector(const RawEntry& raw,
                                                         std::uint32_t offset,
                                                         std::size_t width,
                                                         std::size_t most);
  std::optional<std::vector<std::uint8_t>> types(const RawEntry& raw, std::uint32_t offset);
  void add_members(const RecorderLayout& layout, FlightRecord& record);
  // Drops the calls that are no longer in the ring, since their texts may belong to other calls.
  // Puts the others, and their groups, in the order of the ring. Before: newest first.
  static void drop_overwritten(std::uint64_t oldest, FlightRecord& record);
  // Drops calls of groups without a name: with TORCH_DISTRIBUTED_DEBUG=DETAIL, calls of a wrapper's
  // helper and of the wrapped backend cannot be told apart.
  void drop_unnamed(FlightRecord& record) const;

  RemoteReader& reader_;
  TracebackLines lines_;
  RecorderRequest request_;
  Tables& texts_;
  std::map<std::pair<std::uint64_t, StringId>, std::uint32_t> groups_;  // by id and backend
};

Result<FlightRecord> RingReader::run() {
  constexpr int kReads = 3;  // of a ring that is being written
  for (int i = 0; i < kReads; ++i) {
    ODDRANK_TRY(const Ring ring, copy_ring(reader_.target(), request_.recorder));
    if (!ring.head.enabled()) {
      return fail(Errc::kNotFound, "the recorder is off");
    }
    if (ring.bytes.empty()) {
      return fail(Errc::kNotFound, "nothing was recorded");
    }
    for (const RecorderLayout& layout : recorder_layouts()) {
      if (auto record = read_as(ring, layout)) {
        return record->entries.empty() ? Result<FlightRecord>(fail(Errc::kNotFound, kNoNames))
                                       : Result<FlightRecord>(std::move(*record));
      }
    }
    if (!has_moved(reader_.target(), request_.recorder, ring)) {
      break;
    }
    reader_.refresh();
  }
  return fail(Errc::kBadData, "the flight recorder has no known layout");
}

std::optional<std::uint64_t> RingReader::recorded_epoch(const RecorderLayout& layout) {
  return layout.epoch == 0 ? std::optional<std::uint64_t>(0)
                           : reader_.value<std::uint64_t>(request_.recorder + layout.epoch);
}

std::optional<FlightRecord> RingReader::read_as(const Ring& ring, const RecorderLayout& layout) {
  const auto entries = entries_of(ring, layout, recorded_epoch(layout));
  if (!entries) {
    return std::nullopt;
  }
  const auto kept = request_.newest == 0 ? *entries : chosen(*entries, layout);
  FlightRecord record;
  record.source = texts_.string("memory");
  record.from_memory = true;
  record.has_entries = true;
  groups_.clear();
  std::vector<RemoteReader::Range> ranges;
  ranges.reserve(kept.size());
  for (const RawEntry& raw : kept) {
    ranges.push_back({raw.address(), layout.entry_size});
  }
  reader_.prefetch(ranges);
  lines_.announce(reader_, kept.size(),
                  [&](std::size_t i) { return Addr{kept[i].at<std::uint64_t>(layout.traceback)}; });
  // The newest call, which is overwritten last, names its group.
  const auto oldest = [&] {
    return oldest_number(reader_.target(), request_.recorder, ring, layout.entry_size);
  };
  for (std::size_t i = kept.size(); i-- > 0;) {
    const bool sound = read_entry(kept[i], layout, record);
    if (!sound && kept[i].at<std::uint64_t>(0) >= oldest()) {
      return std::nullopt;
    }
  }
  drop_overwritten(oldest(), record);
  if (record.entries.empty()) {
    return std::nullopt;
  }
  record.shortened = record.entries.size() < entries->size();
  add_members(layout, record);
  drop_unnamed(record);
  return record;
}

std::vector<RawEntry> RingReader::chosen(const std::vector<RawEntry>& all,
                                         const RecorderLayout& layout) const {
  std::map<std::pair<std::uint64_t, bool>, std::size_t> seen;  // by group, transfers apart
  std::vector<RawEntry> kept;
  for (std::size_t i = all.size(); i-- > 0;) {
    const bool ended = all[i].at<std::uint8_t>(layout.retired) == 1 ||
                       all[i].at<std::uint8_t>(layout.completed + 8) == 1;
    const bool is_transfer = all[i].at<std::uint8_t>(layout.is_p2p) == 1;
    const std::size_t most = request_.newest * (is_transfer ? kTransfersForCall : 1);
    if (++seen[{all[i].at<std::uint64_t>(layout.group_id), is_transfer}] <= most || !ended) {
      kept.push_back(all[i]);
    }
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

bool RingReader::read_entry(const RawEntry& raw,
                            const RecorderLayout& layout,
                            FlightRecord& record) {
  FlightEntry entry;
  entry.record = raw.at<std::int64_t>(0);
  entry.sequence = raw.at<std::int64_t>(layout.sequence);
  entry.transfer = raw.at<std::int64_t>(layout.sequence + 8);
  entry.operation = raw.at<std::int64_t>(layout.sequence + 16);
  for (const std::int64_t number : {entry.sequence, entry.transfer, entry.operation}) {
    if (number < 0 || number > kMaxSequence) {
      return false;
    }
  }
  entry.created_ns = raw.at<std::int64_t>(layout.created);
  entry.timeout_ms = layout.timeout == 0 ? -1 : raw.at<std::int64_t>(layout.timeout);
  entry.is_p2p = raw.at<std::uint8_t>(layout.is_p2p) == 1;
  entry.retired = raw.at<std::uint8_t>(layout.retired) == 1;
  const auto time = [&raw](std::uint32_t offset) {
    return raw.at<std::uint8_t>(offset + 8) == 1 ? raw.at<std::int64_t>(offset) : 0;
  };
  entry.started_ns = time(layout.started);
  entry.completed_ns = time(layout.completed);
  entry.state = entry.completed_ns != 0 ? FlightState::kCompleted
                : entry.started_ns != 0 ? FlightState::kStarted
                                        : FlightState::kScheduled;
  if (!read_name(raw, layout, entry) || !read_tensors(raw, layout, entry)) {
    return false;
  }
  const auto group = read_group(raw, layout, entry.backend, record);
  if (!group) {
    return false;
  }
  entry.group = *group;
  entry.place = texts_.string(lines_.place(reader_, Addr{raw.at<std::uint64_t>(layout.traceback)}));
  record.entries.push_back(entry);
  return true;
}

bool RingReader::read_name(const RawEntry& raw, const RecorderLayout& layout, FlightEntry& entry) {
  const auto name = read_text(reader_, raw.address() + layout.name, layout.abi, kMaxRecordedName);
  const bool known =
      name && std::all_of(name->begin(), name->end(), is_printable_ascii) &&
      std::any_of(kBackendPrefixes.begin(), kBackendPrefixes.end(),
                  [&name](std::string_view prefix) { return name->starts_with(prefix); });
  if (!known) {
    return false;
  }
  fill_recorded_name(*name, texts_, entry);
  if (layout.thread != 0) {
    constexpr std::size_t kMaxThreadName = 64;
    const auto thread =
        read_text(reader_, raw.address() + layout.thread, layout.abi, kMaxThreadName);
    if (!thread) {
      return false;
    }
    entry.thread = texts_.string(*thread);
  }
  return true;
}

std::optional<std::uint32_t> RingReader::read_group(const RawEntry& raw,
                                                    const RecorderLayout& layout,
                                                    StringId backend,
                                                    FlightRecord& record) {
  const auto id = raw.at<std::uint64_t>(layout.group_id);
  const auto [at, is_new] =
      groups_.try_emplace({id, backend}, static_cast<std::uint32_t>(record.groups.size()));
  if (!is_new) {
    return at->second;
  }
  const Addr tuple = raw.address() + layout.group_name;
  const auto description = read_text(reader_, tuple, layout.abi, kMaxRecordedName);
  const auto name =
      read_text(reader_, tuple + string_size(layout.abi), layout.abi, kMaxRecordedName);
  if (!name || !description) {
    return std::nullopt;
  }
  FlightGroup& group = record.groups.emplace_back();
  group.name = texts_.string(*name);
  group.description = texts_.string(*description);
  group.backend = backend;
  if (layout.status != 0) {
    const auto status = read_group_status(reader_, request_.recorder + layout.status, id);
    group.enqueued = status ? status->enqueued : -1;
    group.started = status ? status->started : -1;
    group.completed = status ? status->completed : -1;
  }
  return at->second;
}

template <typename T>
std::optional<std::vector<T>> RingReader::numbers(Addr data,
                                                  std::uint64_t count,
                                                  std::size_t most) {
  if (count > most) {
    return std::nullopt;
  }
  std::vector<T> values(count);
  if (count > 0 && !reader_.read(data, std::as_writable_bytes(std::span(values)))) {
    return std::nullopt;
  }
  return values;
}

std::optional<std::vector<std::uint64_t>> RingReader::small_vector(const RawEntry& raw,
                                                                   std::uint32_t offset,
                                                                   std::size_t width,
                                                                   std::size_t most) {
  const Addr data{raw.at<std::uint64_t>(offset)};
  const auto size = raw.at<std::uint32_t>(offset + 8);
  const auto capacity = raw.at<std::uint32_t>(offset + 12);
  if (size > capacity) {
    return std::nullopt;
  }
  if (width == sizeof(std::uint64_t)) {
    return numbers<std::uint64_t>(data, size, most);
  }
  const auto narrow = numbers<std::uint32_t>(data, size, most);
  return narrow ? std::optional(std::vector<std::uint64_t>(narrow->begin(), narrow->end()))
                : std::nullopt;
}

std::optional<std::vector<std::uint8_t>> RingReader::types(const RawEntry& raw,
                                                           std::uint32_t offset) {
  const auto begin = raw.at<std::uint64_t>(offset);
  const auto end = raw.at<std::uint64_t>(offset + 8);
  return begin > end ? std::nullopt : numbers<std::uint8_t>(Addr{begin}, end - begin, kMaxTensors);
}

bool RingReader::read_tensors(const RawEntry& raw,
                              const RecorderLayout& layout,
                              FlightEntry& entry) {
  const auto sizes = small_vector(raw, layout.sizes, sizeof(std::uint64_t), kMaxSizes);
  if (!sizes) {
    return false;
  }
  std::size_t used = 0;
  const auto read_side = [&](std::uint32_t dimensions_at, std::uint32_t types_at, StringId& text,
                             StringId& type_text, std::int64_t& count) {
    const auto dimensions = small_vector(raw, dimensions_at, layout.dimension_bytes, kMaxTensors);
    const auto type_list = types(raw, types_at);
    if (!dimensions || !type_list || type_list->size() != dimensions->size()) {
      return false;
    }
    TensorSizes words;
    for (const std::uint64_t of_tensor : *dimensions) {
      if (of_tensor > sizes->size() - used) {
        return false;
      }
      words.begin_tensor();
      for (std::uint64_t i = 0; i < of_tensor; ++i) {
        words.add(static_cast<std::int64_t>((*sizes)[used++]));
      }
      words.end_tensor();
    }
    TensorTypes type_words;
    for (const std::uint8_t type : *type_list) {
      type_words.add(scalar_type_name(type));
    }
    text = texts_.string(words.text());
    type_text = texts_.string(type_words.text());
    count = words.count();
    return true;
  };
  return read_side(layout.input_dimensions, layout.input_types, entry.input_sizes,
                   entry.input_types, entry.input_count) &&
         read_side(layout.output_dimensions, layout.output_types, entry.output_sizes,
                   entry.output_types, entry.output_count) &&
         used == sizes->size();
}

void RingReader::add_members(const RecorderLayout& layout, FlightRecord& record) {
  for (const RecordedMembers& row :
       read_recorded_members(reader_, request_.recorder + layout.ranks, layout.abi)) {
    for (FlightGroup& group : record.groups) {
      if (texts_.text(group.name) == row.name &&
          texts_.text(group.description) == row.description) {
        group.members = texts_.string(snapshot::rank_text(row.ranks));
      }
    }
  }
}

void RingReader::drop_overwritten(std::uint64_t oldest, FlightRecord& record) {
  std::erase_if(record.entries, [oldest](const FlightEntry& entry) {
    return static_cast<std::uint64_t>(entry.record) < oldest;
  });
  std::reverse(record.entries.begin(), record.entries.end());
  std::vector<FlightGroup> groups;
  std::map<std::uint32_t, std::uint32_t> places;
  for (FlightEntry& entry : record.entries) {
    const auto [at, is_new] =
        places.try_emplace(entry.group, static_cast<std::uint32_t>(groups.size()));
    if (is_new) {
      groups.push_back(record.groups[entry.group]);
    }
    entry.group = at->second;
  }
  record.groups = std::move(groups);
}

void RingReader::drop_unnamed(FlightRecord& record) const {
  const auto is_unnamed = [&](const FlightEntry& entry) {
    return record.groups[entry.group].name == StringId{};
  };
  const bool any = std::any_of(record.entries.begin(), record.entries.end(), is_unnamed);
  std::erase_if(record.entries, is_unnamed);
  record.shortened = record.shortened || any;
}

}  // namespace

Result<FlightRecord> read_recorder(RemoteReader& reader,
                                   PythonMemory* python,
                                   const RecorderRequest& request,
                                   Tables& texts) {
  return RingReader(reader, python, request, texts).run();
}

std::vector<FlightRecord> join_recorders(std::vector<FlightRecord> records) {
  if (records.size() < 2) {
    return records;
  }
  FlightRecord all = std::move(records.front());
  bool whole = all.entries.empty() || all.entries.front().record == 0;
  for (std::size_t i = 1; i < records.size(); ++i) {
    FlightRecord& other = records[i];
    whole = whole && (other.entries.empty() || other.entries.front().record == 0);
    const auto shift = static_cast<std::uint32_t>(all.groups.size());
    all.groups.insert(all.groups.end(), other.groups.begin(), other.groups.end());
    for (FlightEntry& entry : other.entries) {
      entry.group += shift;
      all.entries.push_back(entry);
    }
    all.shortened = all.shortened || other.shortened;
  }
  std::stable_sort(
      all.entries.begin(), all.entries.end(),
      [](const FlightEntry& a, const FlightEntry& b) { return a.created_ns < b.created_ns; });
  std::int64_t record = whole ? 0 : 1;
  for (FlightEntry& entry : all.entries) {
    entry.record = record++;
  }
  return {std::move(all)};
}

}  // namespace oddrank::collectives
