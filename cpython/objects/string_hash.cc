#include "cpython/objects/string_hash.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#include "cpython/remote_reader.h"

namespace oddrank::cpython {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);

// The state of SipHash (Aumasson and Bernstein, 2012).
class SipState {
 public:
  explicit SipState(HashKey key)
      : v0_(key.first ^ 0x736f6d6570736575),
        v1_(key.second ^ 0x646f72616e646f6d),
        v2_(key.first ^ 0x6c7967656e657261),
        v3_(key.second ^ 0x7465646279746573) {}

  void add(std::uint64_t word, int rounds);
  std::uint64_t finish(int rounds);

 private:
  void mix(int rounds);

  std::uint64_t v0_;
  std::uint64_t v1_;
  std::uint64_t v2_;
  std::uint64_t v3_;
};

void SipState::add(std::uint64_t word, int rounds) {
  v3_ ^= word;
  mix(rounds);
  v0_ ^= word;
}

std::uint64_t SipState::finish(int rounds) {
  v2_ ^= 0xff;
  mix(rounds);
  return v0_ ^ v1_ ^ v2_ ^ v3_;
}

void SipState::mix(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    v0_ += v1_;
    v1_ = std::rotl(v1_, 13) ^ v0_;
    v0_ = std::rotl(v0_, 32);
    v2_ += v3_;
    v3_ = std::rotl(v3_, 16) ^ v2_;
    v0_ += v3_;
    v3_ = std::rotl(v3_, 21) ^ v0_;
    v2_ += v1_;
    v1_ = std::rotl(v1_, 17) ^ v2_;
    v2_ = std::rotl(v2_, 32);
  }
}

// Returns up to eight bytes as a word, the first one lowest.
std::uint64_t word_of(std::string_view bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data(), bytes.size());
  return word;
}

}  // namespace

std::int64_t hash_of_string(std::string_view characters, HashKey key, HashRounds rounds) {
  if (characters.empty()) {
    return 0;  // whatever the key is
  }
  const bool few = rounds == HashRounds::kOneAndThree;
  const int for_each = few ? 1 : 2;
  SipState state(key);
  const std::uint64_t size = characters.size();
  for (; characters.size() >= kWord; characters.remove_prefix(kWord)) {
    state.add(word_of(characters.substr(0, kWord)), for_each);
  }
  state.add(size << 56U | word_of(characters), for_each);
  const auto hash = static_cast<std::int64_t>(state.finish(few ? 3 : 4));
  return hash == -1 ? -2 : hash;  // -1 is what says "not hashed yet"
}

void StringHasher::learn(RemoteReader& reader, std::string_view ascii, std::int64_t hash) {
  const attach::Addr secret = secret_;
  secret_ = {};
  const auto first = reader.value<std::uint64_t>(secret);
  const auto second = reader.value<std::uint64_t>(secret + kWord);
  if (secret == attach::Addr{} || !first || !second) {
    return;
  }
  key_ = {*first, *second};
  for (const HashRounds rounds : {HashRounds::kOneAndThree, HashRounds::kTwoAndFour}) {
    if (hash_of_string(ascii, key_, rounds) == hash) {
      rounds_ = rounds;
      return;
    }
  }
}

std::optional<std::int64_t> StringHasher::hash(std::string_view ascii) const {
  const bool plain = std::all_of(ascii.begin(), ascii.end(),
                                 [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (!rounds_ || !plain) {
    return std::nullopt;
  }
  return hash_of_string(ascii, key_, *rounds_);
}

}  // namespace oddrank::cpython
