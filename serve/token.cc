#include "serve/token.h"

#include "base/write_file.h"

namespace oddrank::serve {

std::string make_token() {
  return random_word() + random_word();
}

bool is_token(std::string_view given, std::string_view token) {
  if (token.empty()) {
    return false;
  }
  unsigned differs = given.size() == token.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const char right = token[i % token.size()];
    differs |= static_cast<unsigned>(static_cast<unsigned char>(given[i] ^ right));
  }
  return differs == 0;
}

}  // namespace oddrank::serve
