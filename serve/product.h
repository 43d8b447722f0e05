// The result of work in a child: one report, as bytes that this room does not interpret.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"

namespace oddrank::serve {

struct Product {
  std::string page;      // HTML
  std::string sentence;  // the verdict's
  std::string capture;   // its capture, for comparisons; never sent to a client
};

using MakeProduct = std::function<Result<Product>()>;

}  // namespace oddrank::serve
