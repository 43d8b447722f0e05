// Limit: a group is recognised by its size and by this process's rank in it, so several groups may
// fit; then the member of each is possible.
#include "collectives/torch/gloo_transfers.h"

#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "collectives/group_join.h"
#include "collectives/torch/cxx_object.h"
#include "cpython/remote_reader.h"
#include "snapshot/rank_text.h"

namespace oddrank::collectives {
namespace {

using cpython::number_at;
using cpython::RemoteReader;
using snapshot::CollectiveCall;
using snapshot::ProcessGroup;

constexpr std::string_view kBufferClass = "N4gloo9transport3tcp13UnboundBufferE";
// With TLS, they are tcp::tls::Context and tcp::tls::Pair.
constexpr std::string_view kTcp = "N4gloo9transport3tcp";
constexpr std::string_view kContextEnd = "7ContextE";
constexpr std::string_view kPairEnd = "4PairE";

constexpr std::uint64_t kWordBytes = 8;
constexpr std::uint64_t kBeforeFutex = 320;  // of a buffer: two condition variables lie behind 168
constexpr std::uint64_t kBufferHead = 64;    // within which it names its context
constexpr std::uint64_t kContextRank = 8;
constexpr std::uint64_t kContextBytes = 128;  // within which it has its pairs
constexpr std::size_t kMaxPairs = 4096;
// A pair has 880 in 2.13. What follows it on the heap may be another pair.
constexpr std::size_t kPairBytes = 896;

// A node of a table whose keys are slots.
constexpr std::uint64_t kSlotValue = 16;
constexpr std::uint64_t kMaxSlots = 4096;
// libstdc++'s std::deque: an array of chunks, and the places of its first element and of its end.
struct DequePlace {
  std::uint64_t at = 0;
  std::uint64_t chunk = 0;
  std::uint64_t chunk_end = 0;
  std::uint64_t in_array = 0;
};
struct DequeHead {
  std::uint64_t array = 0;
  std::uint64_t array_size = 0;
  DequePlace first;
  DequePlace end;
};
constexpr std::uint64_t kMinArray = 8;
constexpr std::uint64_t kMaxChunkBytes = 4096;
constexpr std::uint64_t kMaxChunks = 64;

constexpr std::int64_t kNoSlot = -1;
constexpr std::size_t kMaxGlooPeers = 64;  // each is an edge of the graph

bool is_tcp_class(std::string_view name, std::string_view end) {
  return name.starts_with(kTcp) && name.ends_with(end);
}

// The buffer that a thread waits for, and where its context keeps the pairs.
struct AwaitedBuffer {
  Addr buffer{};
  std::int32_t rank = -1;  // of this process in the buffer's context
  std::int32_t size = 0;
  Addr pairs{};
};

// The pair that holds a buffer.
struct OpenTransfer {
  std::int32_t member = -1;  // rank within the buffer's context
  std::int64_t slot = kNoSlot;
};

class TransferReader {
 public:
  explicit TransferReader(const attach::Target& target) : target_(target), reader_(target) {}

  // Returns the buffer of gloo that the thread sleeps in.
  std::optional<AwaitedBuffer> awaited_by(const attach::ThreadState& thread);
  // Returns the only pair that holds the buffer; nullopt if none does, or several do.
  std::optional<OpenTransfer> transfer_of(const AwaitedBuffer& awaited);

 private:
  bool may_be_table(std::uint64_t word) const;
  // Fills in rank, size and pairs.
  bool read_context(Addr context, AwaitedBuffer& awaited);
  // Return the slot at which the pair holds the buffer; kNoSlot if it holds it at an unknown slot;
  // nullopt if it does not hold it.
  std::optional<std::int64_t> slot_in(Addr pair, Addr buffer);
  std::optional<std::int64_t> slot_in_table(std::span<const std::byte> table, Addr buffer);
  bool is_in_deque(Addr deque, Addr buffer);

