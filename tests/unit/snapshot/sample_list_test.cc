#include "snapshot/sample_list.h"

#include <algorithm>
#include <cstdint>

#include "tests/support/catch.h"

namespace oddrank::snapshot {
namespace {

ThreadSample used(std::uint64_t cpu_us) {
  return {.cpu_us = cpu_us, .state = 'S'};
}

TEST_CASE("equal samples are kept once") {
  SampleList samples(3, used(7));
  samples.push_back(used(7));
  CHECK(samples.size() == 4);
  CHECK(samples.stored().size() == 1);
  CHECK(std::count(samples.begin(), samples.end(), used(7)) == 4);
  samples.stored().front().cpu_us = 8;
  CHECK(samples == SampleList(4, used(8)));
}

TEST_CASE("samples that differ have a place each") {
  SampleList samples = {used(1), used(1), used(2)};
  samples.push_back(samples.back());
  REQUIRE(samples.stored().size() == 4);
  CHECK(samples.front() == used(1));
  CHECK(samples[1] == used(1));
  CHECK(samples[2] == used(2));
  CHECK(samples.back() == used(2));
}

TEST_CASE("a change to one sample leaves those that were equal to it") {
  SampleList samples(3, used(1));
  samples.edit(1).cpu_us = 5;
  CHECK(samples == SampleList{used(1), used(5), used(1)});
  samples.edit(1).cpu_us = 1;
  CHECK(samples == SampleList(3, used(1)));
  samples.emplace_back().cpu_us = 2;
  CHECK(samples.size() == 4);
  CHECK(samples.edit_back().cpu_us == 2);
}

TEST_CASE("a thread stands still since the sample after which it has not run") {
  CHECK(SampleList{used(1), used(2), used(2)}.still_since() == 1);
  CHECK(SampleList{used(1), used(2)}.still_since() == 1);
  CHECK(SampleList(3, used(1)).still_since() == 0);
  CHECK(SampleList().still_since() == 0);
  CHECK(ran_between(used(1), used(3)).cpu_us == 2);
  // Another thread has the number now: it ran, for an unknown time.
  CHECK(ran_between(used(3), used(1)).at_all);
  CHECK(ran_between(used(3), used(1)).cpu_us == 0);
}

TEST_CASE("a list without samples") {
  SampleList samples;
  CHECK(samples.empty());
  CHECK(samples.begin() == samples.end());
  CHECK(samples.stored().empty());
  samples.emplace_back().state = 'R';
  CHECK(samples.size() == 1);
  CHECK(samples.front().state == 'R');
  samples.clear();
  CHECK(samples == SampleList());
}

}  // namespace
}  // namespace oddrank::snapshot
