#include "base/result.h"

#include <cctype>
#include <cerrno>
#include <system_error>

namespace oddrank {

Error Error::in(std::string_view context) && {
  what = std::string(context) + ": " + what;
  return std::move(*this);
}

std::string errno_text(int error_number) {
  std::string text = std::generic_category().message(error_number);
  if (!text.empty()) {
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  }
  return text;
}

Errc errno_code(int error_number) {
  switch (error_number) {
    case EPERM:
    case EACCES:
      return Errc::kPermission;
    case ESRCH:
      return Errc::kGone;
    case ENOENT:
    case ENOTDIR:
      return Errc::kNotFound;
    case ETIMEDOUT:
      return Errc::kTimeout;
    default:
      return Errc::kIo;
  }
}

}  // namespace oddrank
