#include "tests/support/victim.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <thread>

#include "attach/proc_stat.h"
#include "base/read_file.h"

namespace oddrank::test {
namespace {

constexpr std::chrono::milliseconds kPoll{2};

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return fail(errno_code(errno), "cannot make a pipe: " + errno_text(errno));
  }
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::vector<std::string> make_environment(const VictimOptions& options) {
  std::vector<std::string> all;
  for (const auto& [name, value] : options.environment) {
    std::string& entry = all.emplace_back(name);
    entry += '=';
    entry += value;
  }
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    bool wanted = !options.clean_environment || name == "PATH" || name == "HOME";
    for (const auto& own : options.environment) {
      wanted = wanted && own.first != name;
    }
    if (wanted) {
      all.emplace_back(text);
    }
  }
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) {
    pointers.push_back(text.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

struct ChildPlan {
  std::vector<char*> arguments;
  std::vector<char*> environment;
  int in = -1;
  int out = -1;
  int error_pipe = -1;
  pid_t parent = 0;
  bool die_with_test = true;
};

// Runs between fork and exec: only calls that are safe there.
[[noreturn]] void become_victim(const ChildPlan& plan) {
  ::setpgid(0, 0);
  if (plan.die_with_test) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != plan.parent) {
      ::_exit(126);
    }
  }
  ::dup2(plan.in, STDIN_FILENO);
  ::dup2(plan.out, STDOUT_FILENO);
  ::execvpe(plan.arguments[0], plan.arguments.data(), plan.environment.data());
  const int reason = errno;
  const ssize_t ignored = ::write(plan.error_pipe, &reason, sizeof reason);
  ::_exit(ignored == sizeof reason ? 127 : 126);
}

template <typename Done>
Status wait_until(Done done, Deadline deadline, const std::string& what) {
  while (!done()) {
    if (deadline.passed()) {
      return fail(Errc::kTimeout, what);
    }
    std::this_thread::sleep_for(kPoll);
  }
  return ok();
}

}  // namespace

std::string victim_path(std::string_view name) {
  return std::string(ODDRANK_VICTIM_BINARIES) + "/" + std::string(name);
}

std::string victim_script(std::string_view name) {
  return std::string(ODDRANK_VICTIM_SOURCES) + "/" + std::string(name);
}

Result<Victim> Victim::start(const std::vector<std::string>& command,
                             const VictimOptions& options) {
  if (command.empty()) {
    return fail(Errc::kUsage, "no command for the victim");
  }
  ODDRANK_TRY(Pipe in, make_pipe());
  ODDRANK_TRY(Pipe out, make_pipe());
  ODDRANK_TRY(Pipe error, make_pipe());
  std::vector<std::string> arguments = command;
  std::vector<std::string> environment = make_environment(options);
  const ChildPlan plan{pointers_to(arguments), pointers_to(environment), in.read_end.get(),
                       out.write_end.get(),    error.write_end.get(),    ::getpid(),
                       options.die_with_test};
  const pid_t pid = ::fork();
  if (pid < 0) {
    return fail(errno_code(errno), "cannot fork: " + errno_text(errno));
  }
  if (pid == 0) {
    become_victim(plan);
  }
  ::setpgid(pid, pid);  // in parent and child, so that neither must wait for the other
  Victim victim(pid, std::move(in.write_end), std::move(out.read_end));
  error.write_end.reset();
  int reason = 0;
  if (::read(error.read_end.get(), &reason, sizeof reason) == sizeof reason) {
    return fail(errno_code(reason), "cannot execute " + command[0] + ": " + errno_text(reason));
  }
  return victim;
}

Victim::~Victim() {
  kill();
}

