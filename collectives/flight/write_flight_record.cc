#include "collectives/flight/write_flight_record.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/parse_number.h"
#include "snapshot/rank_text.h"

namespace oddrank::collectives {
namespace {

using snapshot::FlightEntry;
using snapshot::FlightGroup;
using snapshot::FlightRecord;
using snapshot::FlightState;
using snapshot::StringId;
using snapshot::Tables;

constexpr std::string_view kDumpVersion = "2.10";

// Builds a pickle of protocol 2 out of plain values.
class PickleWriter {
 public:
  PickleWriter() { bytes_ = "\x80\x02"; }
  void text(std::string_view value);
  void number(std::int64_t value);
  void boolean(bool value) { bytes_ += value ? '\x88' : '\x89'; }
  void none() { bytes_ += 'N'; }
  // What is written until the end of a list or dict is its values, or keys and values in turn.
  void begin_list() { bytes_ += "]("; }
  void end_list() { bytes_ += 'e'; }
  void begin_dict() { bytes_ += "}("; }
  void end_dict() { bytes_ += 'u'; }
  void pair(std::string_view first, std::string_view second);
  void key_number(std::string_view key, std::int64_t value);
  void key_text(std::string_view key, std::string_view value);
  void key_time(std::string_view key, std::int64_t ns);  // None if it is 0
  std::string finish() { return std::move(bytes_) + '.'; }

 private:
  template <typename Int>
  void raw(Int value);
  std::string bytes_;
};

template <typename Int>
void PickleWriter::raw(Int value) {
  for (std::size_t i = 0; i < sizeof value; ++i) {
    bytes_ += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i) & 0xff);
  }
}

void PickleWriter::text(std::string_view value) {
  bytes_ += 'X';
  raw(static_cast<std::uint32_t>(value.size()));
  bytes_ += value;
}

void PickleWriter::number(std::int64_t value) {
  bytes_ += "\x8a\x08";  // a long of eight bytes
  raw(value);
}

void PickleWriter::pair(std::string_view first, std::string_view second) {
  text(first);
  text(second);
  bytes_ += '\x86';
}

void PickleWriter::key_number(std::string_view key, std::int64_t value) {
  text(key);
  number(value);
}

void PickleWriter::key_text(std::string_view key, std::string_view value) {
  text(key);
  text(value);
}

void PickleWriter::key_time(std::string_view key, std::int64_t ns) {
  text(key);
  if (ns == 0) {
    none();
  } else {
    number(ns);
  }
}

// Writes [[4, 2], [4]] for "[4, 2], [4]". Returns the number of tensors.
std::size_t write_sizes(PickleWriter& out, std::string_view sizes) {
  std::size_t tensors = 0;
  out.begin_list();
  for (auto at = sizes.find('['); at != std::string_view::npos; at = sizes.find('[', at + 1)) {
    const auto end = sizes.find(']', at);
    out.begin_list();
    std::string_view inside = sizes.substr(at + 1, end == sizes.npos ? end : end - at - 1);
    while (!inside.empty()) {
      const auto comma = inside.find(", ");
      if (const auto size = parse_number<std::int64_t>(inside.substr(0, comma))) {
        out.number(*size);
      }
      inside.remove_prefix(comma == inside.npos ? inside.size() : comma + 2);
    }
    out.end_list();
    ++tensors;
  }
  out.end_list();
  return tensors;
}

// Equal neighbours are kept once: the last type stands for the rest.
void write_types(PickleWriter& out, std::string_view types, std::size_t tensors) {
  out.begin_list();
  std::string_view last;
  for (std::size_t i = 0; i < tensors; ++i) {
    const auto comma = types.find(", ");
    if (!types.empty()) {
      last = types.substr(0, comma);
    }
    types.remove_prefix(comma == types.npos ? types.size() : comma + 2);
    out.text(last);
  }
  out.end_list();
}

