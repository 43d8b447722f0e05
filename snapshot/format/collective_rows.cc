#include "snapshot/format/collective_rows.h"

#include <string>
#include <utility>

#include "snapshot/format/fields.h"

namespace oddrank::snapshot {
namespace {

void encode_record(const FlightRecord& record, Document& document) {
  RowWriter records(document.tables["flight_records"]);
  RowWriter groups(document.tables["flight_groups"]);
  RowWriter entries(document.tables["flight_entries"]);
  flight_record_fields(records, record);
  flight_memory_fields(records, record);
  records("groups", record.groups.size());
  records("entries", record.entries.size());
  for (const FlightGroup& group : record.groups) {
    flight_group_fields(groups, group);
    flight_status_fields(groups, group);
  }
  for (const FlightEntry& entry : record.entries) {
    flight_entry_fields(entries, entry);
    flight_call_fields(entries, entry);
  }
}

void encode_communicator(const RasCommunicator& communicator, Document& document) {
  RowWriter communicators(document.tables["ras_communicators"]);
  RowWriter ranks(document.tables["ras_ranks"]);
  ras_communicator_fields(communicators, communicator);
  communicators("ranks", communicator.ranks.size());
  for (const RasRank& rank : communicator.ranks) {
    ras_rank_fields(ranks, rank);
  }
}

void encode_line(const LogLine& line, Document& document) {
  RowWriter lines(document.tables["log_lines"]);
  RowWriter behind(document.tables["log_behind"]);
  log_line_fields(lines, line);
  lines("behind", line.behind.size());
  for (const std::int32_t rank : line.behind) {
    behind("rank", rank);
  }
}

void encode_device(const Device& device, Document& document) {
  RowWriter devices(document.tables["devices"]);
  RowWriter pids(document.tables["device_pids"]);
  device_fields(devices, device);
  devices("pids", device.pids.size());
  for (const pid_t pid : device.pids) {
    pids("pid", pid);
  }
}

// A row's `node` is an index like any other.
void check_node(RowReader& reader, std::uint32_t node, std::size_t nodes) {
  if (node >= nodes) {
    reader.refuse("a row belongs to a node that does not exist");
  }
}

}  // namespace

void encode_collectives(const CollectiveState& state, Document& document) {
  for (const FlightRecord& record : state.flight) {
    encode_record(record, document);
  }
  for (const RasCommunicator& communicator : state.ras) {
    encode_communicator(communicator, document);
  }
  for (const LogLine& line : state.log) {
    encode_line(line, document);
  }
  for (const Device& device : state.devices) {
    encode_device(device, document);
  }
  for (const LinkPort& port : state.ports) {
    RowWriter ports(document.tables["link_ports"]);
    link_port_fields(ports, port);
  }
}

CollectiveDecoder::CollectiveDecoder(const ReadDocument& document,
                                     const IdLimits& limits,
                                     int format)
    : format_(format),
      records_("flight_records", document, limits),
      groups_("flight_groups", document, limits),
      entries_("flight_entries", document, limits),
      communicators_("ras_communicators", document, limits),
      members_("ras_ranks", document, limits),
      lines_("log_lines", document, limits),
      behind_("log_behind", document, limits),
      devices_("devices", document, limits),
      pids_("device_pids", document, limits),
      ports_("link_ports", document, limits) {}

std::array<RowReader*, 10> CollectiveDecoder::tables() {
  return {&records_, &groups_, &entries_, &communicators_, &members_,
          &lines_,   &behind_, &devices_, &pids_,          &ports_};
}

FlightRecord CollectiveDecoder::record() {
  FlightRecord record;
  flight_record_fields(records_, record);
  const bool from_memory = format_ >= kFirstFormatWithCounters;
  if (from_memory) {
    flight_memory_fields(records_, record);
  }
  each_row(records_, "groups", groups_, [&] {
    FlightGroup& group = record.groups.emplace_back();
    flight_group_fields(groups_, group);
    if (from_memory) {
      flight_status_fields(groups_, group);
    }
  });
  each_row(records_, "entries", entries_, [&] {
    FlightEntry& entry = record.entries.emplace_back();
    flight_entry_fields(entries_, entry);
    if (from_memory) {
      flight_call_fields(entries_, entry);
    }
    if (entry.group >= record.groups.size()) {
      entries_.refuse("a call belongs to a group that does not exist");
    }
  });
  return record;
}

RasCommunicator CollectiveDecoder::communicator() {
  RasCommunicator communicator;
  ras_communicator_fields(communicators_, communicator);
  each_row(communicators_, "ranks", members_,
           [&] { ras_rank_fields(members_, communicator.ranks.emplace_back()); });
  return communicator;
}

LogLine CollectiveDecoder::line() {
  LogLine line;
  log_line_fields(lines_, line);
  each_row(lines_, "behind", behind_, [&] { behind_("rank", line.behind.emplace_back()); });
  return line;
}

Device CollectiveDecoder::device() {
  Device device;
  device_fields(devices_, device);
  each_row(devices_, "pids", pids_, [&] { pids_("pid", device.pids.emplace_back()); });
  return device;
}

CollectiveState CollectiveDecoder::run(std::size_t nodes) {
  CollectiveState state;
  while (records_.next()) {
    state.flight.push_back(record());
    check_node(records_, state.flight.back().node, nodes);
  }
  while (communicators_.next()) {
    state.ras.push_back(communicator());
    check_node(communicators_, state.ras.back().node, nodes);
  }
  while (lines_.next()) {
    state.log.push_back(line());
    check_node(lines_, state.log.back().node, nodes);
  }
  while (devices_.next()) {
    state.devices.push_back(device());
    check_node(devices_, state.devices.back().node, nodes);
  }
  while (ports_.next()) {
    link_port_fields(ports_, state.ports.emplace_back());
    check_node(ports_, state.ports.back().node, nodes);
  }
  return state;
}

}  // namespace oddrank::snapshot
