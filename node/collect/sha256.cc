#include "node/collect/sha256.h"

#include <sha2.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/hex.h"

namespace oddrank::node {

std::string sha256(std::string_view bytes) {
  SHA2_CTX context;
  ::SHA256Init(&context);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes are bytes
  ::SHA256Update(&context, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  std::array<std::uint8_t, SHA256_DIGEST_LENGTH> digest{};
  ::SHA256Final(digest.data(), &context);
  return hex_bytes(std::as_bytes(std::span(digest)));
}

}  // namespace oddrank::node
