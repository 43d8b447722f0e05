#include "node/collect/read_recorders.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "collectives/torch/recorder.h"
#include "collectives/torch/recorder_maps.h"
#include "collectives/torch/ring.h"
#include "node/collect/unnoted_ends.h"
#include "snapshot/flight_record.h"
#include "snapshot/libraries/known_libraries.h"
#include "snapshot/rank_text.h"

namespace oddrank::node {
namespace {

using attach::Addr;
using attach::Target;
using collectives::RecorderRequest;
using snapshot::FlightGroup;
using snapshot::FlightRecord;
using snapshot::ProcessGroup;

constexpr std::uint64_t kMaxSearched = std::uint64_t{8} << 20;  // of a library's variables
constexpr std::size_t kMaxCandidates = 65536;

// Addresses of recorders, and whether a symbol names them; else they only look like recorders.
using RecordersFound = std::map<Addr, bool>;

// Finds recorders in one library.
class LibraryRecorders {
 public:
  LibraryRecorders(const Target& target,
                   elf::ModuleMap& modules,
                   const std::vector<RecorderVariables>& known)
      : target_(target), reader_(target), modules_(modules), known_(known) {}

  // Adds the addresses of recorders.
  void search(const elf::Module& library, RecordersFound& found);

 private:
  RecorderVariables variables_of(const elf::ElfImage& image) const;
  void by_shape(const elf::ElfImage& image, std::uint64_t bias, RecordersFound& found);

  const Target& target_;
  cpython::RemoteReader reader_;
  elf::ModuleMap& modules_;
  const std::vector<RecorderVariables>& known_;
};

void LibraryRecorders::search(const elf::Module& library, RecordersFound& found) {
  const auto image = modules_.image_of(library);
  const auto bias = modules_.load_bias(library);
  if (!image || !bias) {
    return;
  }
  const RecorderVariables variables = variables_of(**image);
  for (const std::uint64_t address : variables.addresses) {
    const auto recorder = attach::read_object<std::uint64_t>(target_, Addr{*bias + address});
    if (recorder && *recorder != 0) {
      found.emplace(Addr{*recorder}, true);
    }
  }
  for (const std::uint64_t address : variables.registries) {
    for (const Addr recorder : collectives::registered_recorders(reader_, Addr{*bias + address})) {
      found.emplace(recorder, true);
    }
  }
  if (!variables.has_symbols) {
    by_shape(**image, *bias, found);
  }
}

RecorderVariables LibraryRecorders::variables_of(const elf::ElfImage& image) const {
  const auto known = std::find_if(
      known_.begin(), known_.end(),
      [&image](const RecorderVariables& library) { return library.build_id == image.build_id(); });
  return known == known_.end() ? find_recorder_variables(image) : *known;
}

void LibraryRecorders::by_shape(const elf::ElfImage& image,
                                std::uint64_t bias,
                                RecordersFound& found) {
  const auto section = image.section(".bss");
  if (!section || section->size > kMaxSearched) {
    return;
  }
  std::vector<std::uint64_t> words(section->size / sizeof(std::uint64_t));
  std::array<attach::ReadRequest, 1> request = {attach::ReadRequest{
      Addr{bias + section->address}, std::as_writable_bytes(std::span(words)), 0}};
  target_.read_many(request);
  words.resize(request.front().got / sizeof(std::uint64_t));
  std::vector<std::uint64_t> registered;
  for (std::size_t i = 0; i + collectives::kRegistryWords <= words.size(); ++i) {
    const auto map = std::span(words).subspan(i).first<collectives::kRegistryWords>();
    if (collectives::looks_like_registry(map)) {
      const Addr at{bias + section->address + i * sizeof(std::uint64_t)};
      for (const Addr recorder : collectives::registered_recorders(reader_, at)) {
        registered.push_back(value_of(recorder));
      }
    }
  }
  words.insert(words.end(), registered.begin(), registered.end());
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  std::vector<Addr> candidates;
  for (const std::uint64_t word : words) {
    constexpr std::uint64_t kLowest = 0x10000;
    if (word >= kLowest && word % 16 == 0 && word >> 47 == 0 &&
        candidates.size() < kMaxCandidates) {
      candidates.push_back(Addr{word});
    }
  }
  for (const Addr recorder : collectives::likely_recorders(target_, candidates)) {
    found.emplace(recorder, false);
  }
}

// Fills in what only Python's tables of groups tell: gloo's recorder has no members.
void add_members(const snapshot::ProcessCapture& process,
                 snapshot::Tables& tables,
                 FlightRecord& record) {
  for (FlightGroup& group : record.groups) {
    const auto known =
        std::find_if(process.groups.begin(), process.groups.end(),
                     [&group](const ProcessGroup& one) { return one.name == group.name; });
    if (group.members != snapshot::StringId{} || known == process.groups.end()) {
      continue;
    }
    std::vector<std::int32_t> ranks = snapshot::ranks_of(tables.text(known->members));
    if (known->is_default && known->size > 0) {
      ranks.resize(static_cast<std::size_t>(known->size));
      std::iota(ranks.begin(), ranks.end(), 0);
    }
    std::sort(ranks.begin(), ranks.end());
    group.members = tables.string(snapshot::rank_text(ranks));
  }
}

// Times are the largest part of a call in a capture, and nothing needs exact times of calls that
// have ended.
void drop_fractions(const snapshot::Tables& tables, FlightRecord& record) {
  constexpr std::int64_t kSecondNs = 1'000'000'000;
  for (snapshot::FlightEntry& entry : record.entries) {
    if (snapshot::has_ended(entry, tables)) {
      entry.created_ns -= entry.created_ns % kSecondNs;
    }
  }
}

}  // namespace

Result<FlightRecord> read_recorders(const Target& target,
                                    elf::ModuleMap& modules,
                                    cpython::PythonMemory* python,
                                    const snapshot::ProcessCapture& process,
                                    const RecordersWanted& wanted,
                                    snapshot::Tables& tables) {
  LibraryRecorders search(target, modules, wanted.known);
  RecordersFound found;
  for (const elf::Module& module : modules.modules()) {
    if (snapshot::library_of(module.path) == snapshot::Library::kTorch) {
      search.search(module, found);
    }
  }
  cpython::RemoteReader plain(target);
  cpython::RemoteReader& reader = python != nullptr ? *python : plain;
  std::vector<FlightRecord> records;
  std::string why;
  for (const auto& [recorder, named] : found) {
    RecorderRequest request;
    request.recorder = recorder;
    request.newest = wanted.newest;
    auto record = collectives::read_recorder(reader, python, request, tables);
    if (record) {
      records.push_back(*std::move(record));
    } else if (named && record.error().code != Errc::kNotFound) {
      why = record.error().what;
    }
  }
  records = collectives::join_recorders(std::move(records));
  if (records.empty()) {
    return why.empty() ? fail(Errc::kNotFound, "no flight recorder holds calls")
                       : fail(Errc::kBadData, why);
  }
  FlightRecord& record = records.front();
  record.rank = process.rank;
  record.pid = process.pid;
  add_members(process, tables, record);
  forget_unnoted_ends(process, tables, wanted.newest, record);
  if (wanted.newest != 0) {
    drop_fractions(tables, record);
  }
  return std::move(record);
}

}  // namespace oddrank::node
