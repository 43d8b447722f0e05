// Limit: a frame may also hold the lists of earlier batches. Then these are possible as well.
#include "collectives/possible_transfers.h"

#include <algorithm>
#include <array>

#include "base/parse_number.h"

namespace oddrank::collectives {
namespace {

using snapshot::CallKind;

constexpr std::size_t kMaxTellingFrames = 8;  // Python frames from the wait outwards
constexpr std::string_view kSchedules = "torch/distributed/pipelining/schedules.py";
constexpr std::string_view kMegatron = "pipeline_parallel/p2p_communication.py";

struct TransferWait {
  std::string_view function;  // last part of the qualified name
  std::string_view file;      // end of the path
};
constexpr std::array kTransferWaits = {
    TransferWait{"_wait_batch_p2p", kSchedules},
    TransferWait{"_communicate", kMegatron},
    TransferWait{"_communicate_shapes", kMegatron},
};

// What a stage exchanges with a neighbour: `what` is True, or a tensor, if it does.
struct Exchange {
  std::string_view what;
  bool receives = false;
  std::string_view peer;
};
// P2PCommunicator._communicate of Megatron-core 0.16.
constexpr std::array kExchanges = {
    Exchange{"recv_prev", true, "prev_rank"},
    Exchange{"recv_next", true, "next_rank"},
    Exchange{"tensor_send_prev", false, "prev_rank"},
    Exchange{"tensor_send_next", false, "next_rank"},
};

std::string_view name_in_class(std::string_view qualified) {
  const auto dot = qualified.rfind('.');
  return dot == std::string_view::npos ? qualified : qualified.substr(dot + 1);
}

bool is_wanted(bool receives, std::optional<CallKind> kind) {
  return !kind || receives == (*kind == CallKind::kRecv);
}

void add_transfer(const P2pOperation& operation, std::vector<P2pOperation>& all) {
  if (std::find(all.begin(), all.end(), operation) == all.end()) {
    all.push_back(operation);
  }
}

// Returns nothing if one of the frame's lists is longer than its text.
std::vector<P2pOperation> from_batches(const CallFrames& frames,
                                       std::size_t index,
                                       std::optional<CallKind> kind) {
  std::vector<P2pOperation> all;
  for (const std::string_view text : frames.locals(index)) {
    const auto operations = p2p_operations(text);
    if (operations.empty() && text.find("<P2POp ") != std::string_view::npos) {
      return {};
    }
    for (const P2pOperation& operation : operations) {
      if (is_wanted(operation.receives, kind)) {
        add_transfer(operation, all);
      }
    }
  }
  return all;
}

// A tensor among the locals has no text unless all kinds of locals are read.
bool exchanges(const CallFrames& frames, std::size_t index, const Exchange& exchange) {
  const auto text = frames.local(index, exchange.what);
  return exchange.receives ? text == "True" : !text || *text != "None";
}

void add_neighbours(const CallFrames& frames,
                    std::size_t index,
                    std::optional<CallKind> kind,
                    PossibleTransfers& found) {
  for (const Exchange& exchange : kExchanges) {
    const auto text = frames.local(index, exchange.peer);
    const auto peer = text ? parse_number<std::int32_t>(*text) : std::nullopt;
    if (!peer || *peer < 0 || !is_wanted(exchange.receives, kind) ||
        !exchanges(frames, index, exchange)) {
      continue;
    }
    add_transfer({exchange.receives, *peer, frames.local(index, "pp_group").value_or("")},
                 found.operations);
    const std::string words = std::string(exchange.peer) + "=" + std::to_string(*peer);
    if (found.evidence.find(words) == std::string::npos) {
      found.evidence += (found.evidence.empty() ? "" : ", ") + words;
    }
  }
  if (!found.operations.empty()) {
    found.evidence += " in " + frames.describe(index);
  }
}

bool is_exchange(const CallFrames& frames, std::size_t index) {
  return name_in_class(frames.function(index)) == "_communicate" &&
         frames.file(index).ends_with(kMegatron);
}

}  // namespace

bool waits_for_transfers(const CallFrames& frames, std::size_t index) {
  return std::any_of(kTransferWaits.begin(), kTransferWaits.end(), [&](const TransferWait& wait) {
    return name_in_class(frames.function(index)) == wait.function &&
           frames.file(index).ends_with(wait.file);
  });
}

PossibleTransfers possible_transfers(const CallFrames& frames,
                                     std::size_t index,
                                     std::optional<CallKind> kind) {
  PossibleTransfers found;
  std::size_t looked_at = 0;
  for (std::size_t i = index; i < frames.size() && looked_at < kMaxTellingFrames; ++i) {
    if (!frames.is_python(i)) {
      continue;
    }
    ++looked_at;
    found.operations = from_batches(frames, i, kind);
    if (!found.operations.empty()) {
      for (const P2pOperation& one : found.operations) {
        found.evidence += (found.evidence.empty() ? "P2POp(" : ", P2POp(") +
                          std::string(one.receives ? "irecv" : "isend") +
                          ", peer=" + std::to_string(one.peer) + ")";
      }
      return found;
    }
    if (is_exchange(frames, i)) {
      add_neighbours(frames, i, kind, found);
      return found;
    }
    // The search goes on to the caller only from functions that wait: other callers may have
    // batches of their own that ended long ago.
    if (!waits_for_transfers(frames, i)) {
      break;
    }
  }
  return found;
}

std::vector<std::int32_t> peers_of(const std::vector<P2pOperation>& operations) {
  std::vector<std::int32_t> peers;
  peers.reserve(operations.size());
  for (const P2pOperation& operation : operations) {
    peers.push_back(operation.peer);
  }
  std::sort(peers.begin(), peers.end());
  peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
  return peers;
}

}  // namespace oddrank::collectives
