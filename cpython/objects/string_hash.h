// The hash that a Python gives a str: with it a name is looked up in a dict as Python does, instead
// of reading the dict's keys one after the other.
//
// It is SipHash over the characters, with a key that each process draws when it starts
// (`_Py_HashSecret`, zero with PYTHONHASHSEED=0): with one round for each word and three at the end
// from 3.11 on, and two and four before that (Python/pyhash.c). A Python may be configured
// otherwise; so nothing is believed before a hash came out that the target had computed itself.
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

// Returns the hash of a str with these characters, each of one byte, as the object keeps it.
std::int64_t hash_of_string(std::string_view characters, HashKey key, HashRounds rounds);

// How one Python hashes; it is learnt from a str whose hash is known.
class StringHasher {
 public:
  // `secret` is the address of _Py_HashSecret; null if it is not known.
  explicit StringHasher(attach::Addr secret) : secret_(secret) {}

  // Returns whether learn() can still tell anything.
  bool may_learn() const { return secret_ != attach::Addr{}; }
  // Takes a str of ASCII characters, and the hash that its object has. Its first call decides.
  void learn(RemoteReader& reader, std::string_view ascii, std::int64_t hash);
  // Returns nullopt if it is not known how this Python hashes, and for other texts than ASCII.
  std::optional<std::int64_t> hash(std::string_view ascii) const;

 private:
  attach::Addr secret_{};  // null once it was read
  HashKey key_;
  std::optional<HashRounds> rounds_;
};

}  // namespace oddrank::cpython