void write_frames(PickleWriter& out, std::string_view place) {
  out.begin_list();
  const auto open = place.rfind(" (");
  const auto colon = place.rfind(':');
  if (open != place.npos && colon != place.npos && open < colon) {
    out.begin_dict();
    out.key_text("name", place.substr(0, open));
    out.key_text("filename", place.substr(open + 2, colon - open - 2));
    const std::string_view line = place.substr(colon + 1);
    out.key_number("line", parse_number<std::int64_t>(line.substr(0, line.find(')'))).value_or(0));
    out.end_dict();
  }
  out.end_list();
}

std::string_view state_name(FlightState state) {
  return state == FlightState::kCompleted ? "completed"
         : state == FlightState::kStarted ? "started"
                                          : "scheduled";
}

void write_entry(PickleWriter& out,
                 const FlightEntry& entry,
                 const FlightGroup& group,
                 const Tables& texts) {
  const auto text = [&texts](StringId id) { return std::string(texts.text(id)); };
  std::string name = text(entry.backend) + ":" + text(entry.op);
  out.begin_dict();
  out.key_number("record_id", entry.record);
  out.key_number("pg_id", entry.group);
  out.text("process_group");
  out.pair(texts.text(group.name), texts.text(group.description));
  out.key_number("collective_seq_id", entry.sequence);
  out.key_number("p2p_seq_id", std::max<std::int64_t>(entry.transfer, 0));
  out.key_number("op_id", std::max<std::int64_t>(entry.operation, 0));
  if (entry.is_p2p && entry.peer >= 0) {
    name += (name.ends_with("recv") ? " 0<-" : " 0->") + std::to_string(entry.peer);
  }
  out.key_text("profiling_name", name);
  out.key_number("time_created_ns", entry.created_ns);
  out.text("input_sizes");
  const std::size_t inputs = write_sizes(out, texts.text(entry.input_sizes));
  out.text("input_dtypes");
  write_types(out, texts.text(entry.input_types), inputs);
  out.text("output_sizes");
  const std::size_t outputs = write_sizes(out, texts.text(entry.output_sizes));
  out.text("output_dtypes");
  write_types(out, texts.text(entry.output_types), outputs);
  out.key_text("state", state_name(entry.state));
  out.key_time("time_discovered_started_ns", entry.started_ns);
  out.key_time("time_discovered_completed_ns", entry.completed_ns);
  out.text("retired");
  out.boolean(entry.retired);
  out.key_number("timeout_ms", entry.timeout_ms);
  out.text("is_p2p");
  out.boolean(entry.is_p2p);
  out.key_text("thread_name", texts.text(entry.thread));
  out.text("frames");
  write_frames(out, texts.text(entry.place));
  out.end_dict();
}

void write_group(PickleWriter& out, const FlightGroup& group, const Tables& texts) {
  std::string ranks;
  for (const std::int32_t rank : snapshot::ranks_of(texts.text(group.members))) {
    ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
  }
  out.text(texts.text(group.name));
  out.begin_dict();
  out.key_text("name", texts.text(group.name));
  out.key_text("desc", texts.text(group.description));
  out.key_text("ranks", "[" + ranks + "]");
  out.end_dict();
}

}  // namespace

std::string write_flight_record(const FlightRecord& record, const Tables& texts) {
  PickleWriter out;
  out.begin_dict();
  out.key_text("version", kDumpVersion);
  out.text("pg_config");
  out.begin_dict();
  for (const FlightGroup& group : record.groups) {
    write_group(out, group, texts);
  }
  out.end_dict();
  out.text("pg_status");
  out.begin_dict();
  for (std::size_t i = 0; i < record.groups.size(); ++i) {
    const FlightGroup& group = record.groups[i];
    out.text(std::to_string(i));
    out.begin_dict();
    out.key_text("last_enqueued_collective", std::to_string(group.enqueued));
    out.key_text("last_started_collective", std::to_string(group.started));
    out.key_text("last_completed_collective", std::to_string(group.completed));
    out.end_dict();
  }
  out.end_dict();
  out.text("entries");
  out.begin_list();
  for (const FlightEntry& entry : record.entries) {
    if (entry.group < record.groups.size()) {
      write_entry(out, entry, record.groups[entry.group], texts);
    }
  }
  out.end_list();
  out.end_dict();
  return out.finish();
}

}  // namespace oddrank::collectives
