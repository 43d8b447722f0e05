#include "ranks/mpi_world.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "elf/symbol_address.h"
#include "snapshot/libraries/known_libraries.h"

namespace oddrank::ranks {
namespace {

using attach::Addr;
using attach::ReadRequest;
using attach::Target;

constexpr std::array<std::string_view, 1> kWorldPointer = {"ompi_mpi_comm_world_addr"};
constexpr std::array<std::string_view, 1> kGroupClass = {"ompi_group_t_class"};
// A predefined communicator has 512 bytes in all versions (PREDEFINED_COMMUNICATOR_PAD).
constexpr std::size_t kWordsOfCommunicator = 512 / sizeof(std::uint64_t);
constexpr std::uint64_t kLowestAddress = 4096;
constexpr std::int32_t kMaxWorld = 1 << 24;

// The head of an ompi_group_t.
struct GroupHead {
  std::uint64_t object_class = 0;
  std::int32_t references = 0;
  std::int32_t padding = 0;
  std::int32_t size = 0;
  std::int32_t rank = -1;
};

// Reads what each word of the communicator points to, if it is a pointer.
std::vector<GroupHead> read_pointed(const Target& target, Addr communicator) {
  std::array<std::uint64_t, kWordsOfCommunicator> words{};
  ReadRequest whole{communicator, std::as_writable_bytes(std::span(words)), 0};
  target.read_many(std::span(&whole, 1));
  std::vector<GroupHead> heads(kWordsOfCommunicator);
  std::vector<ReadRequest> requests;
  for (std::size_t i = 0; i < whole.got / sizeof(std::uint64_t); ++i) {
    if (words[i] >= kLowestAddress && words[i] % alignof(std::uint64_t) == 0) {
      requests.push_back({Addr{words[i]}, std::as_writable_bytes(std::span(&heads[i], 1)), 0});
    }
  }
  target.read_many(requests);
  return heads;
}

}  // namespace

std::optional<ReportedWorld> read_mpi_world(const Target& target, elf::ModuleMap& modules) {
  std::optional<ReportedWorld> world;
  for (const elf::Module& module : modules.modules()) {
    if (snapshot::library_of(module.path) != snapshot::Library::kMpi) {
      continue;
    }
    const Addr pointer =
        elf::symbol_address(target, modules, module, kWorldPointer, sizeof(std::uint64_t));
    const Addr group_class = elf::symbol_address(target, modules, module, kGroupClass, 0);
    if (pointer == Addr{} || group_class == Addr{}) {
      continue;
    }
    const auto communicator = attach::read_object<std::uint64_t>(target, pointer);
    if (!communicator) {
      continue;
    }
    for (const GroupHead& head : read_pointed(target, Addr{*communicator})) {
      if (Addr{head.object_class} != group_class) {
        continue;
      }
      const bool fits = head.rank >= 0 && head.rank < head.size && head.size <= kMaxWorld;
      // Its local and its remote group are the same.
      if (!fits || (world && (world->rank != head.rank || world->world_size != head.size))) {
        return std::nullopt;
      }
      world = ReportedWorld{ReportedBy::kMpi, head.rank, head.size, -1, "", false};
    }
  }
  return world && world->world_size > 1 ? world : std::nullopt;
}

}  // namespace oddrank::ranks
