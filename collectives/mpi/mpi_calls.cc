// A blocking collective is made of transfers whose requests name the communicator; the innermost
// request counts. Without such a request (shared memory, MPICH), the registers of the library's
// frames count, from the outermost inwards: functions of MPI need the communicator after the call
// that does the work, to report errors. A register counts only in the function that has changed it:
// otherwise its value is the program's, which may be any communicator. Words on the stack are
// trusted only for requests that are still open.
#include "collectives/mpi/mpi_calls.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "collectives/mpi/mpich.h"
#include "collectives/mpi/open_mpi.h"
#include "snapshot/rank_text.h"

namespace oddrank::collectives {
namespace {

using attach::PreservedValue;
using cpython::RemoteReader;
using snapshot::CallKind;
using snapshot::CollectiveCall;
using snapshot::ProcessGroup;

constexpr std::size_t kMaxMpiFrames = 32;
constexpr std::size_t kMaxMpiThreads = 64;
constexpr std::size_t kMaxMpiRequests = 64;    // of one thread
constexpr std::size_t kMaxPossiblePeers = 64;  // of a transfer: each is an edge of the graph
constexpr std::size_t kMaxMpichCommunicators = 1024;
constexpr std::int32_t kPartOfCollective = -2;  // a tag of the library's own
constexpr std::string_view kOpenMpiWindow = "ompi_win_t";
constexpr std::size_t kMaxWindowWords = 1 << 16;  // looked at for windows, in all threads
constexpr std::uint64_t kWindowBytes = 512;       // PREDEFINED_WIN_PAD; the modules are smaller
constexpr std::string_view kWorldName = "MPI_COMM_WORLD";
constexpr std::string_view kBackend = "mpi";

// Remembers what was found at each address.
class MpiObjects {
 public:
  MpiObjects(const attach::Target& target, RemoteReader& reader)
      : target_(target), reader_(reader), open_mpi_(reader) {}

  std::optional<MpiCommunicator> communicator(std::uint64_t at);
  // MPICH's requests name the communicator by its context: only those that were seen before are
  // known.
  std::optional<MpiRequest> request(const PreservedValue& word);
  // Returns the communicator of the window that this is.
  std::optional<MpiCommunicator> window(std::uint64_t at);
  std::optional<WindowLocks> locks(std::uint64_t at) {
    return is_data(at) ? open_mpi_.locks(Addr{at}) : std::nullopt;
  }
  std::optional<WindowLocks> mpich_locks(std::uint64_t at) {
    return is_data(at) ? read_mpich_locks(reader_, Addr{at}) : std::nullopt;
  }
  // Returns the open requests in an array of Open MPI's at this address.
  std::vector<MpiRequest> requests_at(std::uint64_t array);

 private:
  bool is_data(std::uint64_t at) const;
  std::optional<MpiRequest> mpich_request(std::uint64_t at);
  // Returns the first communicator that the words behind this address lead to, by way of exactly
  // `over` other objects.
  std::optional<MpiCommunicator> reached_from(std::uint64_t at, int over);

