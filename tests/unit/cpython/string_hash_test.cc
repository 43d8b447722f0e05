#include "cpython/objects/string_hash.h"

#include <string>

#include "cpython/remote_reader.h"
#include "tests/support/catch.h"
#include "tests/support/fake_target.h"

namespace oddrank::cpython {
namespace {

using attach::Addr;

constexpr Addr kSecret{0x10000};

struct SecretOnly {
  test::FakeTarget target;

  explicit SecretOnly(HashKey key) {
    std::vector<std::byte> bytes(2 * sizeof(std::uint64_t));
    std::memcpy(bytes.data(), &key.first, sizeof key.first);
    std::memcpy(bytes.data() + sizeof key.first, &key.second, sizeof key.second);
    target.add_memory(kSecret, std::move(bytes));
  }
};

}  // namespace

TEST_CASE("hashes are those of SipHash's authors", "[cpython]") {
  const HashKey key{0x0706050403020100, 0x0f0e0d0c0b0a0908};
  std::string text;
  for (char c = 0; c < 15; ++c) {
    text += c;
  }
  CHECK(static_cast<std::uint64_t>(hash_of_string(text, key, HashRounds::kTwoAndFour)) ==
        0xa129ca6149be45e5);
}

// What Python 3.10 and 3.11 print with PYTHONHASHSEED=0.
TEST_CASE("hashes are those of Python", "[cpython]") {
  const auto new_one = [](std::string_view text) {
    return hash_of_string(text, {}, HashRounds::kOneAndThree);
  };
  const auto old_one = [](std::string_view text) {
    return hash_of_string(text, {}, HashRounds::kTwoAndFour);
  };
  CHECK(new_one("") == 0);
  CHECK(new_one("a") == 4644417185603328019);
  CHECK(new_one("12345678") == 3785724242978802311);
  CHECK(new_one("threading") == -217255072549013292);
  CHECK(new_one("torch.distributed.distributed_c10d") == -5502366236670732316);
  CHECK(old_one("") == 0);
  CHECK(old_one("a") == -7583489610679606711);
  CHECK(old_one("12345678") == 6766637294834280856);
  CHECK(old_one("threading") == -5426013259031524831);
  CHECK(old_one("torch.distributed.distributed_c10d") == -2817915655241695754);
}

TEST_CASE("a hasher believes nothing before it has seen a hash come true", "[cpython]") {
  const HashKey key{1, 2};
  const SecretOnly scene(key);
  for (const HashRounds rounds : {HashRounds::kOneAndThree, HashRounds::kTwoAndFour}) {
    RemoteReader reader(scene.target);
    StringHasher hasher(kSecret);
    CHECK(hasher.may_learn());
    CHECK_FALSE(hasher.hash("name"));
    hasher.learn(reader, "sys", hash_of_string("sys", key, rounds));
    CHECK_FALSE(hasher.may_learn());
    CHECK(hasher.hash("name") == hash_of_string("name", key, rounds));
    CHECK_FALSE(hasher.hash("n\u00e4me"));
  }
}

TEST_CASE("a hasher stays silent if Python hashes otherwise, or its key cannot be read",
          "[cpython]") {
  const SecretOnly scene({1, 2});
  RemoteReader reader(scene.target);
  StringHasher other(kSecret);
  other.learn(reader, "sys", 4711);
  CHECK_FALSE(other.hash("name"));
  // What it could have learnt later does not count: the first str decided.
  other.learn(reader, "sys", hash_of_string("sys", {1, 2}, HashRounds::kOneAndThree));
  CHECK_FALSE(other.hash("name"));
  for (const Addr secret : {Addr{}, Addr{0x50000}, kSecret + 8}) {
    StringHasher blind(secret);
    blind.learn(reader, "sys", hash_of_string("sys", {}, HashRounds::kOneAndThree));
    CHECK_FALSE(blind.may_learn());
    CHECK_FALSE(blind.hash("name"));
  }
}

}  // namespace oddrank::cpython
