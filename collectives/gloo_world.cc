#include "collectives/gloo_world.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "collectives/torch/cxx_object.h"
#include "cpython/remote_reader.h"
#include "snapshot/rank_text.h"

namespace oddrank::collectives {
namespace {

using snapshot::CallKind;
using snapshot::CollectiveCall;

constexpr std::size_t kMaxJaxThreads = 256;
constexpr std::size_t kMaxObjects = 8192;  // of one process, looked at
constexpr std::uint64_t kRankAt = 8;
constexpr std::uint64_t kSizeAt = 12;
constexpr std::uint64_t kContextAt = 8;  // in a communicator
constexpr std::string_view kCommunicatorClass = "N3xla3cpu16GlooCommunicatorE";
constexpr std::array<std::string_view, 2> kContextClasses = {"N4gloo10rendezvous7ContextE",
                                                             "N4gloo9transport3tcp7ContextE"};
constexpr std::string_view kName = "jax";

struct GlooContext {
  std::int32_t rank = -1;
  std::int32_t size = 0;

  bool operator==(const GlooContext&) const = default;
};

// Remembers what was found at each address: frames hold the same pointers again and again.
class ContextFinder {
 public:
  explicit ContextFinder(const attach::Target& target) : target_(target), reader_(target) {}

  std::optional<GlooContext> at(std::uint64_t address);

 private:
  bool is_data(std::uint64_t address) const;
  std::optional<GlooContext> read(std::uint64_t address);

  const attach::Target& target_;
  cpython::RemoteReader reader_;
  std::map<std::uint64_t, std::optional<GlooContext>> known_;
};

bool ContextFinder::is_data(std::uint64_t address) const {
  const attach::Mapping* mapping = target_.maps().find(Addr{address});
  return address % sizeof(std::uint64_t) == 0 && mapping != nullptr && mapping->writable;
}

std::optional<GlooContext> ContextFinder::read(std::uint64_t address) {
  std::string name = is_data(address) ? class_of(reader_, Addr{address}) : std::string();
  if (name == kCommunicatorClass) {
    address = value_of(reader_.pointer_or_null(Addr{address + kContextAt}));
    name = is_data(address) ? class_of(reader_, Addr{address}) : std::string();
  }
  if (std::find(kContextClasses.begin(), kContextClasses.end(), name) == kContextClasses.end()) {
    return std::nullopt;
  }
  const auto rank = reader_.value<std::int32_t>(Addr{address + kRankAt});
  const auto size = reader_.value<std::int32_t>(Addr{address + kSizeAt});
  if (!rank || !size || *rank < 0 || *rank >= *size ||
      static_cast<std::size_t>(*size) > snapshot::kMaxRanks) {
    return std::nullopt;
  }
  return GlooContext{*rank, *size};
}

std::optional<GlooContext> ContextFinder::at(std::uint64_t address) {
  const auto found = known_.find(address);
  if (found != known_.end()) {
    return found->second;
  }
  if (known_.size() >= kMaxObjects) {
    return std::nullopt;
  }
  return known_.emplace(address, read(address)).first->second;
}

std::string all_ranks(std::int32_t size) {
  std::vector<std::int32_t> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return snapshot::rank_text(ranks);
}

// What the contexts that a thread's frames hold say of it.
enum class Inside : std::uint8_t {
  kNothing = 0,
  kWorld,  // in contexts of the whole job alone
  kOther,  // in one of a part of it, or of another device
};

Inside look_at(const JaxThread& thread, const GlooContext& own, ContextFinder& finder) {
  Inside inside = Inside::kNothing;
  for (const auto& frame : thread.frames) {
    for (const attach::PreservedValue& word : frame) {
      const auto context = finder.at(word.value);
      if (context && *context != own) {
        return Inside::kOther;
      }
      inside = context ? Inside::kWorld : inside;
    }
  }
  return inside;
}

}  // namespace

void collect_gloo_world(const attach::Target& target,
                        const std::vector<JaxThread>& threads,
                        snapshot::Tables& tables,
                        snapshot::ProcessCapture& process) {
  ContextFinder finder(target);
  std::vector<pid_t> in_world;
  const GlooContext own{process.rank, process.world_size};
  for (std::size_t i = 0; i < threads.size() && i < kMaxJaxThreads; ++i) {
    const Inside inside = look_at(threads[i], own, finder);
    if (inside == Inside::kOther) {
      return;
    }
    if (inside == Inside::kWorld) {
      in_world.push_back(threads[i].tid);
    }
  }
  CollectiveCall call;
  call.kind = CallKind::kCollective;
  for (snapshot::ThreadCapture& thread : process.threads) {
    if (std::find(in_world.begin(), in_world.end(), thread.tid) == in_world.end()) {
      continue;
    }
    call.group = tables.string(kName);
    call.members = tables.string(all_ranks(own.size));
    call.evidence = tables.string("gloo's context: rank " + std::to_string(own.rank) + " of " +
                                  std::to_string(own.size));
    thread.call = call;
  }
}

}  // namespace oddrank::collectives
