#include "report/tree/prefix_tree.h"

#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"

namespace oddrank::report {

TEST_CASE("the tree splits where the stacks differ, with the ranks on each edge") {
  const auto job = tests::input_stall_job();
  aggregate::FrameModel model(job.capture.tables);
  const aggregate::JobView view(job.capture, model);
  const PrefixTree tree = build_prefix_tree(view);
  CHECK(tree.nodes[0].count == 8);
  REQUIRE(tree.nodes[0].children.size() == 1);
  const TreeNode& module = tree.nodes[tree.nodes[0].children[0]];
  CHECK(module.frame.name == "<module>");
  CHECK(module.ranks.size() == 8);
  const TreeNode& main = tree.nodes[module.children.at(0)];
  REQUIRE(main.children.size() == 2);
  CHECK(tree.nodes[main.children[0]].frame.name == "average_gradients");
  CHECK(tree.nodes[main.children[0]].ranks == std::vector<std::int32_t>{0, 1, 2, 3, 4, 6, 7});
  CHECK(tree.nodes[main.children[1]].ranks == std::vector<std::int32_t>{5});
}

}  // namespace oddrank::report