  const attach::Target& target_;
  RemoteReader reader_;
};

// Returns whether an object may begin with this word: its virtual table lies in a library.
bool TransferReader::may_be_table(std::uint64_t word) const {
  if (word == 0 || word % kWordBytes != 0) {
    return false;
  }
  const attach::Mapping* mapping = target_.maps().find_listed(Addr{word});
  return mapping != nullptr && !mapping->executable && !mapping->path.empty();
}

std::optional<AwaitedBuffer> TransferReader::awaited_by(const attach::ThreadState& thread) {
  if (!thread.syscall || thread.syscall->number != SYS_futex) {
    return std::nullopt;
  }
  const std::uint64_t futex = thread.syscall->arguments[0] & ~(kWordBytes - 1);
  const attach::Mapping* mapping = target_.maps().find(Addr{futex});
  if (mapping == nullptr || !mapping->writable || futex - mapping->start < kWordBytes) {
    return std::nullopt;
  }
  const std::uint64_t before = std::min(kBeforeFutex, futex - mapping->start);
  const auto bytes = reader_.bytes(Addr{futex - before}, before);
  for (std::uint64_t back = kWordBytes; bytes && back <= before; back += kWordBytes) {
    const Addr object{futex - back};
    if (!may_be_table(number_at<std::uint64_t>(*bytes, before - back)) ||
        class_of(reader_, object) != kBufferClass) {
      continue;
    }
    AwaitedBuffer awaited{object};
    for (std::uint64_t at = kWordBytes; at <= kBufferHead; at += kWordBytes) {
      if (read_context(reader_.pointer_or_null(object + at), awaited)) {
        return awaited;
      }
    }
    return std::nullopt;
  }
  return std::nullopt;
}

bool TransferReader::read_context(Addr context, AwaitedBuffer& awaited) {
  if (!is_tcp_class(class_of(reader_, context), kContextEnd)) {
    return false;
  }
  struct Place {
    std::int32_t rank = -1;
    std::int32_t size = 0;
  };
  const auto place = reader_.value<Place>(context + kContextRank);
  if (!place || place->rank < 0 || place->rank >= place->size ||
      static_cast<std::size_t>(place->size) > kMaxPairs) {
    return false;
  }
  const std::uint64_t length = static_cast<std::uint64_t>(place->size) * kWordBytes;
  for (std::uint64_t at = 2 * kWordBytes; at < kContextBytes; at += kWordBytes) {
    const auto vector = reader_.value<std::array<std::uint64_t, 3>>(context + at);
    const bool fits = vector && (*vector)[0] != 0 && (*vector)[1] - (*vector)[0] == length &&
                      (*vector)[2] >= (*vector)[1];
    if (!fits) {
      continue;
    }
    for (std::int32_t i = 0; i < place->size; ++i) {
      const Addr pair =
          reader_.pointer_or_null(Addr{(*vector)[0]} + static_cast<std::uint64_t>(i) * kWordBytes);
      if (pair != Addr{}) {
        awaited.rank = place->rank;
        awaited.size = place->size;
        awaited.pairs = Addr{(*vector)[0]};
        return is_tcp_class(class_of(reader_, pair), kPairEnd);
      }
    }
  }
  return false;
}

std::optional<OpenTransfer> TransferReader::transfer_of(const AwaitedBuffer& awaited) {
  std::optional<OpenTransfer> found;
  for (std::int32_t member = 0; member < awaited.size; ++member) {
    const Addr pair =
        reader_.pointer_or_null(awaited.pairs + static_cast<std::uint64_t>(member) * kWordBytes);
    const auto slot =
        member == awaited.rank || pair == Addr{} ? std::nullopt : slot_in(pair, awaited.buffer);
    if (!slot) {
      continue;
    }
    if (found) {
      return std::nullopt;
    }
    found = {member, *slot};
  }
  return found;
}

std::optional<std::int64_t> TransferReader::slot_in(Addr pair, Addr buffer) {
  const auto bytes = reader_.bytes(pair, kPairBytes);
  if (!bytes || !is_tcp_class(class_of(reader_, pair), kPairEnd)) {
    return std::nullopt;
  }
  const std::uint64_t table = number_at<std::uint64_t>(*bytes, 0);
  for (std::size_t at = kWordBytes; at + kTableBytes <= kPairBytes; at += kWordBytes) {
    if (number_at<std::uint64_t>(*bytes, at) == table) {
      break;  // the next pair
    }
    if (const auto slot = slot_in_table(std::span(*bytes).subspan(at, kTableBytes), buffer)) {
      return slot;
    }
    if (is_in_deque(pair + at, buffer)) {
      return kNoSlot;  // it is being sent
    }
  }
  return std::nullopt;
}

// Looks into a table of deques, one for each slot that is waited for.
std::optional<std::int64_t> TransferReader::slot_in_table(std::span<const std::byte> table,
                                                          Addr buffer) {
  const std::uint64_t count = number_at<std::uint64_t>(table, kTableSize);
  if (number_at<float>(table, kTableLoad) != 1.0F || count == 0 || count > kMaxSlots) {
    return std::nullopt;
  }
  Addr node{number_at<std::uint64_t>(table, kTableFirst)};
  for (std::uint64_t i = 0; i < count && node != Addr{}; ++i) {
    if (is_in_deque(node + kSlotValue, buffer)) {
      return reader_.value<std::int64_t>(node + kTableKey).value_or(kNoSlot);
    }
    node = reader_.pointer_or_null(node);
  }
  return std::nullopt;
}

// Looks for the buffer's address among the words of a deque's elements, whatever these are.
bool TransferReader::is_in_deque(Addr deque, Addr buffer) {
  const auto head = reader_.value<DequeHead>(deque);
  const bool fits = head && head->array != 0 && head->array_size >= kMinArray &&
                    head->array_size <= kMaxSlots && head->first.in_array >= head->array &&
                    head->end.in_array - head->first.in_array <= kMaxChunks * kWordBytes;
  if (!fits) {
    return false;
  }
  const std::uint64_t chunk_bytes = head->first.chunk_end - head->first.chunk;
  for (std::uint64_t at = head->first.in_array; at <= head->end.in_array; at += kWordBytes) {
    const std::uint64_t chunk = value_of(reader_.pointer_or_null(Addr{at}));
    const std::uint64_t begin = at == head->first.in_array ? head->first.at : chunk;
    const std::uint64_t end = at == head->end.in_array ? head->end.at : chunk + chunk_bytes;
    if (begin == 0 || end - begin > kMaxChunkBytes) {
      return false;
    }
    const auto elements = reader_.bytes(Addr{begin}, end - begin);
    for (std::size_t i = 0; elements && i + kWordBytes <= elements->size(); i += kWordBytes) {
      if (number_at<std::uint64_t>(*elements, i) == value_of(buffer)) {
        return true;
      }
    }
  }
  return false;
}

// Fills in the other side: the member of each group in which this process has the context's place.
void set_peers(const AwaitedBuffer& awaited,
               const OpenTransfer& transfer,
               const std::vector<const ProcessGroup*>& of_gloo,
               const GroupJoin& groups,
               snapshot::Tables& tables,
               CollectiveCall& call) {
  std::vector<const ProcessGroup*> fitting;
  std::set<std::int32_t> peers;
  for (const ProcessGroup* group : of_gloo) {
    if (group->rank == awaited.rank && group->size == awaited.size) {
      fitting.push_back(group);
      peers.insert(groups.global_rank(*group, transfer.member));
    }
  }
  if (peers.empty() || *peers.begin() < 0 || peers.size() > kMaxGlooPeers) {
    return;
  }
  if (fitting.size() == 1) {
    groups.fill(*fitting.front(), call);
  }
  if (peers.size() == 1) {
    call.peer = *peers.begin();
  } else {
    call.peers =
        tables.string(snapshot::rank_text(std::vector<std::int32_t>(peers.begin(), peers.end())));
  }
  call.evidence =
      tables.string("gloo's buffer is open at the pair of member " +
                    std::to_string(transfer.member) + " of " + std::to_string(awaited.size));
  // ProcessGroupGloo::send() and recv() pass the tag as the slot.
  if (transfer.slot >= 0 && transfer.slot <= std::numeric_limits<std::int32_t>::max()) {
    call.tag = static_cast<std::int32_t>(transfer.slot);
  }
}

}  // namespace

void collect_gloo_transfers(const attach::Target& target,
                            const std::vector<attach::ThreadState>& threads,
                            snapshot::Tables& tables,
                            snapshot::ProcessCapture& process) {
  std::vector<const ProcessGroup*> of_gloo;
  for (const ProcessGroup& group : process.groups) {
    if (tables.text(group.backend).find("gloo") != std::string_view::npos) {
      of_gloo.push_back(&group);
    }
  }
  if (of_gloo.empty()) {
    return;
  }
  const GroupJoin groups(process.groups, tables);
  TransferReader reader(target);
  for (const attach::ThreadState& thread : threads) {
    const auto awaited = reader.awaited_by(thread);
    const auto transfer = awaited ? reader.transfer_of(*awaited) : std::nullopt;
    const auto row = std::find_if(process.threads.begin(), process.threads.end(),
                                  [&](const auto& one) { return one.tid == thread.tid; });
    if (transfer && row != process.threads.end()) {
      CollectiveCall call;
      set_peers(*awaited, *transfer, of_gloo, groups, tables, call);
      row->call = call;
    }
  }
}

}  // namespace oddrank::collectives
