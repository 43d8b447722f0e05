#include "snapshot/tables.h"

#include "tests/support/catch.h"

namespace oddrank::snapshot {
namespace {

TEST_CASE("each value has one id, and id 0 is the empty one") {
  Tables tables;
  CHECK(tables.text(StringId{}) == "");
  CHECK(tables.stack(StackId{}) == Stack{});
  const StringId a = tables.string("a");
  const StringId b = tables.string("b");
  CHECK(a != b);
  CHECK(tables.string("a") == a);
  CHECK(tables.string("") == StringId{});
  Frame frame;
  frame.function = a;
  const FrameId id = tables.frame(frame);
  CHECK(tables.frame(frame) == id);
  frame.line = 1;
  CHECK(tables.frame(frame) != id);
}

TEST_CASE("tables stay complete when they are moved") {
  Tables tables;
  const StringId id = tables.string("kept");
  Tables moved = std::move(tables);
  CHECK(moved.text(id) == "kept");
  CHECK(moved.string("kept") == id);
}

}  // namespace
}  // namespace oddrank::snapshot
