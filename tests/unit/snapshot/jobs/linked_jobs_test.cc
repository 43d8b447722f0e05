// Jobs that work together, by their connections.
#include "snapshot/jobs/linked_jobs.h"

#include "tests/support/catch.h"

namespace oddrank::snapshot {
namespace {

TEST_CASE("jobs are linked by the two ends of a connection, over others as well") {
  const std::vector<std::string> jobs = {"a", "b", "c", "d"};
  const JobSets sets = linked_jobs(jobs, {{"a", "h:1", "h:2"},
                                          {"c", "h:2", "h:1"},
                                          {"c", "h:3", "h:4"},
                                          {"d", "h:4", "h:3"},
                                          {"b", "h:5", "h:6"},    // to somewhere else
                                          {"x", "h:6", "h:5"}});  // no such job
  CHECK(set_with(sets, "a") == std::vector<std::string>{"a", "c", "d"});
  CHECK(set_with(sets, "b") == std::vector<std::string>{"b"});
  CHECK(set_with(sets, "unknown") == std::vector<std::string>{"unknown"});
  CHECK(linked_jobs({}, {{"a", "1", "2"}}).empty());
}

TEST_CASE("a place is the same by any name of its host") {
  CHECK(met_without_host("n0:9 sync/") == met_without_host("10.0.0.1:9 sync/"));
  CHECK(met_without_host("n0:9 sync/") != met_without_host("n0:8 sync/"));
  CHECK(met_without_host("/shared/meet sync/") == "/shared/meet sync/");
  CHECK(met_without_host(" sync/").empty());
}

}  // namespace
}  // namespace oddrank::snapshot
