// Caches the words of collectives: all members of a group are in the same call, and each rank's
// words are needed several times.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>

#include "snapshot/collective_call.h"
#include "snapshot/intern_table.h"

namespace oddrank::aggregate {

class CallWords {
 public:
  // Returns make(), or its earlier result for an equal call (equal but for the evidence).
  template <typename Make>
  const std::string& of(snapshot::CollectiveCall call, const Make& make);

 private:
  struct Hash {
    std::size_t operator()(const snapshot::CollectiveCall& call) const;
  };

  std::unordered_map<snapshot::CollectiveCall, std::string, Hash> words_;
};

template <typename Make>
const std::string& CallWords::of(snapshot::CollectiveCall call, const Make& make) {
  call.evidence = {};
  const auto at = words_.find(call);
  return at != words_.end() ? at->second : words_.emplace(call, make()).first->second;
}

inline std::size_t CallWords::Hash::operator()(const snapshot::CollectiveCall& call) const {
  std::size_t hash =
      snapshot::hash_mix(static_cast<std::size_t>(call.op), static_cast<std::size_t>(call.members));
  hash = snapshot::hash_mix(hash, static_cast<std::size_t>(call.group));
  hash = snapshot::hash_mix(hash, static_cast<std::size_t>(call.label));
  hash = snapshot::hash_mix(hash, static_cast<std::size_t>(call.sequence));
  return snapshot::hash_mix(hash, static_cast<std::size_t>(call.root));
}

}  // namespace oddrank::aggregate
