// The wait-for graph as it is drawn.
#include "report/wait_picture.h"

#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"

namespace oddrank::report {
namespace {

TEST_CASE("wait picture: ranks at the same place are one node, edges are drawn once") {
  const auto job = tests::input_stall_job();
  aggregate::FrameModel model(job.capture.tables);
  const aggregate::JobView view(job.capture, model);
  const WaitPicture picture = wait_picture(view, aggregate::find_groups(view));
  REQUIRE(picture.nodes.size() == 5);
  CHECK(picture.nodes[0].label == "7 ranks: 0-4,6-7");
  CHECK(picture.nodes[0].ranks.size() == 7);
  CHECK(picture.nodes[1].label == "1 rank: 5");
  CHECK(picture.nodes[2].kind == aggregate::NodeKind::kSlot);
  CHECK(picture.nodes[3].kind == aggregate::NodeKind::kProcess);
  CHECK(picture.nodes[3].pid == 3380);
  CHECK(picture.nodes[4].kind == aggregate::NodeKind::kResource);
  REQUIRE(picture.edges.size() == 4);
  CHECK(picture.edges[0].from == 0);
  CHECK(picture.edges[0].to == 2);
  CHECK_FALSE(picture.edges[0].assumed);
}

TEST_CASE("wait picture: ranks that were not read are nodes if others wait for them") {
  const auto job = tests::unread_node_job();
  aggregate::FrameModel model(job.capture.tables);
  const aggregate::JobView view(job.capture, model);
  const WaitPicture picture = wait_picture(view, aggregate::find_groups(view));
  std::size_t unread = 0;
  for (const PictureNode& node : picture.nodes) {
    for (const std::size_t rank : node.ranks) {
      unread += view.ranks()[rank].presence == aggregate::Presence::kUnread ? 1U : 0U;
    }
  }
  CHECK(unread == 2);
}

}  // namespace
}  // namespace oddrank::report
