// A blocking collective is made of transfers whose requests name the communicator; that of the
// innermost one counts. Without such a request (shared memory, MPICH), the registers of the
// library's frames count, from the outermost inwards: functions of MPI need the communicator after
// the call that does the work, to report errors. A register counts only in the function that has
// changed it: otherwise it is one of the program's own, which may hold any communicator. Words on
// the stack are trusted with requests only, and only with those that are still open.
#include "collectives/mpi/mpi_calls.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>

#include "base/base_name.h"
#include "collectives/mpi/mpich.h"
#include "collectives/mpi/open_mpi.h"
#include "snapshot/rank_text.h"

namespace oddrank::collectives {
namespace {

using attach::KeptWord;
using cpython::RemoteReader;
using snapshot::CallKind;
using snapshot::CollectiveCall;
using snapshot::ProcessGroup;

constexpr std::size_t kMaxMpiFrames = 32;
constexpr std::size_t kMaxMpiThreads = 64;
constexpr std::string_view kWorldName = "MPI_COMM_WORLD";
constexpr std::string_view kBackend = "mpi";

// Remembers what was found at each address.
class MpiObjects {
 public:
  MpiObjects(const attach::Target& target, RemoteReader& reader)
      : target_(target), reader_(reader), open_mpi_(reader) {}

  std::optional<MpiCommunicator> communicator(std::uint64_t at);
  std::optional<MpiRequest> request(const KeptWord& word);

 private:
  bool is_data(std::uint64_t at) const;

  const attach::Target& target_;
  RemoteReader& reader_;
  OpenMpiReader open_mpi_;
};

bool MpiObjects::is_data(std::uint64_t at) const {
  const attach::Mapping* mapping = target_.maps().find(Addr{at});
  return at % sizeof(std::uint64_t) == 0 && mapping != nullptr && mapping->writable;
}

std::optional<MpiCommunicator> MpiObjects::communicator(std::uint64_t at) {
  if (!is_data(at)) {
    return std::nullopt;
  }
  auto found = open_mpi_.communicator(Addr{at});
  return found ? found : read_mpich_communicator(reader_, Addr{at});
}

// A request may lie on the stack itself: then the word is the address of its class.
std::optional<MpiRequest> MpiObjects::request(const KeptWord& word) {
  auto found = is_data(word.value) ? open_mpi_.request(Addr{word.value}) : std::nullopt;
  return found || word.address == 0 ? found : open_mpi_.request(Addr{word.address});
}

// Keeps one value; none once there were two.
template <typename T>
class Only {
 public:
  void add(const T& value);
  std::optional<T> get() const { return several_ ? std::nullopt : value_; }
  bool any() const { return value_.has_value(); }

 private:
  std::optional<T> value_;
  bool several_ = false;
};

template <typename T>
void Only<T>::add(const T& value) {
  several_ = several_ || (value_ && *value_ != value);
  value_ = value;
}

struct FoundObjects {
  std::optional<MpiCommunicator> communicator;  // of a blocking collective
  std::optional<MpiRequest> request;            // that a wait or a transfer is for
};

// Returns the communicator in the registers of the outermost frame that has one.
std::optional<MpiCommunicator> from_registers(const MpiThread& thread, MpiObjects& objects) {
  for (std::size_t at = thread.frames.size(); at-- > 0;) {
    Only<MpiCommunicator> found;
    for (const KeptWord& word : thread.frames[at]) {
      const auto one = word.address == 0 ? objects.communicator(word.value) : std::nullopt;
      if (one) {
        found.add(*one);
      }
    }
    if (found.any()) {
      return found.get();
    }
  }
  return std::nullopt;
}

FoundObjects find_objects(const MpiThread& thread, MpiObjects& objects) {
  Only<MpiCommunicator> of_parts;  // of the transfers that a collective is made of
  Only<MpiRequest> in_registers;
  Only<MpiRequest> on_stack;
  for (const auto& frame : thread.frames) {
    for (const KeptWord& word : frame) {
      const auto request = objects.request(word);
      if (!request) {
        continue;
      }
      if (request->kind != MpiRequestKind::kCollective && request->tag < -1) {
        of_parts.add(request->communicator);
      } else {
        (word.address == 0 ? in_registers : on_stack).add(*request);
      }
    }
  }
  FoundObjects found;
  found.communicator = of_parts.any() ? of_parts.get() : from_registers(thread, objects);
  found.request = in_registers.any() ? in_registers.get() : on_stack.get();
  return found;
}

// Returns whether the communicator is one of the world that the process's rank is of.
bool is_of_job(const MpiCommunicator& communicator, const snapshot::ProcessCapture& process) {
  if (communicator.is_world) {
    return communicator.rank == process.rank &&
           (process.world_size < 0 || communicator.size == process.world_size);
  }
  const auto own = static_cast<std::size_t>(communicator.rank);
  return own < communicator.members.size() && communicator.members[own] == process.rank;
}

std::vector<std::int32_t> ranks_in(const MpiCommunicator& communicator,
                                   const snapshot::ProcessCapture& process) {
  const bool whole = communicator.is_world ||
                     (communicator.members.empty() && communicator.size == process.world_size &&
                      communicator.rank == process.rank);
  if (!whole) {
    return is_of_job(communicator, process) ? communicator.members : std::vector<std::int32_t>();
  }
  std::vector<std::int32_t> all(static_cast<std::size_t>(communicator.size));
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = static_cast<std::int32_t>(i);
  }
  return all;
}

class MpiCalls {
 public:
  MpiCalls(snapshot::Tables& tables, snapshot::ProcessCapture& process)
      : tables_(tables), process_(process) {}

