#include "node/node_budget.h"

#include "tests/support/catch.h"

namespace oddrank::node {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

TEST_CASE("three quarters of the time that is left are for the stacks, a part of it for a source") {
  NodeBudget budget(minutes(80));
  budget.begin_reading();
  CHECK(budget.of_sample() <= minutes(60));
  CHECK(budget.of_sample() > minutes(58));
  CHECK(budget.before() <= minutes(10));
  CHECK(budget.before() < budget.beside());
  CHECK(budget.beside() < budget.of_sample());
  budget.extend(minutes(8));
  CHECK(budget.of_sample() > minutes(66));
}

TEST_CASE("if the time is over, a sample gets none, and each source a moment") {
  NodeBudget budget(milliseconds(0));
  budget.begin_reading();
  CHECK(budget.of_sample() == milliseconds(0));
  CHECK(budget.beside() == milliseconds(300));
  CHECK(budget.before() == milliseconds(300));
}

}  // namespace
}  // namespace oddrank::node