Victim::Victim(Victim&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      stdin_(std::move(other.stdin_)),
      stdout_(std::move(other.stdout_)),
      unread_(std::move(other.unread_)) {}

Victim& Victim::operator=(Victim&& other) noexcept {
  if (this != &other) {
    kill();
    pid_ = std::exchange(other.pid_, 0);
    stdin_ = std::move(other.stdin_);
    stdout_ = std::move(other.stdout_);
    unread_ = std::move(other.unread_);
  }
  return *this;
}

std::optional<std::string> Victim::take_line() {
  const auto end = unread_.find('\n');
  if (end == std::string::npos) {
    return std::nullopt;
  }
  std::string line = unread_.substr(0, end);
  unread_.erase(0, end + 1);
  return line;
}

Result<std::string> Victim::wait_line(std::string_view prefix, Deadline deadline) {
  const std::string what =
      "victim " + std::to_string(pid_) + ": no line \"" + std::string(prefix) + "\"";
  while (true) {
    while (auto line = take_line()) {
      const std::string_view text(*line);
      if (text.substr(0, prefix.size()) == prefix) {
        const bool blank = text.size() > prefix.size() && text[prefix.size()] == ' ';
        return line->substr(prefix.size() + (blank ? 1 : 0));
      }
    }
    pollfd wait{stdout_.get(), POLLIN, 0};
    const int ready = ::poll(&wait, 1, deadline.poll_timeout());
    if (ready < 0 && errno == EINTR) {
      continue;
    }
    if (ready <= 0) {
      return fail(Errc::kTimeout, what + " in time");
    }
    std::array<char, 4096> block{};
    const ssize_t got = ::read(stdout_.get(), block.data(), block.size());
    if (got <= 0) {
      return fail(Errc::kGone, what + ": it closed its stdout");
    }
    unread_.append(block.data(), static_cast<std::size_t>(got));
  }
}

Status Victim::send(std::string_view text) {
  if (::write(stdin_.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return fail(errno_code(errno), "cannot write to the victim: " + errno_text(errno));
  }
  return ok();
}

Status Victim::wait_state(std::string_view states, pid_t tid, Deadline deadline) const {
  const pid_t wanted = tid == 0 ? pid_ : tid;
  char last = '?';
  const auto reached = [&] {
    const auto stat = attach::read_proc_stat(wanted);
    last = stat ? stat->state : '-';
    return stat && states.find(stat->state) != std::string_view::npos;
  };
  auto status = wait_until(reached, deadline, "");
  if (!status) {
    return fail(Errc::kTimeout, "thread " + std::to_string(wanted) + " is in state " + last +
                                    ", not in one of " + std::string(states));
  }
  return status;
}

Status Victim::wait_syscall(long number, pid_t tid, Deadline deadline) const {
  const std::string wanted = std::to_string(tid == 0 ? pid_ : tid);
  const std::string begin = std::to_string(number) + " ";
  const auto reached = [&] {
    const auto text = read_file("/proc/" + wanted + "/syscall");
    return text && text->compare(0, begin.size(), begin) == 0;
  };
  return wait_until(reached, deadline, "thread " + wanted + " is not in system call " + begin);
}

void Victim::signal(int number) const {
  if (pid_ > 0) {
    ::kill(pid_, number);
  }
}

Result<int> Victim::wait_end(Deadline deadline) {
  const auto ended = [this] {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == pid_;
  };
  ODDRANK_TRY_STATUS(
      wait_until(ended, deadline, "victim " + std::to_string(pid_) + " does not end"));
  ::kill(-pid_, SIGKILL);  // the rest of its group, before its number is free again
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = 0;
  return status;
}

void Victim::kill() {
  if (pid_ <= 0) {
    return;
  }
  // The group first: as long as the victim is not reaped, its number cannot be another group's.
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
  const auto reaped = [this] {
    const pid_t got = ::waitpid(pid_, nullptr, WNOHANG);
    return got == pid_ || (got < 0 && errno == ECHILD);
  };
  // A victim in an unkillable state D is left to init when the test ends.
  const auto ignored = wait_until(reaped, Deadline::after(std::chrono::seconds(5)), "");
  static_cast<void>(ignored);
  pid_ = 0;
}

}  // namespace oddrank::test
