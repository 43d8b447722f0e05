#include "base/small/rare.h"

#include <string>
#include <utility>

#include "tests/support/catch.h"

namespace oddrank {
namespace {

using Words = Rare<std::string>;

TEST_CASE("a rare value is the default one until it is edited") {
  static_assert(sizeof(Words) == sizeof(void*));
  Words text;
  CHECK(text.is_default());
  CHECK(text->empty());
  CHECK(text == Words());
  text.edit() += "a";
  CHECK_FALSE(text.is_default());
  CHECK(*text == "a");
  CHECK(Words()->empty());
  text = std::string();
  CHECK(text.is_default());
}

TEST_CASE("rare values are copied, moved and compared") {
  const Words one = std::string("one");
  Words copy = one;
  CHECK(copy == one);
  copy.edit() = "two";
  CHECK(*one == "one");
  CHECK(copy != one);
  const Words moved = std::move(copy);
  CHECK(*moved == "two");
  copy = one;
  CHECK(copy == one);
  copy.edit().clear();
  CHECK(copy == Words());
}

}  // namespace
}  // namespace oddrank
