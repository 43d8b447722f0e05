#include "aggregate/setup_notes.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate/view/rank_set.h"
#include "base/few_notes.h"
#include "base/hostlist.h"
#include "base/printable.h"
#include "snapshot/variable.h"

namespace oddrank::aggregate {
namespace {

constexpr std::size_t kMaxValues = 3;
constexpr std::size_t kMaxShownValue = 80;

// Variables that all ranks of a job must agree on: they choose the algorithm, transport or wrapper
// of a collective, or the number of ranks. (NCCL's manual asks for equal values of NCCL_ALGO and
// NCCL_PROTO; with TORCH_DISTRIBUTED_DEBUG=DETAIL a rank does collectives that the others do not.)
// Interfaces are left out: nodes may rightly differ in them.
constexpr std::array<std::string_view, 12> kAgreed = {"WORLD_SIZE",
                                                      "MASTER_PORT",
                                                      "NCCL_ALGO",
                                                      "NCCL_PROTO",
                                                      "NCCL_P2P_DISABLE",
                                                      "NCCL_SHM_DISABLE",
                                                      "NCCL_IB_DISABLE",
                                                      "NCCL_NVLS_ENABLE",
                                                      "TORCH_DISTRIBUTED_DEBUG",
                                                      "TORCH_NCCL_ASYNC_ERROR_HANDLING",
                                                      "TORCH_NCCL_BLOCKING_WAIT",
                                                      "CUDA_LAUNCH_BLOCKING"};

// The ranks that have each value, by their places in the view.
using Values = std::map<std::string_view, std::vector<std::size_t>>;

// Returns "PyTorch 2.13.0", "NCCL_ALGO=Tree" or "no NCCL_ALGO".
std::string setup_words(bool variable, std::string_view name, std::string_view value) {
  const std::string shown_name = printable(name, kMaxShownValue);
  if (variable && value.empty()) {
    return "no " + shown_name;
  }
  return shown_name + (variable ? "=" : " ") + printable(value, kMaxShownValue);
}

class SetupComparison {
 public:
  explicit SetupComparison(const JobView& view);
  std::vector<std::string> notes() const;

 private:
  using Key = std::pair<bool, std::string_view>;  // whether it is a variable, and its name

  void find_nccl_versions();
  void add_rank(std::size_t at);
  std::string note_of(const Key& key, const Values& values) const;
  std::string who(const std::vector<std::size_t>& ranks) const;

  const JobView& view_;
  // By node and pid.
  std::map<std::pair<std::uint32_t, pid_t>, std::string_view> nccl_versions_;
  std::map<Key, Values> facts_;
};

SetupComparison::SetupComparison(const JobView& view) : view_(view) {
  find_nccl_versions();
  for (std::size_t at = 0; at < view.ranks().size(); ++at) {
    const RankView& rank = view.rank(at);
    // Each of several jobs may have its own set-up.
    if (rank.rank >= 0 && rank.process != nullptr && rank.process->is_rank &&
        rank.process->first_rank == 0) {
      add_rank(at);
    }
  }
}

void SetupComparison::add_rank(std::size_t at) {
  const snapshot::ProcessCapture& process = *view_.rank(at).process;
  const auto add = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) {
      facts_[{false, name}][value].push_back(at);
    }
  };
  add("Python", view_.text(process.python_version));
  for (const auto& [name, value] : process.setup) {
    add(view_.text(name), view_.text(value));
  }
  if (const auto nccl = nccl_versions_.find({process.node, process.pid});
      nccl != nccl_versions_.end()) {
    add("NCCL", nccl->second);
  }
  if (process.environment.empty()) {
    return;  // it could not be read
  }
  for (const std::string_view name : kAgreed) {
    if (process.replica != snapshot::StringId{} && name == "MASTER_PORT") {
      continue;  // each replica has a store of its own
    }
    const auto value = snapshot::variable_of(view_.capture().tables, process, name);
    facts_[{true, name}][value.value_or(std::string_view())].push_back(at);
  }
}

// Each process that says its communicators says the version, too.
void SetupComparison::find_nccl_versions() {
  for (const auto& communicator : view_.capture().collectives.ras) {
    for (const snapshot::RasRank& member : communicator.ranks) {
      if (member.pid > 0) {
        nccl_versions_[{communicator.node, member.pid}] = view_.text(communicator.version);
      }
    }
  }
}

// Returns "rank 3 (n1)".
std::string SetupComparison::who(const std::vector<std::size_t>& ranks) const {
  std::set<std::string> hosts;
  for (const std::size_t at : ranks) {
    if (!view_.rank(at).host.empty()) {
      hosts.insert(view_.rank(at).host);
    }
  }
  const std::string words = ranks_phrase(view_.numbers_of(ranks));
  return hosts.empty() || view_.nodes_expected() < 2
             ? words
             : fmt::format("{} ({})", words, compress_hosts({hosts.begin(), hosts.end()}));
}

std::string SetupComparison::note_of(const Key& key, const Values& values) const {
  if (values.size() < 2 || values.size() > kMaxValues) {
    return {};
  }
  std::vector<std::pair<std::string_view, const std::vector<std::size_t>*>> rows;
  std::size_t all = 0;
  for (const auto& [value, ranks] : values) {
    rows.emplace_back(value, &ranks);
    all += ranks.size();
  }
  std::ranges::stable_sort(
      rows, [](const auto& a, const auto& b) { return a.second->size() < b.second->size(); });
  // Most of them agree; else none is the odd one.
  const bool most = 2 * rows.back().second->size() > all;
  const std::string_view rest = rows.size() == 2 ? "all others" : "most";
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::vector<std::size_t>& ranks = *rows[i].second;
    const bool others = most && i + 1 == rows.size();
    parts.push_back(fmt::format("{} {} {}", others ? std::string(rest) : who(ranks),
                                !others && ranks.size() == 1 ? "has" : "have",
                                setup_words(key.first, key.second, rows[i].first)));
  }
  return fmt::format("the set-up differs: {}", fmt::join(parts, ", "));
}

std::vector<std::string> SetupComparison::notes() const {
  FewNotes found(kMaxSetupNotes, "differences of the set-up");
  for (const auto& [key, values] : facts_) {
    std::string note = note_of(key, values);
    if (!note.empty()) {
      found.add(std::move(note));
    }
  }
  return found.take();
}

}  // namespace

std::vector<std::string> setup_notes(const JobView& view) {
  return SetupComparison(view).notes();
}

}  // namespace oddrank::aggregate
