#include "aggregate/store_tables.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate/evidence/store_keys.h"
#include "aggregate/view/rank_set.h"
#include "aggregate/words/wait_words.h"
#include "base/ascii.h"
#include "base/printable.h"
#include "base/split.h"

namespace oddrank::aggregate {
namespace {

using snapshot::ProcessCapture;

constexpr std::size_t kMaxKeyColumns = 160;
constexpr std::size_t kMaxNotedColumns = 80;

// Returns the keys that clients wait for: first one of each family, which differs in numbers only.
std::vector<const snapshot::StoreKey*> awaited_keys(const JobView& view,
                                                    const ProcessCapture& process) {
  std::vector<const snapshot::StoreKey*> keys;
  for (const snapshot::StoreKey& key : process.store) {
    if (key.waiting != 0) {
      keys.push_back(&key);
    }
  }
  std::set<std::string> families;
  std::stable_partition(keys.begin(), keys.end(), [&](const snapshot::StoreKey* key) {
    std::string family(view.text(key->name));
    std::erase_if(family, is_digit);
    return families.insert(std::move(family)).second;
  });
  return keys;
}

// Calls `take` with each name by which a client may ask for the key: PrefixStore puts a prefix and
// '/' before it.
template <typename Take>
void each_name(std::string_view key, const Take& take) {
  take(key);
  for (std::size_t at = key.find('/'); at != std::string_view::npos; at = key.find('/', at + 1)) {
    if (at + 1 < key.size()) {
      take(key.substr(at + 1));
    }
  }
}

// Which ranks are seen to wait for a key.
class StoreWaiters {
 public:
  explicit StoreWaiters(const JobView& view);

  // Leaves out ranks that ask for a name that several keys may have.
  std::vector<std::int32_t> of(std::string_view key) const;

 private:
  void add_threads(const JobView& view, std::int32_t rank, const ProcessCapture& process);
  void count_key(std::string_view key);

  std::map<std::string_view, std::set<std::int32_t>> ranks_;  // by the name that they ask for
  std::map<std::string_view, std::size_t> keys_;              // awaited ones that may have the name
};

StoreWaiters::StoreWaiters(const JobView& view) {
  for (const RankView& rank : view.ranks()) {
    if (rank.rank < 0 || rank.process == nullptr) {
      continue;
    }
    add_threads(view, rank.rank, *rank.process);
    for (const ProcessCapture* child : rank.children) {
      add_threads(view, rank.rank, *child);
    }
  }
  for (const ProcessCapture& process : view.capture().processes) {
    for (const snapshot::StoreKey& key : process.store) {
      if (key.waiting != 0 && !ranks_.empty()) {
        count_key(view.text(key.name));
      }
    }
  }
}

void StoreWaiters::count_key(std::string_view key) {
  each_name(key, [this](std::string_view name) {
    if (ranks_.contains(name)) {
      ++keys_[name];
    }
  });
}

void StoreWaiters::add_threads(const JobView& view,
                               std::int32_t rank,
                               const ProcessCapture& process) {
  for (const snapshot::ThreadCapture& thread : process.threads) {
    if (thread.wait.rare->key == snapshot::StringId{}) {
      continue;
    }
    for (std::string_view name : split(view.text(thread.wait.rare->key), ',')) {
      name.remove_prefix(name.starts_with(' ') ? 1 : 0);
      ranks_[name].insert(rank);
    }
  }
}

std::vector<std::int32_t> StoreWaiters::of(std::string_view key) const {
  std::set<std::int32_t> ranks;
  each_name(key, [&](std::string_view name) {
    const auto keys = keys_.find(name);
    if (keys != keys_.end() && keys->second == 1) {
      const std::set<std::int32_t>& more = ranks_.at(name);
      ranks.insert(more.begin(), more.end());
    }
  });
  return {ranks.begin(), ranks.end()};
}

StoreTable table_of(const JobView& view,
                    const ProcessCapture& process,
                    const StoreWaiters& waiters,
                    StoreKeys& owners) {
  std::vector<const snapshot::StoreKey*> keys = awaited_keys(view, process);
  const bool own = std::ranges::any_of(process.threads, [&view](const auto& thread) {
    return view.text(thread.name).starts_with("pt_tcpstore");
  });
  StoreTable table;
  table.of = (own ? "" : "the launcher of ") + process_words(view, process);
  table.set = process.store.size() - keys.size();
  table.more = keys.size() - std::min(keys.size(), kMaxShownKeys);
  keys.resize(keys.size() - table.more);
  for (const snapshot::StoreKey* key : keys) {
    const std::string_view name = view.text(key->name);
    const auto owner = owners.owner_of(std::string(name));
    table.awaited.push_back({printable(name, kMaxKeyColumns), key->waiting, waiters.of(name),
                             owner ? std::optional(view.ranks()[owner->rank].rank) : std::nullopt});
  }
  return table;
}

std::string clients_words(const AwaitedKey& key) {
  return fmt::format("{} client{}{}", key.clients, key.clients == 1 ? "" : "s",
                     key.waiters.empty() ? "" : ": " + ranks_phrase(key.waiters));
}

}  // namespace

std::vector<StoreTable> store_tables(const JobView& view) {
  std::vector<StoreTable> tables;
  std::optional<StoreWaiters> waiters;
  std::optional<StoreKeys> owners;
  for (const ProcessCapture& process : view.capture().processes) {
    const bool awaited = std::ranges::any_of(
        process.store, [](const snapshot::StoreKey& key) { return key.waiting != 0; });
    if (!awaited) {
      continue;
    }
    if (!waiters) {
      waiters.emplace(view);
      owners.emplace(view);
    }
    tables.push_back(table_of(view, process, *waiters, *owners));
  }
  return tables;
}

std::vector<std::string> store_notes(const std::vector<StoreTable>& tables) {
  std::vector<std::string> notes;
  for (const StoreTable& table : tables) {
    std::vector<std::string> awaited;
    for (const AwaitedKey& key : table.awaited) {
      if (awaited.size() < kMaxAwaitedKeys) {
        awaited.push_back(
            fmt::format("{} ({})", printable(key.key, kMaxNotedColumns), clients_words(key)));
      }
    }
    const std::size_t more = table.awaited.size() - awaited.size() + table.more;
    notes.push_back(fmt::format("the store of {} has {} keys; clients wait for {}{}", table.of,
                                table.set, fmt::join(awaited, ", "),
                                more == 0 ? "" : fmt::format(" and {} more", more)));
  }
  return notes;
}

}  // namespace oddrank::aggregate
