// Base64 (RFC 4648, with padding), for the frames of slurm/frames.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace oddrank::slurm {

std::string base64_encode(std::string_view bytes);
// Returns nothing if the text is not valid (a foreign character, a wrong length or padding).
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace oddrank::slurm
