// What work in a child makes: one report, in bytes. This room does not look into them.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"

namespace oddrank::serve {

struct Product {
  std::string page;      // HTML
  std::string sentence;  // the verdict's
  std::string capture;   // what it rests on, to compare with; never sent to a client
};

using MakeProduct = std::function<Result<Product>()>;

}  // namespace oddrank::serve