  const attach::Target& target_;
  RemoteReader& reader_;
  OpenMpiReader open_mpi_;
  std::size_t looked_at_ = 0;                         // words behind windows
  std::map<std::int64_t, MpiCommunicator> of_mpich_;  // by context
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
  if (!found) {
    found = read_mpich_communicator(reader_, Addr{at});
    if (found && of_mpich_.size() < kMaxMpichCommunicators) {
      of_mpich_.emplace(found->id, *found);
    }
  }
  return found;
}

std::optional<MpiRequest> MpiObjects::mpich_request(std::uint64_t at) {
  const auto read = read_mpich_request(reader_, Addr{at});
  if (!read) {
    return std::nullopt;
  }
  MpiRequest request;
  request.kind = read->kind;
  if (read->kind == MpiRequestKind::kCollective) {
    auto of_all = communicator(value_of(read->communicator));
    if (!of_all) {
      return std::nullopt;
    }
    request.communicator = *std::move(of_all);
    return request;
  }
  const auto known = of_mpich_.find(read->context);
  if (known == of_mpich_.end() || read->source >= known->second.size) {
    return std::nullopt;
  }
  request.communicator = known->second;
  request.communicator.receives = read->posted;
  request.peer = read->source;
  request.tag = read->of_collective ? kPartOfCollective : read->tag;
  return request;
}

// A request may lie on the stack itself: then the word is the address of its class.
std::optional<MpiRequest> MpiObjects::request(const PreservedValue& word) {
  auto found = is_data(word.value) ? open_mpi_.request(Addr{word.value}) : std::nullopt;
  if (!found && is_data(word.value)) {
    found = mpich_request(word.value);
  }
  return found || word.address == 0 ? found : open_mpi_.request(Addr{word.address});
}

std::vector<MpiRequest> MpiObjects::requests_at(std::uint64_t array) {
  std::vector<MpiRequest> open;
  for (std::size_t i = 0; i < kMaxMpiRequests && is_data(array); ++i, array += sizeof(array)) {
    const Addr object = reader_.pointer_or_null(Addr{array});
    if (!open_mpi_.class_of(object).ends_with("request_t")) {
      break;
    }
    if (auto request = open_mpi_.request(object)) {
      open.push_back(*std::move(request));
    }
  }
  return open;
}

// MPICH's has it itself, Open MPI's in the module that does the work, whose layout differs from one
// to the next.
std::optional<MpiCommunicator> MpiObjects::window(std::uint64_t at) {
  if (!is_data(at)) {
    return std::nullopt;
  }
  std::optional<MpiCommunicator> found;
  if (open_mpi_.class_of(Addr{at}) == kOpenMpiWindow) {
    found = reached_from(at, 1);
  } else if (is_mpich_window(reader_, Addr{at})) {
    found = reached_from(at, 0);
  }
  if (found) {  // the transfers in it say nothing about the window's locks and epochs
    found->receives = found->nonblocking = -1;
  }
  return found;
}

std::optional<MpiCommunicator> MpiObjects::reached_from(std::uint64_t at, int over) {
  for (std::uint64_t word = at; word < at + kWindowBytes; word += sizeof(word)) {
    if (++looked_at_ > kMaxWindowWords) {
      return std::nullopt;
    }
    const auto next = value_of(reader_.pointer_or_null(Addr{word}));
    if (next == at || !is_data(next)) {
      continue;
    }
    if (auto found = over > 0 ? reached_from(next, over - 1) : communicator(next)) {
      return found;
    }
  }
  return std::nullopt;
}

// Keeps one value; none once two different ones were added.
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
  // The requests that a wait or a transfer is for: one of these, or some.
  std::vector<MpiRequest> requests;
};

// Keeps the communicator of the transfers, if they all have the same one, and its count, if all say
// the same: MPICH's counts belong to single receives, and which of them a frame holds changes while
// it polls.
class PartsOfCollective {
 public:
  void add(MpiCommunicator communicator);
  bool any() const { return any_; }
  std::optional<MpiCommunicator> get() const;

 private:
  Only<MpiCommunicator> one_;
  Only<std::int64_t> receives_;
  bool any_ = false;
};

void PartsOfCollective::add(MpiCommunicator communicator) {
  any_ = true;
  if (communicator.receives >= 0) {
    receives_.add(communicator.receives);
  }
  communicator.receives = -1;
  one_.add(communicator);
}

std::optional<MpiCommunicator> PartsOfCollective::get() const {
  auto found = one_.get();
  if (found) {
    found->receives = receives_.get().value_or(-1);
  }
  return found;
}

// The count of the receives that a thread waits for: one count, or the newest of an array on the
// stack, which stays the same while they are open. Which other receives a frame holds changes while
// it polls.
class OpenReceives {
 public:
  void add(const PreservedValue& word, std::int64_t count);
  std::int64_t get() const;  // -1: unknown

