// What the stores of the job hold (snapshot::StoreKey), asked for the rank that has to set a key.
//
// No store knows who has set a key. But a key may be one of a family in which each rank sets its
// own: run/ready/0, run/ready/1 and run/ready/3 are set, and run/ready/2 is not. So it is rank 2's
// if at least half of the ranks have set theirs, and no key of the family has a number that is no
// rank's. Keys that count steps look alike up to a point; their next one is higher than all that
// are set, and such a key is nobody's.
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

  // Returns the rank that has to set one of the keys, which a rank waits for: separated by ", ",
  // without prefixes. nullopt: it is not known, or several are to.
  std::optional<KeyOwner> owner_of(const std::string& keys);

 private:
  std::optional<KeyOwner> find_owner(std::string_view key) const;

  const JobView& view_;
  std::vector<std::string_view> set_;
  std::map<std::string, std::optional<KeyOwner>> known_;  // thousands of ranks ask for the same
};

}  // namespace oddrank::aggregate
