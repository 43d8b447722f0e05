// The stores of the job at which clients wait (snapshot::StoreKey): for which keys, which ranks are
// seen to wait for each, and which rank has to set it (evidence/store_keys.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

struct AwaitedKey {
  std::string key;                    // with all prefixes
  std::uint32_t clients = 0;          // that wait for it, says the store
  std::vector<std::int32_t> waiters;  // ranks that are seen to wait for it, ascending; perhaps not
                                      // all
  std::optional<std::int32_t> owner;  // the rank that has to set it
};

struct StoreTable {
  std::string of;       // "rank 0 (n0, pid 7)", "the launcher of rank 0 (n0, pid 7)"
  std::size_t set = 0;  // keys that are set
  std::vector<AwaitedKey> awaited;
  std::size_t more = 0;  // awaited keys that are not in `awaited`
};

inline constexpr std::size_t kMaxShownKeys = 64;  // of a store

// Returns the stores that clients wait at. The first keys of each are from different families (keys
// that differ only in numbers).
std::vector<StoreTable> store_tables(const JobView& view);

inline constexpr std::size_t kMaxAwaitedKeys = 3;  // in a note

// Returns, for each store, "the store of rank 0 (n0, pid 7) has 12 keys; clients wait for
// run/ready/2 (4 clients: ranks 0-1,3)".
std::vector<std::string> store_notes(const std::vector<StoreTable>& tables);

}  // namespace oddrank::aggregate
