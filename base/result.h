// Errors as values: Error, Result<T>, Status, and the macro that passes an error on.
// Nothing in oddrank throws; the .cc that calls a library catches its exceptions.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <tl/expected.hpp>

namespace oddrank {

// The codes that a caller may branch on. The text of an error is for people only.
enum class Errc {
  kPermission,   // the kernel or a service refused us
  kGone,         // the process, thread or job exited meanwhile
  kNotFound,     // it never existed
  kTimeout,      // a deadline passed
  kUnsupported,  // we know what it is and cannot read it
  kBadData,      // malformed bytes
  kIo,           // the operating system failed
  kUsage,        // the user asked for something impossible
};

// `what`: lower case, no full stop, names target and operation: "cannot read maps of pid 4250:
// permission denied". `hint`: what the user can do about it; may be empty.
struct Error {
  Errc code = Errc::kIo;
  std::string what;
  std::string hint;

  // Prepends the caller's view: "rank 3: cannot read maps of pid 71: ...".
  Error in(std::string_view context) &&;
};

template <typename T = std::monostate>
using Result = tl::expected<T, Error>;
using Status = Result<>;

// Makes an error to return: `return fail(Errc::kGone, "pid 12 ended");`
[[nodiscard]] inline tl::unexpected<Error> fail(Errc code,
                                                std::string what,
                                                std::string hint = {}) {
  return tl::unexpected<Error>(Error{code, std::move(what), std::move(hint)});
}
[[nodiscard]] inline tl::unexpected<Error> fail(Error error) {
  return tl::unexpected<Error>(std::move(error));
}
// Makes a Status without an error.
[[nodiscard]] inline Status ok() {
  return std::monostate{};
}

// Returns "permission denied" for EACCES and so on: strerror in the style of our messages.
std::string errno_text(int error_number);

// Returns the Errc for an errno: EPERM/EACCES -> kPermission, ESRCH -> kGone, ENOENT -> kNotFound,
// else kIo.
Errc errno_code(int error_number);

}  // namespace oddrank

// NOLINTBEGIN(bugprone-macro-parentheses): a declaration cannot be in brackets
#define ODDRANK_CONCAT_INNER(a, b) a##b
#define ODDRANK_CONCAT(a, b) ODDRANK_CONCAT_INNER(a, b)
#define ODDRANK_TRY_INNER(temporary, declaration, expression) \
  auto temporary = (expression);                              \
  if (!temporary) {                                           \
    return ::oddrank::fail(std::move(temporary).error());     \
  }                                                           \
  declaration = *std::move(temporary)

// ODDRANK_TRY(auto maps, read_maps(pid)) declares maps, or returns the Error to our caller.
#define ODDRANK_TRY(declaration, expression) \
  ODDRANK_TRY_INNER(ODDRANK_CONCAT(oddrank_try_, __LINE__), declaration, expression)

// NOLINTEND(bugprone-macro-parentheses)

// ODDRANK_TRY_STATUS(expression): for a Status; returns its Error to our caller.
#define ODDRANK_TRY_STATUS(expression)                           \
  do {                                                           \
    if (auto oddrank_status = (expression); !oddrank_status) {   \
      return ::oddrank::fail(std::move(oddrank_status).error()); \
    }                                                            \
  } while (false)