 private:
  static constexpr std::uint64_t kArrayBytes = 128;
  Only<std::int64_t> one_;
  std::int64_t newest_ = -1;
  std::int64_t newest_elsewhere_ = -1;  // in registers
  std::uint64_t first_ = ~0ULL;
  std::uint64_t last_ = 0;
};

void OpenReceives::add(const PreservedValue& word, std::int64_t count) {
  if (count < 0) {
    return;
  }
  one_.add(count);
  if (word.address == 0) {
    newest_elsewhere_ = std::max(newest_elsewhere_, count);
    return;
  }
  newest_ = std::max(newest_, count);
  first_ = std::min(first_, word.address);
  last_ = std::max(last_, word.address);
}

std::int64_t OpenReceives::get() const {
  if (const auto one = one_.get()) {
    return *one;
  }
  const bool array = newest_ >= newest_elsewhere_ && last_ - first_ <= kArrayBytes;
  return array ? newest_ : -1;
}

void add_request(const MpiRequest& request, std::vector<MpiRequest>& all) {
  if (all.size() < kMaxMpiRequests && std::find(all.begin(), all.end(), request) == all.end()) {
    all.push_back(request);
  }
}

// Returns the object that the registers lead to, from the outermost frame whose registers lead to
// one; none if they lead to several. `read` returns an optional of what it finds at an address.
template <typename Read>
auto from_registers(const MpiThread& thread, const Read& read) -> decltype(read(0)) {
  using Object = typename decltype(read(0))::value_type;
  for (std::size_t at = thread.frames.size(); at-- > 0;) {
    Only<Object> found;
    for (const PreservedValue& word : thread.frames[at]) {
      const auto one = word.address == 0 ? read(word.value) : std::optional<Object>();
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

// Adds the requests of the array that the word leads to, if it leads to one.
void add_array(const PreservedValue& word,
               MpiObjects& objects,
               std::vector<MpiRequest>& in_array,
               OpenReceives& counts) {
  for (const MpiRequest& one : objects.requests_at(word.value)) {
    if (one.tag >= -1) {
      add_request(one, in_array);
      counts.add(word, one.communicator.receives);
    }
  }
}

// Returns the request for a lock of a window of MPICH's: a frame holds the window's record of the
// part and its communicator, at least on the stack.
std::optional<MpiRequest> mpich_lock(const MpiThread& thread, MpiObjects& objects) {
  for (const auto& frame : thread.frames) {
    Only<WindowLocks> locks;
    Only<MpiCommunicator> communicator;
    for (const PreservedValue& word : frame) {
      if (const auto wish = objects.mpich_locks(word.value)) {
        locks.add(*wish);
      } else if (const auto found = objects.communicator(word.value)) {
        communicator.add(*found);
      }
    }
    if (locks.get() && communicator.get() && locks.get()->wanted < communicator.get()->size) {
      MpiRequest request{MpiRequestKind::kOneSided, -1, -1, *communicator.get(), *locks.get()};
      request.communicator.nonblocking = -1;
      return request;
    }
  }
  return std::nullopt;
}

FoundObjects find_objects(const MpiThread& thread, MpiObjects& objects) {
  PartsOfCollective of_parts;
  OpenReceives counts;
  std::vector<MpiRequest> in_registers;
  std::vector<MpiRequest> on_stack;
  std::vector<MpiRequest> in_array;  // that a frame leads to
  for (const auto& frame : thread.frames) {
    for (const PreservedValue& word : frame) {
      objects.communicator(word.value);  // MPICH's communicators must be known before its requests
    }
  }
  for (const auto& frame : thread.frames) {
    for (const PreservedValue& word : frame) {
      const auto request = objects.request(word);
      if (!request) {
        add_array(word, objects, in_array, counts);
        continue;
      }
      if (request->kind != MpiRequestKind::kCollective && request->tag < -1) {
        of_parts.add(request->communicator);
      } else {
        add_request(*request, word.address == 0 ? in_registers : on_stack);
        counts.add(word, request->communicator.receives);
      }
    }
  }
  FoundObjects found;
  const std::int64_t receives = counts.get();
  found.requests = std::move(!in_registers.empty() ? in_registers
                             : !in_array.empty()   ? in_array
                                                   : on_stack);
  const auto communicator = [&objects](std::uint64_t at) { return objects.communicator(at); };
  found.communicator = of_parts.any() ? of_parts.get() : from_registers(thread, communicator);
  const auto window_at = [&objects](std::uint64_t at) { return objects.window(at); };
  const auto window = found.requests.empty() ? from_registers(thread, window_at) : std::nullopt;
  if (window) {
    const auto locks_at = [&objects](std::uint64_t at) { return objects.locks(at); };
    found.requests.push_back({MpiRequestKind::kOneSided, -1, -1, *window,
                              from_registers(thread, locks_at).value_or(WindowLocks())});
  } else if (found.requests.empty() && !found.communicator) {
    if (const auto lock = mpich_lock(thread, objects)) {
      found.requests.push_back(*lock);
    }
  }
  for (MpiRequest& request : found.requests) {
    request.communicator.receives = receives;
  }
  return found;
}

// Returns whether the communicator belongs to the world in which the process has its rank.
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
  std::string set_locks(const MpiRequest& request, CollectiveCall& call);
  // Sets the other side of the open requests. Returns them as evidence; "" if no side is known.
  std::string set_transfers(const std::vector<MpiRequest>& requests, CollectiveCall& call);
  std::vector<std::int32_t> other_sides(const std::vector<MpiRequest>& requests);
  // Returns the row of the communicator; null if its members are unknown.
  const ProcessGroup* row_of(const MpiCommunicator& communicator);

  snapshot::Tables& tables_;
  snapshot::ProcessCapture& process_;
};

// Both counts are mixed: neither is the number of a call.
void count_calls(const MpiCommunicator& communicator, ProcessGroup& row) {
  if (communicator.receives < 0 && communicator.nonblocking < 0) {
    return;
  }
  if (row.counters.empty()) {
    row.counters.push_back({row.backend, -1, -1, -1, -1, true});
  }
  snapshot::GroupCounter& counter = row.counters.front();
  if (communicator.receives >= 0) {
    counter.transfers = counter.transfers_before = communicator.receives;
  }
  if (communicator.nonblocking >= 0) {
    counter.collectives = counter.collectives_before = communicator.nonblocking;
  }
}

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
    count_calls(communicator, *known);
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
  count_calls(communicator, row);
  return &row;
}

// Returns the ranks of the job that may be the other sides of the requests; none if a request's is
// unknown.
std::vector<std::int32_t> MpiCalls::other_sides(const std::vector<MpiRequest>& requests) {
  std::vector<std::int32_t> sides;
  for (const MpiRequest& request : requests) {
    const auto ranks = ranks_in(request.communicator, process_);
    const auto place = static_cast<std::size_t>(request.peer);
    if (row_of(request.communicator) == nullptr || ranks.size() > kMaxPossiblePeers ||
        request.peer >= static_cast<std::int32_t>(ranks.size()) ||
        (request.peer < 0 && request.kind == MpiRequestKind::kSend)) {
      return {};
    }
    if (request.peer >= 0) {
      sides.push_back(ranks[place]);
    } else {  // from any
      sides.insert(sides.end(), ranks.begin(), ranks.end());
    }
  }
  std::sort(sides.begin(), sides.end());
  sides.erase(std::unique(sides.begin(), sides.end()), sides.end());
  if (sides.size() > 1) {
    std::erase(sides, process_.rank);
  }
  return sides;
}

// Returns the evidence. The window's members are known.
std::string MpiCalls::set_locks(const MpiRequest& request, CollectiveCall& call) {
  const auto ranks = ranks_in(request.communicator, process_);
  const auto rank_at = [&ranks](std::int32_t place) {
    const auto at = static_cast<std::size_t>(place);
    return at < ranks.size() ? ranks[at] : -1;
  };
  std::string evidence = "of a window";
  call.wants_window = rank_at(request.locks.wanted);
  std::vector<std::int32_t> had;
  for (const std::int32_t place : request.locks.had) {
    if (rank_at(place) >= 0) {
      had.push_back(rank_at(place));
    }
  }
  std::sort(had.begin(), had.end());
  had.erase(std::unique(had.begin(), had.end()), had.end());
  if (!had.empty()) {
    const std::string text = snapshot::rank_text(had);
    call.has_windows = tables_.string(text);
    evidence +=
        (had.size() == 1 ? ", has locked that of rank " : ", has locked those of ranks ") + text;
  }
  return evidence;
}

std::string MpiCalls::set_transfers(const std::vector<MpiRequest>& requests, CollectiveCall& call) {
  const MpiCommunicator& first = requests.front().communicator;
  const bool of_one = std::all_of(
      requests.begin(), requests.end(),
      [&first](const MpiRequest& request) { return request.communicator.id == first.id; });
  if (const ProcessGroup* row = of_one ? row_of(first) : nullptr) {
    call.group = row->name;
    call.label = row->label;
    call.members = row->members;
  }
  const bool sends = std::all_of(requests.begin(), requests.end(), [](const MpiRequest& request) {
    return request.kind == MpiRequestKind::kSend;
  });
  call.kind = sends ? CallKind::kSend : CallKind::kRecv;
  const bool one = requests.size() == 1;
  call.tag = one ? std::max(requests.front().tag, -1) : -1;
  const bool is_window = requests.front().kind == MpiRequestKind::kOneSided;
  const auto sides = other_sides(requests);
  if (sides.size() == 1) {
    call.peer = sides.front();
  } else if (!sides.empty()) {
    call.peers = tables_.string(snapshot::rank_text(sides));
  }
  std::string evidence;
  if (!sides.empty()) {
    evidence = is_window ? set_locks(requests.front(), call)
               : one     ? "open request, tag " + std::to_string(requests.front().tag)
                         : std::to_string(requests.size()) + " open requests";
  }
  if (is_window) {  // a row without counts would hide an earlier sample's counts
    erase_if(process_.groups, [&call](const ProcessGroup& row) {
      return row.name == call.group && row.counters.empty();
    });
  }
  return evidence;
}

void MpiCalls::set(const FoundObjects& found, snapshot::ThreadCapture& thread) {
  CollectiveCall call;
  const bool one = found.requests.size() == 1;
  const bool of_request = one && found.requests.front().kind == MpiRequestKind::kCollective;
  const bool transfers =
      !found.requests.empty() &&
      std::none_of(found.requests.begin(), found.requests.end(), [](const MpiRequest& request) {
        return request.kind == MpiRequestKind::kCollective;
      });
  // Without a request the kind says nothing.
  call.kind = of_request ? CallKind::kCollective : CallKind::kRendezvous;
  const auto& communicator =
      of_request ? std::optional(found.requests.front().communicator) : found.communicator;
  const ProcessGroup* group = communicator ? row_of(*communicator) : nullptr;
  std::string evidence;
  if (group != nullptr) {
    call.group = group->name;
    call.label = group->label;
    call.members = group->members;
    evidence = "communicator " + communicator->name + " of " + std::to_string(communicator->size);
  }
  if (transfers) {
    const std::string open = set_transfers(found.requests, call);
    evidence += (evidence.empty() || open.empty() ? "" : ", ") + open;
  }
  if (group != nullptr || transfers) {
    call.evidence = tables_.string(evidence);
    thread.call = call;
  }
}

}  // namespace

void collect_mpi_calls(const attach::Target& target,
                       const std::vector<MpiThread>& threads,
                       snapshot::Tables& tables,
                       snapshot::ProcessCapture& process) {
  const snapshot::StringId backend = tables.string(kBackend);
  erase_if(process.groups, [backend](const ProcessGroup& group) {
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
