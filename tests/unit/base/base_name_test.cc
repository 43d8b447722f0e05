#include "base/base_name.h"

#include "tests/support/catch.h"

namespace oddrank {

TEST_CASE("base_name returns what follows the last slash") {
  CHECK(base_name("/usr/bin/python3") == "python3");
  CHECK(base_name("./train.py") == "train.py");
  CHECK(base_name("train.py") == "train.py");
  CHECK(base_name("/opt/").empty());
  CHECK(base_name("").empty());
}

}  // namespace oddrank