  void set(const FoundObjects& found, snapshot::ThreadCapture& thread);

 private:
  // Returns the row of the communicator; null if its members are unknown.
  const ProcessGroup* row_of(const MpiCommunicator& communicator);

  snapshot::Tables& tables_;
  snapshot::ProcessCapture& process_;
};

const ProcessGroup* MpiCalls::row_of(const MpiCommunicator& communicator) {
  if (communicator.is_world && !is_of_job(communicator, process_)) {
    return nullptr;
  }
  const std::vector<std::int32_t> ranks = ranks_in(communicator, process_);
  if (ranks.empty()) {
    return nullptr;
  }
  const snapshot::StringId name =
      tables_.string(communicator.is_world ? std::string(kWorldName)
                                           : "MPI communicator " + std::to_string(communicator.id));
  const auto known = std::find_if(process_.groups.begin(), process_.groups.end(),
                                  [name](const ProcessGroup& group) { return group.name == name; });
  if (known != process_.groups.end()) {
    return &*known;
  }
  ProcessGroup& row = process_.groups.emplace_back();
  row.name = name;
  // Open MPI names a copy "MPI COMMUNICATOR 4 DUP FROM 0" until the program does.
  const bool named = !communicator.is_world && !communicator.name.starts_with("MPI COMMUNICATOR");
  row.label = tables_.string(named ? communicator.name : "");
  row.backend = tables_.string(kBackend);
  row.members = tables_.string(snapshot::rank_text(ranks));
  row.rank = communicator.rank;
  row.size = communicator.size;
  if (communicator.receives >= 0) {
    row.counters.push_back(
        {row.backend, -1, communicator.receives, -1, communicator.receives, true});
  }
  return &row;
}

void MpiCalls::set(const FoundObjects& found, snapshot::ThreadCapture& thread) {
  CollectiveCall call;
  const auto& request = found.request;
  const bool of_request = request && request->kind == MpiRequestKind::kCollective;
  // Without a request the kind says nothing.
  call.kind = of_request ? CallKind::kCollective : CallKind::kRendezvous;
  const auto& communicator = of_request ? std::optional(request->communicator) : found.communicator;
  const ProcessGroup* group = communicator ? row_of(*communicator) : nullptr;
  std::string evidence;
  if (group != nullptr) {
    call.group = group->name;
    call.label = group->label;
    call.members = group->members;
    evidence = "communicator " + communicator->name + " of " + std::to_string(communicator->size);
  }
  if (request && !of_request) {
    call.kind = request->kind == MpiRequestKind::kRecv ? CallKind::kRecv : CallKind::kSend;
    const auto ranks = ranks_in(request->communicator, process_);
    if (request->peer >= 0 && static_cast<std::size_t>(request->peer) < ranks.size() &&
        row_of(request->communicator) != nullptr) {
      call.peer = ranks[static_cast<std::size_t>(request->peer)];
      evidence += std::string(evidence.empty() ? "" : ", ") + "open request, tag " +
                  std::to_string(request->tag);
    }
  }
  if (group != nullptr || request) {
    call.evidence = tables_.string(evidence);
    thread.call = call;
  }
}

}  // namespace

bool is_mpi_module(std::string_view path) {
  const std::string_view name = base_name(path);
  return name.starts_with("libmpi.so") || name.starts_with("libmpi-") ||
         name.starts_with("libmpich") || name.starts_with("libpmpi") || name.starts_with("mca_");
}

void collect_mpi_calls(const attach::Target& target,
                       const std::vector<MpiThread>& threads,
                       snapshot::Tables& tables,
                       snapshot::ProcessCapture& process) {
  const snapshot::StringId backend = tables.string(kBackend);
  std::erase_if(process.groups, [backend](const ProcessGroup& group) {
    return group.backend == backend;  // of an earlier sample
  });
  RemoteReader reader(target);
  MpiObjects objects(target, reader);
  MpiCalls calls(tables, process);
  for (std::size_t i = 0; i < threads.size() && i < kMaxMpiThreads; ++i) {
    const auto row = std::find_if(process.threads.begin(), process.threads.end(),
                                  [&](const auto& thread) { return thread.tid == threads[i].tid; });
    if (row == process.threads.end() || threads[i].frames.size() > kMaxMpiFrames) {
      continue;
    }
    calls.set(find_objects(threads[i], objects), *row);
  }
}

}  // namespace oddrank::collectives
