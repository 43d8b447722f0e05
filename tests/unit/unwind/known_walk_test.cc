#include "unwind/known_walk.h"

#include <cstring>

#include "tests/support/catch.h"

namespace oddrank::unwind {
namespace {

constexpr std::uint64_t kTop = 0x1000;  // bytes of a stack
constexpr std::uint64_t kFirst = 0x7f0000000000;
constexpr std::uint64_t kSecond = 0x7f0000801000;
constexpr std::uint64_t kReturn = 0x400123;

NativeStack two_frames() {
  NativeStack stack;
  stack.frames.push_back({0x400010, kFirst + 16});
  stack.frames.push_back({kReturn, kFirst + 64});
  stack.end = snapshot::StackEnd::kComplete;
  return stack;
}

// A walk that read a saved frame pointer and a return address.
KnownWalk walk_of(std::uint64_t pointer) {
  auto walk = KnownWalk::of(two_frames(), kFirst, kFirst + kTop,
                            {{kFirst, pointer}, {kFirst + 8, kReturn}});
  REQUIRE(walk);
  return *walk;
}

std::optional<NativeStack> at_second(const KnownWalk& walk, std::vector<std::uint64_t> words) {
  return walk.of_thread(kSecond, std::as_bytes(std::span(words)));
}

TEST_CASE("known_walk: the same words at another stack pointer give the same frames there") {
  const KnownWalk walk = walk_of(kFirst + 48);
  CHECK(walk.bytes() == 16);
  const auto stack = at_second(walk, {kSecond + 48, kReturn});
  REQUIRE(stack);
  CHECK(stack->frames[1].pc == kReturn);
  CHECK(stack->frames[0].cfa == kSecond + 16);
  CHECK(stack->frames[1].cfa == kSecond + 64);
}

TEST_CASE("known_walk: another return address is another stack") {
  CHECK_FALSE(at_second(walk_of(kFirst + 48), {kSecond + 48, kReturn + 1}));
}

TEST_CASE("known_walk: a pointer to another place of the own stack is another stack") {
  CHECK_FALSE(at_second(walk_of(kFirst + 48), {kSecond + 56, kReturn}));
}

TEST_CASE("known_walk: a pointer to the first thread's stack is another stack") {
  CHECK_FALSE(at_second(walk_of(kFirst + 48), {kFirst + 48, kReturn}));
}

TEST_CASE("known_walk: a pointer elsewhere must be the same, not at the same distance") {
  const KnownWalk walk = walk_of(kFirst + kTop);  // the end is not in the stack
  CHECK(at_second(walk, {kFirst + kTop, kReturn}));
  CHECK_FALSE(at_second(walk, {kSecond + kTop, kReturn}));
}

TEST_CASE("known_walk: words that lie far apart are pieces of their own") {
  const auto walk = KnownWalk::of(two_frames(), kFirst, kFirst + kTop,
                                  {{kFirst + 8, kReturn}, {kFirst + 2048, 7}});
  REQUIRE(walk);
  REQUIRE(walk->pieces().size() == 2);
  CHECK(walk->pieces()[0].offset == 8);
  CHECK(walk->pieces()[1].offset == 2048);
  CHECK(at_second(*walk, {kReturn, 7}));
  CHECK_FALSE(at_second(*walk, {kReturn, 8}));
  CHECK_FALSE(at_second(*walk, {kReturn}));
}

TEST_CASE("known_walk: words that are spread over too many pieces are not worth it") {
  std::vector<KnownWalk::Word> words;
  for (std::uint64_t i = 0; i < 200; ++i) {
    words.push_back({kFirst + i * 1024, i});
  }
  CHECK_FALSE(KnownWalk::of(two_frames(), kFirst, kFirst + 200 * 1024, words));
}

}  // namespace
}  // namespace oddrank::unwind
