#include "report/html/mesh_layout.h"

#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"
#include "tests/support/mesh_job.h"

namespace oddrank::report {
namespace {

MeshLayout layout_in(const snapshot::Capture& capture) {
  aggregate::FrameModel model(capture.tables);
  return mesh_layout(aggregate::JobView(capture, model));
}

}  // namespace

TEST_CASE("layout: the axes are the job's dimensions, the slowest first") {
  const MeshLayout layout = layout_in(tests::mesh_job(tests::three_dimensions(2, 3, 4)).capture);
  CHECK(layout.names == std::vector<std::string>{"dp", "pp", "tp"});
  CHECK(layout.sizes == std::vector<std::size_t>{2, 3, 4});
  CHECK(layout.order[17] == 17);
}

TEST_CASE("layout: a rank that was not read has the place that other ranks' groups show") {
  auto job = tests::mesh_job(tests::three_dimensions(2, 3, 4));
  job.remove(3017);
  const MeshLayout layout = layout_in(job.capture);
  REQUIRE(layout.names.size() == 3);
  CHECK(layout.order[17] == 17);
}

TEST_CASE("layout: a name that spans two axes is no third axis") {
  tests::Mesh mesh = tests::three_dimensions(2, 3, 4);
  auto job = tests::mesh_job(mesh);
  auto& tables = job.capture.tables;
  for (auto& process : job.capture.processes) {
    snapshot::ProcessGroup model = process.groups.front();
    model.label = tables.string("model");
    model.members = tables.string(process.rank < 12 ? "0-11" : "12-23");
    process.groups.push_back(model);
  }
  CHECK(layout_in(job.capture).names == std::vector<std::string>{"dp", "pp", "tp"});
}

TEST_CASE("layout: no axes without labels, or if two ranks have one place") {
  tests::Mesh mesh = tests::three_dimensions(2, 3, 4);
  mesh.labelled = false;
  CHECK(layout_in(tests::mesh_job(mesh).capture).names.empty());
  CHECK(layout_in(tests::input_stall_job().capture).names.empty());
  auto job = tests::mesh_job(tests::three_dimensions(2, 3, 4));
  for (auto& process : job.capture.processes) {
    process.groups.pop_back();
  }
  CHECK(layout_in(job.capture).names.empty());
}

}  // namespace oddrank::report
