// The wait-for graph as it is drawn.
#include "report/wait_picture.h"

#include "aggregate/diagnose.h"
#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"
#include "tests/support/mesh_job.h"

namespace oddrank::report {
namespace {

TEST_CASE("wait picture: ranks at the same place are one node, edges are drawn once") {
  const auto job = tests::input_stall_job();
  aggregate::FrameModel model(job.capture.tables);
  const aggregate::JobView view(job.capture, model);
  const WaitPicture picture = wait_picture(view, aggregate::diagnose(view).verdict);
  REQUIRE(picture.nodes.size() == 5);
  CHECK(picture.nodes[0].label == "1 rank: 5");
  CHECK(picture.nodes[1].label == "7 ranks: 0-4,6-7");
  CHECK(picture.nodes[1].ranks.size() == 7);
  CHECK(picture.nodes[2].kind == aggregate::NodeKind::kSlot);
  CHECK(picture.nodes[3].kind == aggregate::NodeKind::kProcess);
  CHECK(picture.nodes[3].label.find("3380") != std::string::npos);
  CHECK(picture.nodes[4].kind == aggregate::NodeKind::kResource);
  REQUIRE(picture.edges.size() == 4);
  CHECK(picture.edges[0].from == 1);
  CHECK(picture.edges[0].to == 2);
  CHECK_FALSE(picture.edges[0].assumed);
}

TEST_CASE("wait picture: the groups of a dimension are one node, and so are their calls") {
  const auto job = tests::mesh_job(tests::three_dimensions(8, 16, 8));
  aggregate::FrameModel model(job.capture.tables);
  const aggregate::JobView view(job.capture, model);
  const WaitPicture picture = wait_picture(view, aggregate::diagnose(view).verdict);
  CHECK(picture.nodes.size() == 11);
  std::size_t ranks = 0;
  for (const PictureNode& node : picture.nodes) {
    ranks += node.ranks.size();
  }
  CHECK(ranks == 1024);
  CHECK(picture.nodes[4].phase == "all_reduce in group dp#* (127 groups of 8), #4711");
  CHECK(picture.nodes[8].label == picture.nodes[4].phase);
  for (const PictureEdge& edge : picture.edges) {
    CHECK(edge.from != edge.to);
  }
}

TEST_CASE("wait picture: ranks that were not read are nodes if others wait for them") {
  const auto job = tests::unread_node_job();
  aggregate::FrameModel model(job.capture.tables);
  const aggregate::JobView view(job.capture, model);
  const WaitPicture picture = wait_picture(view, aggregate::diagnose(view).verdict);
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
