#include "serve/worker.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <string_view>
#include <utility>
#include <vector>

#include "base/isolated.h"
#include "base/parse_number.h"
#include "base/printable.h"
#include "base/read_file.h"
#include "base/signals/signal_name.h"

namespace oddrank::serve {
namespace {

constexpr std::size_t kMaxLine = 300;  // bytes of a line that is shown
constexpr std::chrono::milliseconds kLookAgain{10};
constexpr std::string_view kMade = "made";
constexpr std::string_view kFailed = "failed";

// Parts follow each other, each after its length.
std::string joined_parts(const std::vector<std::string_view>& parts) {
  std::string bytes;
  for (const std::string_view part : parts) {
    const std::size_t size = part.size();
    bytes.append(reinterpret_cast<const char*>(&size), sizeof size);
    bytes += part;
  }
  return bytes;
}

// Returns the parts; fewer if the bytes end early.
std::vector<std::string_view> split_parts(std::string_view bytes) {
  std::vector<std::string_view> parts;
  std::size_t size = 0;
  while (bytes.size() >= sizeof size) {
    std::memcpy(&size, bytes.data(), sizeof size);
    bytes.remove_prefix(sizeof size);
    if (size > bytes.size()) {
      break;
    }
    parts.push_back(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  return parts;
}

std::string bytes_of(const Result<Product>& product) {
  if (!product) {
    const Error& error = product.error();
    return joined_parts(
        {kFailed, std::to_string(static_cast<int>(error.code)), error.what, error.hint});
  }
  return joined_parts({kMade, product->page, product->sentence, product->capture});
}

Result<Product> product_of(std::string_view bytes) {
  const std::vector<std::string_view> parts = split_parts(bytes);
  if (parts.size() == 4 && parts[0] == kMade) {
    return Product{std::string(parts[1]), std::string(parts[2]), std::string(parts[3])};
  }
  if (parts.size() == 4 && parts[0] == kFailed) {
    const auto code = static_cast<Errc>(parse_number<int>(parts[1]).value_or(0));
    return fail(code, std::string(parts[2]), std::string(parts[3]));
  }
  return fail(Errc::kIo, "the process that reads ended without a report");
}

Result<Product> read_product(int fd) {
  struct stat facts {};
  if (::fstat(fd, &facts) != 0 || facts.st_size < 0 ||
      static_cast<std::size_t>(facts.st_size) > Worker::kMaxProduct) {
    return fail(Errc::kIo, "the report is larger than 1 GiB");
  }
  if (::lseek(fd, 0, SEEK_SET) != 0) {
    return fail(Errc::kIo, "the report cannot be read: " + errno_text(errno));
  }
  ODDRANK_TRY(const std::string bytes, read_all(fd, "the report", Worker::kMaxProduct));
  return product_of(bytes);
}

// The parent catches these signals to end everything; the child must end by them.
void restore_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) {
      std::signal(signal, SIG_DFL);
    }
  }
}

}  // namespace

Worker::Worker(pid_t pid, UniqueFd made, UniqueFd said, std::chrono::milliseconds limit)
    : pid_(pid),
      made_(std::move(made)),
      said_(std::move(said)),
      deadline_(Deadline::after(limit)) {}

Worker::Worker(Worker&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      made_(std::move(other.made_)),
      said_(std::move(other.said_)),
      deadline_(other.deadline_),
      line_(std::move(other.line_)),
      last_line_(std::move(other.last_line_)) {}

Worker::~Worker() {
  kill_and_reap();
}

Result<Worker> Worker::start(const MakeProduct& make, std::chrono::milliseconds limit) {
  UniqueFd made(::memfd_create("oddrank-report", MFD_CLOEXEC));
  std::array<int, 2> ends{};
  if (!made.valid() || ::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return fail(Errc::kIo, "cannot start reading: " + errno_text(errno));
  }
  UniqueFd said(ends[0]);
  const UniqueFd says(ends[1]);
  ::fcntl(said.get(), F_SETFL, O_NONBLOCK);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) {
    return fail(Errc::kIo, "cannot start reading: " + errno_text(errno));
  }
  if (pid == 0) {
    run(make, made.get(), says.get(), parent);
  }
  return Worker(pid, std::move(made), std::move(said), limit);
}

void Worker::run(const MakeProduct& make, int made, int said, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) {
    ::_exit(1);
  }
  restore_signals();
  ::dup2(said, STDERR_FILENO);
  close_inherited(made);
  bool sent = false;
  try {
    sent = send_bytes(made, bytes_of(make()));
  } catch (const std::exception& fault) {
    sent = send_bytes(
        made, bytes_of(fail(Errc::kIo, std::string("a fault of oddrank: ") + fault.what())));
  }
  ::_exit(sent ? 0 : 1);
}

void Worker::pass_on() {
  std::array<char, 4096> block{};
  while (true) {
    const ssize_t got = ::read(said_.get(), block.data(), block.size());
    if (got <= 0) {
      return;
    }
    const std::string_view text(block.data(), static_cast<std::size_t>(got));
    // If stderr is closed or full, there is nothing else to do.
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    for (const char letter : text) {
      if (letter != '\n') {
        line_.append(line_.size() < kMaxLine ? 1 : 0, letter);
        continue;
      }
      if (!line_.empty()) {
        last_line_ = printable(line_, kMaxLine);
      }
      line_.clear();
    }
  }
}

bool Worker::reap(int& status) {
  pid_t reaped = 0;
  do {
    reaped = ::waitpid(pid_, &status, WNOHANG);
  } while (reaped < 0 && errno == EINTR);
  if (reaped == 0) {
    return false;
  }
  pid_ = -1;
  return true;
}

std::optional<Result<Product>> Worker::poll() {
  int status = 0;
  const bool ended = pid_ < 0 || reap(status);
  pass_on();
  if (!ended) {
    if (!deadline_.passed()) {
      return std::nullopt;
    }
    kill_and_reap();
    return fail(Errc::kTimeout, "reading timed out");
  }
  if (WIFSIGNALED(status)) {
    return fail(Errc::kIo, "the process that reads was ended by " + signal_name(WTERMSIG(status)));
  }
  return read_product(made_.get());
}

void Worker::stop(std::chrono::milliseconds patience) {
  if (pid_ < 0) {
    return;
  }
  ::kill(pid_, SIGINT);
  wait_for_end(patience);
  kill_and_reap();
}

void Worker::wait_for_end(std::chrono::milliseconds patience) {
  const Deadline deadline = Deadline::after(patience);
  int status = 0;
  while (!reap(status) && !deadline.passed()) {
    pass_on();
    ::poll(nullptr, 0, static_cast<int>(kLookAgain.count()));
  }
}

// A child in state D cannot die yet: it is left to init.
void Worker::kill_and_reap() {
  if (pid_ < 0) {
    return;
  }
  ::kill(pid_, SIGKILL);
  constexpr std::chrono::milliseconds kReapPatience{1000};
  wait_for_end(kReapPatience);
  pid_ = -1;
}

}  // namespace oddrank::serve
