#include "base/small/slim_vector.h"

#include <memory>
#include <string>
#include <utility>

#include "tests/support/catch.h"

namespace oddrank {
namespace {

using Texts = SlimVector<std::string>;

const std::string kLong = "longer than a string keeps in itself";

TEST_CASE("a slim vector takes the room of a pointer") {
  static_assert(sizeof(Texts) == sizeof(void*));
  const Texts none;
  CHECK(none.empty());
  CHECK(none.begin() == none.end());
  CHECK(none == Texts{});
}

TEST_CASE("a slim vector keeps its items as it grows") {
  Texts texts;
  for (int i = 0; i < 100; ++i) {
    texts.push_back(kLong + std::to_string(i));
  }
  REQUIRE(texts.size() == 100);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    CHECK(texts[i] == kLong + std::to_string(i));
  }
  CHECK(texts.front() == kLong + "0");
  CHECK(texts.back() == kLong + "99");
}

TEST_CASE("a slim vector takes one of its own items") {
  Texts texts = {kLong};
  for (int i = 0; i < 10; ++i) {
    texts.push_back(texts.front());
  }
  CHECK(texts.size() == 11);
  CHECK(texts.front() == kLong);
  CHECK(texts.back() == kLong);
}

TEST_CASE("a slim vector is copied and moved") {
  Texts texts = {kLong, "b"};
  Texts copy = texts;
  copy.front() = "a";
  CHECK(texts.front() == kLong);
  const Texts moved = std::move(texts);
  CHECK(moved == Texts{kLong, "b"});
  copy = moved;
  CHECK(copy == moved);
  const Texts& same = copy;
  copy = same;
  CHECK(copy == moved);
  CHECK(copy != Texts{kLong});
}

TEST_CASE("a slim vector loses items") {
  Texts texts = {"a", "b", kLong, "d"};
  texts.erase(texts.begin() + 1, texts.begin() + 3);
  CHECK(texts == Texts{"a", "d"});
  texts.pop_back();
  CHECK(texts == Texts{"a"});
  texts.resize(2);
  CHECK(texts == Texts{"a", ""});
  texts.resize(0);
  CHECK(texts.empty());
  texts = {"x"};
  texts.clear();
  CHECK(texts == Texts{});
}

TEST_CASE("a slim vector holds what can only be moved") {
  SlimVector<std::unique_ptr<int>> items;
  items.reserve(3);
  const auto* place = items.begin();
  for (int i = 0; i < 3; ++i) {
    items.push_back(std::make_unique<int>(i));
  }
  CHECK(items.begin() == place);
  items.emplace_back(std::make_unique<int>(3));
  CHECK(*items.back() == 3);
  CHECK(*items.front() == 0);
}

}  // namespace
}  // namespace oddrank
