// The hash of a str in a target's Python. With it, a name is looked up in a dict as Python does,
// without reading the dict's keys one after the other.
//
// It is SipHash over the characters, with a key that each process draws when it starts
// (`_Py_HashSecret`, zero with PYTHONHASHSEED=0): from 3.11 on with one round for each word and
// three at the end, before that with two and four (Python/pyhash.c). A Python may be configured
// otherwise, so the method is used only after it has reproduced a hash that the target computed
// itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "attach/address.h"

namespace oddrank::cpython {

class RemoteReader;

struct HashKey {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
};

enum class HashRounds : std::uint8_t { kOneAndThree, kTwoAndFour };

// Returns the hash that a str of these one-byte characters keeps.
std::int64_t hash_of_string(std::string_view characters, HashKey key, HashRounds rounds);

// The hash function of one Python, learnt from a str whose hash is known.
class StringHasher {
 public:
  // `secret` is the address of _Py_HashSecret; null if it is not known.
  explicit StringHasher(attach::Addr secret) : secret_(secret) {}

  // Returns whether learn() has not been called yet, and the secret is known.
  bool may_learn() const { return secret_ != attach::Addr{}; }
  // Takes an ASCII str, and the hash in its object. Only the first call has an effect.
  void learn(RemoteReader& reader, std::string_view ascii, std::int64_t hash);
  // Returns nullopt if this Python's hash is unknown, or the text is not ASCII.
  std::optional<std::int64_t> hash(std::string_view ascii) const;

 private:
  attach::Addr secret_{};  // null once it was read
  HashKey key_;
  std::optional<HashRounds> rounds_;
};

}  // namespace oddrank::cpython
