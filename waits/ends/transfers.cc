#include "waits/ends/transfers.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/printable.h"
#include "waits/ends/cut_sockets.h"
#include "waits/ends/end_owners.h"

namespace oddrank::waits {

using snapshot::Transfer;
using snapshot::TransferTrouble;

namespace {

// A single loss is repaired by the first try; two in a row without any answer are rare.
constexpr std::uint32_t kMinTries = 2;
constexpr std::uint32_t kMaxTries = 127;        // tcp_syn_retries, at most
constexpr std::int64_t kFirstConnectMs = 1000;  // TCP_TIMEOUT_INIT
constexpr std::size_t kMaxTransfers = 256;      // of one process

Transfer transfer_of(const SocketRow& row, const TcpInfo* info) {
  Transfer transfer;
  transfer.trouble =
      row.timer == kRetransmits ? TransferTrouble::kUnanswered : TransferTrouble::kNotTaken;
  transfer.connecting = row.state == static_cast<std::uint8_t>(SocketState::kSynSent);
  transfer.tries = row.tries;
  transfer.unsent = row.unsent;
  SocketRow timed = row;
  if (info != nullptr) {
    timed.rto_ms = info->rto_ms;
    transfer.acknowledged = info->acknowledged;
    transfer.received = info->received;
  }
  if (row.timer == kRetransmits) {
    transfer.age_ms = unanswered_ms(timed);
  } else if (info != nullptr) {
    transfer.age_ms = info->sent_ms;  // probes of the window carry no data
  }
  return transfer;
}

}  // namespace

bool is_in_trouble(const SocketRow& row) {
  const bool connects = row.state == static_cast<std::uint8_t>(SocketState::kSynSent);
  return (row.timer == kRetransmits && row.tries >= kMinTries && (connects || row.unsent > 0)) ||
         (row.timer == kProbesWindow && row.unsent > 0);
}

std::int64_t unanswered_ms(const SocketRow& row) {
  if (row.rto_ms == 0) {
    return -1;
  }
  std::int64_t all = std::int64_t{row.rto_ms} - std::min(row.expires_ms, row.rto_ms);
  std::int64_t before = row.rto_ms;
  // The first tries to connect take equally long (tcp_syn_linear_timeouts of Linux 6.5).
  const bool connects = row.state == static_cast<std::uint8_t>(SocketState::kSynSent);
  const std::int64_t least = connects ? std::min<std::int64_t>(kFirstConnectMs, before) : 0;
  for (std::uint32_t i = 0; i < std::min(row.tries, kMaxTries); ++i) {
    before = std::max(before / 2, least);
    all += before;
  }
  return all;
}

void add_transfers(const NodeEnds& node, snapshot::Capture& capture) {
  const EndOwners owners(node);
  std::set<std::pair<std::size_t, std::uint64_t>> seen;  // process, inode: it may have duplicates
  std::map<std::size_t, std::size_t> found;              // by process
  for (const OpenEnd& end : node.ends) {
    const SocketRow* row = node.row_of(end);
    if (row == nullptr || !is_in_trouble(*row)) {
      continue;
    }
    auto& transfers = capture.processes[end.process].transfers;
    if (!seen.emplace(end.process, end.inode).second || ++found[end.process] > kMaxTransfers) {
      continue;
    }
    const auto info = node.tcp.find(end.inode);
    Transfer transfer = transfer_of(*row, info == node.tcp.end() ? nullptr : &info->second);
    transfer.local = capture.tables.string(row->local);
    transfer.peer = capture.tables.string(row->peer);
    if (const auto routes = node.routes.find(node.namespace_of[end.process]);
        routes != node.routes.end()) {
      transfer.device = capture.tables.string(routes->second.device_to(row->peer));
    }
    const SocketRow* other = node.table_of(end.process)->other_end(*row);
    const auto pids = other == nullptr ? std::vector<pid_t>() : owners.of_socket(other->inode);
    transfer.peer_pid = pids.empty() ? 0 : pids.front();
    transfers.push_back(transfer);
  }
  for (const auto& [process, count] : found) {
    if (count > kMaxTransfers) {
      note_cut(capture, process, count_of(count, "connection") + " on which nothing gets through",
               kMaxTransfers);
    }
  }
}

}  // namespace oddrank::waits
