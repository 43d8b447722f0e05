#include "collectives/group_labels.h"

#include "tests/support/catch.h"

namespace oddrank::collectives {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;

TEST_CASE("dimensions of a mesh name its groups") {
  CHECK(mesh_labels("<DeviceMesh _mesh_dim_names=('dp', 'tp') _dim_group_names=['1', '5']>") ==
        Labels{{"1", "dp"}, {"5", "tp"}});
  // torch 2.2 to 2.7
  CHECK(mesh_labels("<DeviceMesh mesh_dim_names=('dp', 'tp') _dim_group_infos=[('ptd:1', [0, 4], "
                    "'1'), ('ptd:5', [4, 5, 6, 7], '5')]>") == Labels{{"1", "dp"}, {"5", "tp"}});
}

TEST_CASE("a mesh without names, or a damaged one, names nothing") {
  CHECK(mesh_labels("<DeviceMesh _mesh_dim_names=None _dim_group_names=['1']>").empty());
  CHECK(mesh_labels("<DeviceMesh mesh_dim_names=('dp',) _dim_group_infos=[('ptd:1', [0, 4])]>")
            .empty());
  CHECK(mesh_labels("<DeviceMesh _mesh_dim_names=('dp', 'tp'").empty());
  CHECK(mesh_labels("<DeviceMesh _mesh_dim_names=").empty());
  CHECK(mesh_labels("").empty());
}

TEST_CASE("every variable is listed once for each member") {
  for (const LabelSource& source : label_sources()) {
    std::size_t count = 0;
    for (const LabelSource& other : label_sources()) {
      count += source.variable == other.variable && source.member == other.member ? 1 : 0;
    }
    INFO(source.variable);
    CHECK(count == 1);
  }
}

}  // namespace
}  // namespace oddrank::collectives
