#include "collectives/mpi/open_mpi.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "base/machine.h"

namespace oddrank::collectives {

// The members of a communicator that are read; a mutex of the C library is before them.
struct OpenMpiReader::Layout {
  std::uint64_t name;
  bool name_inside;  // the text itself, not a pointer to it
  std::uint64_t id;  // followed by the rank
  std::uint64_t group;
  std::uint64_t peer;  // of a transfer's request; the tag and the process follow
};

namespace {

constexpr std::string_view kCommunicator = "ompi_communicator_t";
constexpr std::string_view kGroup = "ompi_group_t";
constexpr std::string_view kProcess = "ompi_proc_t";
constexpr std::string_view kTransfers = "mca_pml_ob1_comm_t";
constexpr std::string_view kReceive = "mca_pml_ob1_recv_request_t";
constexpr std::string_view kSend = "mca_pml_ob1_send_request_t";
// Requests of non-blocking collectives, before and since 4.1.
constexpr std::array<std::string_view, 2> kNonBlocking = {"ompi_coll_libnbc_request_t",
                                                          "ompi_coll_base_nbc_request_t"};

constexpr std::size_t kClassNameBytes = 48;
constexpr std::size_t kNameBytes = 64;  // MPI_MAX_OBJECT_NAME
constexpr std::uint64_t kWord = 8;

// The same in both layouts.
constexpr std::uint64_t kGroupSize = 16;  // followed by the rank
constexpr std::uint64_t kGroupProcesses = 32;
constexpr std::uint64_t kProcessName = 40;  // job, rank in it
constexpr std::uint64_t kRequestEnd = 88;   // null: it is not complete
constexpr std::uint64_t kRequestState = 96;
constexpr std::uint64_t kRequestObject = 152;
constexpr std::int32_t kActive = 2;
constexpr std::uint64_t kPosted = 16;              // of the transfers' part of a communicator
constexpr std::uint64_t kCommunicatorBytes = 512;  // PREDEFINED_COMMUNICATOR_PAD

constexpr std::string_view kWindowLock = "ompi_osc_rdma_sync_t";
constexpr std::int32_t kOfLock = 1;     // the object's type: others are for fences and epochs
constexpr std::int16_t kExclusive = 1;  // MPI_LOCK_EXCLUSIVE
constexpr std::uint64_t kModuleWords = 256;
// Rows of a module's table of the locks it holds, by rank; large communicators have another kind of
// table.
constexpr std::uint64_t kMaxLocks = 64;

bool is_plausible(Addr at) {
  return value_of(at) >= 4096 && value_of(at) % kWord == 0;
}

// Returns the text up to its end; "" if it has none, or is not plain.
template <std::size_t kSize>
std::string plain_text(const std::array<char, kSize>& bytes) {
  const auto* const end = std::find(bytes.begin(), bytes.end(), '\0');
  const bool plain = std::all_of(bytes.begin(), end, [](char c) { return c >= ' ' && c < 127; });
  return end == bytes.end() || !plain ? std::string() : std::string(bytes.begin(), end);
}

}  // namespace

// ompi_osc_rdma_sync_t of a lock, 4.1.
struct OpenMpiReader::LockObject {
  std::array<std::uint64_t, 2> head{};  // class, references
  Addr module{};
  std::int32_t type = 0;
  std::int32_t padding = 0;
  std::int32_t target = -1;
  std::int16_t how = 0;
  std::int16_t assertion = 0;
};

const OpenMpiReader::Layout& OpenMpiReader::old_layout() {
  static constexpr Layout kLayout = {160 + kMutexGrowth, true, 224 + kMutexGrowth,
                                     248 + kMutexGrowth, 472};  // 4.1
  return kLayout;
}

const OpenMpiReader::Layout& OpenMpiReader::new_layout() {
  static constexpr Layout kLayout = {160 + kMutexGrowth, false, 216 + kMutexGrowth,
                                     264 + kMutexGrowth, 488};  // 5.0
  return kLayout;
}

std::string OpenMpiReader::class_of(Addr object) {
  const Addr type = is_plausible(object) ? reader_.pointer_or_null(object) : Addr{};
  const Addr name = is_plausible(type) ? reader_.pointer_or_null(type) : Addr{};
  if (name == Addr{}) {
    return {};
  }
  const auto text = reader_.value<std::array<char, kClassNameBytes>>(name);
  return text ? plain_text(*text) : std::string();
}

const OpenMpiReader::Layout* OpenMpiReader::layout_of(Addr communicator) {
  for (const Layout* layout : {&old_layout(), &new_layout()}) {
    const Addr group = reader_.pointer_or_null(communicator + layout->group);
    if (class_of(group) != kGroup) {
      continue;
    }
    const auto rank = reader_.value<std::int32_t>(communicator + layout->id + 4);
    const auto in_group = reader_.value<std::int32_t>(group + kGroupSize + 4);
    if (rank && in_group && *rank == *in_group) {
      return layout;
    }
  }
  return nullptr;
}

std::string OpenMpiReader::name_of(Addr communicator, const Layout& layout) {
  Addr at = communicator + layout.name;
  if (!layout.name_inside) {
    at = reader_.pointer_or_null(at);
  }
  const auto text = at == Addr{} ? std::nullopt : reader_.value<std::array<char, kNameBytes>>(at);
  return text ? plain_text(*text) : std::string();
}

// A process that was never talked to has no object yet, but its name in the place of the pointer:
// an odd number.
std::optional<OpenMpiReader::ProcessName> OpenMpiReader::process_name(std::uint64_t word) {
  if (word % 2 == 0) {
    const Addr process{word};
    return class_of(process) == kProcess ? reader_.value<ProcessName>(process + kProcessName)
                                         : std::nullopt;
  }
  const std::uint64_t local = (word >> 1) & 0x7fff;
  const std::uint64_t family = (word >> 16) & 0xffff;
  return ProcessName{static_cast<std::uint32_t>(family << 16 | local),
                     static_cast<std::uint32_t>(word >> 32)};
}

// If there are processes of several jobs, the members are unknown.
std::vector<std::int32_t> OpenMpiReader::members_of(Addr group, std::int32_t size) {
  const Addr list = reader_.pointer_or_null(group + kGroupProcesses);
  std::vector<std::int32_t> members;
  std::uint32_t job = 0;
  for (std::int32_t i = 0; list != Addr{} && i < size; ++i) {
    const auto word = reader_.value<std::uint64_t>(list + static_cast<std::uint64_t>(i) * kWord);
    const auto name = word ? process_name(*word) : std::nullopt;
    if (!name || (i > 0 && name->job != job) ||
        name->rank >= static_cast<std::uint32_t>(kMaxMpiProcesses)) {
      return {};
    }
    job = name->job;
    members.push_back(static_cast<std::int32_t>(name->rank));
  }
  return members;
}

std::int64_t OpenMpiReader::receives_of(Addr communicator) {
  for (std::uint64_t at = 0; at < kCommunicatorBytes; at += kWord) {
    const Addr object = reader_.pointer_or_null(communicator + at);
    if (class_of(object) == kTransfers) {
      const auto posted = reader_.value<std::uint32_t>(object + kPosted);
      return posted ? std::int64_t{*posted} : -1;
    }
  }
  return -1;
}

std::optional<MpiCommunicator> OpenMpiReader::communicator(Addr object) {
  if (class_of(object) != kCommunicator) {
    return std::nullopt;
  }
  const Layout* layout = layout_of(object);
  if (layout == nullptr) {
    return std::nullopt;
  }
  const Addr group = reader_.pointer_or_null(object + layout->group);
  const auto remote = reader_.pointer(object + layout->group + kWord);
  const auto id = reader_.value<std::int32_t>(object + layout->id);
  const auto size = reader_.value<std::int32_t>(group + kGroupSize);
  const auto rank = reader_.value<std::int32_t>(group + kGroupSize + 4);
  // The groups of an intercommunicator differ.
  const bool fits = id && size && rank && remote == group && *id >= 0 && *rank >= 0 &&
                    *rank < *size && *size <= kMaxMpiProcesses;
  if (!fits) {
    return std::nullopt;
  }
  MpiCommunicator found;
  found.id = *id;
  found.name = name_of(object, *layout);
  found.is_world = *id == 0;
  found.rank = *rank;
  found.size = *size;
  found.members = found.is_world ? std::vector<std::int32_t>() : members_of(group, *size);
  found.receives = receives_of(object);
  return found;
}

std::optional<MpiRequest> OpenMpiReader::request(Addr object) {
  const std::string type = class_of(object);
  const bool transfer = type == kReceive || type == kSend;
  const bool collective =
      std::find(kNonBlocking.begin(), kNonBlocking.end(), type) != kNonBlocking.end();
  if (!transfer && !collective) {
    return std::nullopt;
  }
  const auto end = reader_.value<std::uint64_t>(object + kRequestEnd);
  const auto state = reader_.value<std::int32_t>(object + kRequestState);
  const Addr place = reader_.pointer_or_null(object + kRequestObject);
  auto communicator = this->communicator(place);
  // A thread that sleeps until it is complete leaves the address of its wait there; 1: complete.
  if (!end || *end == 1 || !state || *state != kActive || !communicator) {
    return std::nullopt;
  }
  MpiRequest found;
  found.kind = collective         ? MpiRequestKind::kCollective
               : type == kReceive ? MpiRequestKind::kRecv
                                  : MpiRequestKind::kSend;
  if (transfer) {
    const Layout& layout = *layout_of(place);
    const auto peer = reader_.value<std::int32_t>(object + layout.peer);
    const auto tag = reader_.value<std::int32_t>(object + layout.peer + 4);
    if (!peer || !tag || *peer < -1 || *peer >= communicator->size) {
      return std::nullopt;
    }
    found.peer = *peer;
    found.tag = *tag;
  }
  found.communicator = *std::move(communicator);
  return found;
}

std::optional<OpenMpiReader::LockObject> OpenMpiReader::lock_object(Addr object) {
  const auto read =
      class_of(object) == kWindowLock ? reader_.value<LockObject>(object) : std::nullopt;
  const bool fits =
      read && read->type == kOfLock && read->target >= 0 && is_plausible(read->module);
  return fits ? read : std::nullopt;
}

std::optional<WindowLocks> OpenMpiReader::locks(Addr object) {
  const auto wish = lock_object(object);
  if (!wish) {
    return std::nullopt;
  }
  WindowLocks found;
  found.wanted = wish->target;
  for (std::uint64_t word = 0; word < kModuleWords * kWord; word += kWord) {
    const Addr table = reader_.pointer_or_null(wish->module + word);
    for (std::uint64_t i = 0; is_plausible(table) && i < kMaxLocks; ++i) {
      const auto item = reader_.value<std::uint64_t>(table + i * kWord);
      if (!item) {
        break;
      }
      if (*item == value_of(object)) {
        found.wanted = -1;  // it is had: a flush, say
      }
      const auto had = lock_object(Addr{*item});
      if (had && had->module == wish->module && had->how == kExclusive) {
        found.had.push_back(had->target);
      }
    }
    if (!found.had.empty()) {
      break;
    }
  }
  return found;
}

}  // namespace oddrank::collectives
