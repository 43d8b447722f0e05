// Base64 (RFC 4648, with padding), for the frames of reach/wire/frames.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace oddrank::reach {

// Returns the text, padded, without line breaks.
std::string base64_encode(std::string_view bytes);
// Returns nothing if the text is not valid (a foreign character, a wrong length or padding).
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace oddrank::reach
