#include "watch/rank_motion.h"

#include "tests/support/catch.h"

namespace oddrank::watch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A rank, sampled every ten seconds.
struct Rank {
  RankMotion::Time now{};
  RankMotion motion{now};
  RankSign sign;

  bool at(std::vector<std::uint64_t> places) {
    now += seconds(10);
    sign.frames_read = true;
    sign.places = std::move(places);
    return motion.add(sign, now);
  }
};

TEST_CASE("a rank moves if it is at a place that none of the last samples saw") {
  Rank rank;
  CHECK(rank.at({1}));
  CHECK(rank.at({2}));
  CHECK_FALSE(rank.at({1}));
  CHECK_FALSE(rank.at({2}));
  CHECK(rank.motion.quiet_for(rank.now) == seconds(20));
  CHECK(rank.motion.longest_quiet() == seconds(10));  // between two samples
  CHECK(rank.at({3}));
  CHECK(rank.motion.quiet_for(rank.now) == seconds(0));
  CHECK(rank.motion.longest_quiet() == seconds(30));
}

TEST_CASE("any of several threads counts") {
  Rank rank;
  CHECK(rank.at({1, 7}));
  CHECK(rank.at({1, 8}));
  CHECK_FALSE(rank.at({1, 7}));
}

TEST_CASE("a loop over many places stands still once they are all known") {
  Rank rank;
  for (std::uint64_t place = 0; place < 100; ++place) {
    CHECK(rank.at({place}));
  }
  for (std::uint64_t turn = 0; turn < 300; ++turn) {
    CHECK_FALSE(rank.at({turn % 100}));
  }
}

TEST_CASE("places of long ago are forgotten") {
  Rank rank;
  for (std::uint64_t place = 0; place < 10000; ++place) {
    CHECK(rank.at({place}));
  }
  CHECK(rank.at({0}));
}

TEST_CASE("a log that keeps changing is motion, unless a watcher writes there") {
  Rank rank;
  rank.sign.log_bytes = 1000;
  CHECK(rank.at({1}));
  CHECK_FALSE(rank.at({1}));
  rank.sign.log_bytes = 1001;  // one line may be any process's
  CHECK_FALSE(rank.at({1}));
  CHECK_FALSE(rank.at({1}));
  rank.sign.log_bytes = 10;  // begun anew
  CHECK_FALSE(rank.at({1}));
  rank.sign.log_bytes = 2000;
  rank.sign.log_by_watcher = true;
  CHECK_FALSE(rank.at({1}));
  rank.sign.log_by_watcher = false;
  CHECK_FALSE(rank.at({1}));
  rank.sign.log_bytes = 2001;
  CHECK(rank.at({1}));
  rank.sign.log_bytes = 2002;  // a new quiet time
  CHECK_FALSE(rank.at({1}));
}

TEST_CASE("a checkpoint that is being written is motion, a line of metrics is not") {
  Rank rank;
  CHECK(rank.at({1}));
  rank.sign.stored_bytes += 4096;
  CHECK_FALSE(rank.at({1}));
  rank.sign.stored_bytes += std::uint64_t{100} << 20;
  CHECK(rank.at({1}));
  CHECK_FALSE(rank.at({1}));
}

TEST_CASE("counts of launches show motion within a quiet time") {
  Rank rank;
  CHECK(rank.at({1}));
  rank.sign.launches = 7;
  CHECK_FALSE(rank.at({1}));  // the first sample of them in this quiet time
  CHECK_FALSE(rank.at({1}));
  rank.sign.launches = 9;
  CHECK(rank.at({1}));
  rank.sign.launches.reset();  // not sampled
  CHECK_FALSE(rank.at({1}));
  rank.sign.launches = 10;  // in one call that goes on and on
  CHECK(rank.at({1}));
  CHECK_FALSE(rank.at({1}));
  rank.sign.launches.reset();
  CHECK(rank.at({2}));
  rank.sign.launches = 500;  // launched before this quiet time, for all that is known
  CHECK_FALSE(rank.at({2}));
  CHECK_FALSE(rank.at({2}));
}

TEST_CASE("counts of the process groups show motion within a quiet time, too") {
  Rank rank;
  CHECK(rank.at({1}));
  rank.sign.calls = 7;
  rank.sign.launches = 7;
  CHECK_FALSE(rank.at({1}));  // the first sample of them in this quiet time
  rank.sign.calls = 8;
  CHECK(rank.at({1}));
  rank.sign.launches.reset();  // one source could not be read this time
  CHECK_FALSE(rank.at({1}));
  rank.sign.calls.reset();
  CHECK_FALSE(rank.at({1}));
  rank.sign.calls = 9;
  CHECK(rank.at({1}));
}

TEST_CASE("a sample without frames says nothing about places") {
  Rank rank;
  rank.now += seconds(10);
  CHECK_FALSE(rank.motion.add(rank.sign, rank.now));
  CHECK(rank.motion.quiet_for(rank.now) == seconds(10));
}

TEST_CASE("a sign travels as text") {
  RankSign sign;
  sign.pid = 4711;
  sign.rank = 3;
  sign.trouble = "no";
  sign.state = 'D';
  sign.switches = ~std::uint64_t{0};
  sign.frames_read = true;
  sign.places = {1, 2, ~std::uint64_t{0}};
  sign.where = "read_shard (train.py:75) < <module> (a\nb.py:1)";
  sign.backends = "cpu:gloo,cuda:nccl";
  sign.group_timeout_s = 5400;
  sign.stored_bytes = 5;
  sign.log_bytes = 6;
  sign.log_by_watcher = true;
  SECTION("with counts") {
    sign.launches = ~std::uint64_t{0};
    sign.calls = 12;
  }
  SECTION("without") {}
  const std::string text = encode_sign(sign);
  const auto back = decode_sign(text);
  REQUIRE(back);
  CHECK(back->pid == 4711);
  CHECK(back->rank == 3);
  CHECK_FALSE(back->gone);
  CHECK(back->trouble == "no");
  CHECK(back->state == 'D');
  CHECK(back->switches == sign.switches);
  CHECK(back->frames_read);
  CHECK(back->places == sign.places);
  CHECK(back->where == sign.where);
  CHECK(back->backends == sign.backends);
  CHECK(back->group_timeout_s == 5400);
  CHECK(back->stored_bytes == 5);
  CHECK(back->log_bytes == 6);
  CHECK(back->log_by_watcher);
  CHECK(back->launches == sign.launches);
  CHECK(back->calls == sign.calls);
  for (std::size_t length = 0; length < text.size(); ++length) {
    CHECK_FALSE(decode_sign(std::string_view(text).substr(0, length)));
  }
}

}  // namespace
}  // namespace oddrank::watch
