#include "base/small/boxed.h"

#include <optional>
#include <string>
#include <utility>

#include "tests/support/catch.h"

namespace oddrank {
namespace {

using Text = Boxed<std::string>;

TEST_CASE("a box has a value or none") {
  static_assert(sizeof(Text) == sizeof(void*));
  Text text;
  CHECK_FALSE(text.has_value());
  CHECK(text == Text(std::nullopt));
  text = std::string("a");
  REQUIRE(text);
  CHECK(*text == "a");
  CHECK(text->size() == 1);
  text.emplace() = "b";
  CHECK(*text == "b");
  text.reset();
  CHECK_FALSE(text);
  CHECK_FALSE(Text(std::optional<std::string>()));
  CHECK(*Text(std::optional<std::string>("c")) == "c");
}

TEST_CASE("boxes are copied, moved and compared by their values") {
  const Text one = std::string("one");
  Text copy = one;
  CHECK(copy == one);
  *copy += "s";
  CHECK(*one == "one");
  CHECK(copy != one);
  CHECK(copy != Text());
  const Text moved = std::move(copy);
  CHECK(*moved == "ones");
  copy = one;
  CHECK(copy == one);
}

}  // namespace
}  // namespace oddrank
