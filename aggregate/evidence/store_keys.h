// Which rank has to set a key, by what the job's stores hold (snapshot::StoreKey).
//
// No store knows which rank has set a key. But a key may belong to a family in which each rank sets
// its own: run/ready/0, run/ready/1 and run/ready/3 are set, and run/ready/2 is not. So rank 2 has
// to set it, if at least half of the ranks have set theirs and every number in the family is a
// rank. Keys that count steps look similar, but the next one is higher than all that are set: it
// has no owner.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

struct KeyOwner {
  std::size_t rank = 0;           // index
  std::vector<std::int32_t> set;  // the ranks that have set theirs, ascending
};

class StoreKeys {
 public:
  // `view` must outlive it.
  explicit StoreKeys(const JobView& view);

  // Returns the rank that has to set one of the keys that a rank waits for (separated by ", ",
  // without prefixes). nullopt: unknown, or several ranks.
  std::optional<KeyOwner> owner_of(const std::string& keys);

 private:
  std::optional<KeyOwner> find_owner(std::string_view key) const;

  const JobView& view_;
  std::vector<std::string_view> set_;
  std::map<std::string, std::optional<KeyOwner>> known_;  // thousands of ranks ask for the same key
};

}  // namespace oddrank::aggregate
