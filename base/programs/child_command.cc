#include "base/programs/child_command.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <exception>
#include <utility>

#include <boost/process/args.hpp>
#include <boost/process/child.hpp>
#include <boost/process/exe.hpp>
#include <boost/process/extend.hpp>
#include <boost/process/io.hpp>

#include "base/deadline.h"
#include "base/split.h"

namespace oddrank {
namespace {

// Boost.Process (v1) starts the program: fork and exec, errors of exec. It goes no further
// here: every other child inherits its pipes (no O_CLOEXEC: with several sruns at once no pipe
// would ever reach its end), its wait_for() steals SIGCHLD from the whole process, its environment
// class reads beyond the end of short entries (1.74, find(); AddressSanitizer), and its deadlines
// and process groups do not fit.
namespace bp = boost::process;

constexpr std::size_t kReadAtOnce = std::size_t{1} << 20;
constexpr std::chrono::milliseconds kKillPatience{200};

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return fail(Errc::kIo, "cannot make a pipe: " + errno_text(errno));
  }
  Pipe made{UniqueFd(ends[0]), UniqueFd(ends[1])};
  // Only our end is non-blocking: the program's end must block like any other pipe.
  ::fcntl(made.read.get(), F_SETFL, O_NONBLOCK);
  return made;
}

// What becomes the program's standard streams.
struct Streams {
  int in;
  int out;
  int err;
};

// Runs in the child between fork and exec: async-signal-safe calls only.
void prepare_child(const Streams& streams, pid_t parent, bool readable) {
  ::setpgid(0, 0);
  // SIGTERM, not SIGKILL, so that srun ends its step.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) {
    ::_exit(127);
  }
  if (readable) {
    // Survives exec, and covers all descendants of ours. Fails without Yama, but then it is not
    // needed.
    ::prctl(PR_SET_PTRACER, static_cast<unsigned long>(parent), 0UL, 0UL, 0UL);
  }
  ::dup2(streams.in, STDIN_FILENO);
  ::dup2(streams.out, STDOUT_FILENO);
  ::dup2(streams.err, STDERR_FILENO);
  // The program must not inherit what we ignore or block.
  ::signal(SIGINT, SIG_DFL);
  ::signal(SIGPIPE, SIG_DFL);
  ::signal(SIGXFSZ, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Returns them as execve(2) needs them; they point into `words`.
std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  all.reserve(words.size() + 1);
  for (std::string& word : words) {
    all.push_back(word.data());
  }
  all.push_back(nullptr);
  return all;
}

// Boost would open for writing as well, so a running program's file could not be sent.
Result<UniqueFd> open_input(const std::string& path) {
  UniqueFd fd(::open(path.empty() ? "/dev/null" : path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) {
    return fail(errno_code(errno), "cannot open " + path + ": " + errno_text(errno));
  }
  return fd;
}

// Returns a pipe with one empty line in it.
Result<Pipe> make_line() {
  ODDRANK_TRY(Pipe made, make_pipe());
  ::fcntl(made.read.get(), F_SETFL, 0);  // here the program has that end
  if (::write(made.write.get(), "\n", 1) != 1) {
    return fail(Errc::kIo, "cannot write to a pipe: " + errno_text(errno));
  }
  return made;
}

// Runs in the parent if the program could not be executed: the child has reported that and is about
// to exit. Boost does not wait for that, and would leave a zombie.
void reap_failed_child(pid_t pid) {
  if (pid > 0) {
    ::waitpid(pid, nullptr, 0);
  }
}

// Returns the path of a program as execvp(3) finds it, but in absolute folders only; "" if there is
// none. Boost's search converts names by the locale of the environment, and throws if that is not
// installed, as it is where ssh or srun brings the variables of another machine along.
std::string found_on_path(const std::string& program) {
  const char* const path = ::getenv("PATH");
  for (const std::string_view folder : split(path == nullptr ? "/usr/bin:/bin" : path, ':')) {
    // Another user may own the working folder: an empty element of PATH would run that user's
    // scontrol.
    if (!folder.starts_with('/')) {
      continue;
    }
    std::string candidate = std::string(folder) + '/' + program;
    struct stat facts {};
    if (::stat(candidate.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) &&
        ::access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
  }
  return {};
}

Result<pid_t> launch(const ProgramCall& command, const Streams& streams) {
  std::string program = command.argv.front();
  if (program.find('/') == std::string::npos) {
    program = found_on_path(program);
    if (program.empty()) {
      return fail(Errc::kNotFound, command.argv.front() + " is not on PATH");
    }
  }
  const pid_t parent = ::getpid();
  std::vector<std::string> variables = command.environment.value_or(std::vector<std::string>());
  std::vector<char*> environment = pointers(variables);
  char** const chosen = command.environment ? environment.data() : ::environ;
  const std::vector<std::string> arguments(command.argv.begin() + 1, command.argv.end());
  std::error_code error;
  bp::child child(
      bp::exe = program, bp::args = arguments, (bp::std_in < bp::null), error,
      bp::extend::on_setup = [chosen](auto& executor) { executor.env = chosen; },
      bp::extend::on_exec_setup =
          [&streams, parent, &command](auto& /*executor*/) {
            prepare_child(streams, parent, command.readable_by_us);
          },
      bp::extend::on_error =
          [](auto& executor, const std::error_code& /*why*/) { reap_failed_child(executor.pid); });
  if (error) {
    return fail(errno_code(error.value()),
                "cannot start " + program + ": " + errno_text(error.value()));
  }
  const pid_t pid = child.id();
  child.detach();  // reaped by us
  return pid;
}

// Returns false at the end of the stream.
bool drain(UniqueFd& fd, OutputStream stream, const OutputSink& sink) {
  std::array<char, 65536> block{};
  for (std::size_t total = 0; fd.valid() && total < kReadAtOnce;) {
    const ssize_t got = ::read(fd.get(), block.data(), block.size());
    if (got > 0) {
      total += static_cast<std::size_t>(got);
      sink(stream, std::string_view(block.data(), static_cast<std::size_t>(got)));
    } else if (got < 0 && errno == EINTR) {
      continue;
    } else if (got < 0 && errno == EAGAIN) {
      break;
    } else {
      fd.reset();
    }
  }
  return fd.valid();
}

}  // namespace

Result<ChildCommand> ChildCommand::start(const ProgramCall& command) {
  if (command.argv.empty()) {
    return fail(Errc::kUsage, "no program to start");
  }
  Pipe in;
  if (command.stdin_stays_open) {
    ODDRANK_TRY(in, make_line());
  } else {
    ODDRANK_TRY(in.read, open_input(command.stdin_path));
  }
  ODDRANK_TRY(Pipe out, make_pipe());
  ODDRANK_TRY(Pipe err, make_pipe());
  try {
    ODDRANK_TRY(const pid_t pid,
                launch(command, {in.read.get(), out.write.get(), err.write.get()}));
    return ChildCommand(pid, std::move(in.write), std::move(out.read), std::move(err.read),
                        command.never_kill);
  } catch (const std::exception& thrown) {
    return fail(Errc::kIo, "cannot start " + command.argv.front() + ": " + thrown.what());
  }
}

ChildCommand::ChildCommand(ChildCommand&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      in_(std::move(other.in_)),
      out_(std::move(other.out_)),
      err_(std::move(other.err_)),
      never_kill_(other.never_kill_),
      asked_to_end_(other.asked_to_end_),
      ended_(other.ended_) {}

ChildCommand::~ChildCommand() {
  if (pid_ > 0 && !exit_status() && !(never_kill_ && asked_to_end_)) {
    stop(std::chrono::milliseconds(100), [](OutputStream, std::string_view) {});
  }
}

void ChildCommand::add_pollfds(std::vector<pollfd>& polled) const {
  for (const UniqueFd* fd : {&out_, &err_}) {
    if (fd->valid()) {
      polled.push_back({fd->get(), POLLIN, 0});
    }
  }
}

bool ChildCommand::read_output(const OutputSink& sink) {
  const bool out_open = drain(out_, OutputStream::kStdout, sink);
  const bool err_open = drain(err_, OutputStream::kStderr, sink);
  return out_open || err_open;
}

std::optional<ProgramEnd> ChildCommand::exit_status() {
  if (ended_ || pid_ <= 0) {
    return ended_;
  }
  int status = 0;
  const pid_t reaped = ::waitpid(pid_, &status, WNOHANG);
  if (reaped == pid_) {
    ended_ =
        WIFSIGNALED(status) ? ProgramEnd{-1, WTERMSIG(status)} : ProgramEnd{WEXITSTATUS(status), 0};
  } else if (reaped < 0 && errno == ECHILD) {
    ended_ = ProgramEnd{};  // reaped elsewhere (SIGCHLD ignored): its status is lost
  }
  return ended_;
}

void ChildCommand::signal(int number) {
  if (pid_ > 0 && !ended_) {
    asked_to_end_ = true;
    ::kill(-pid_, number);
  }
}

bool ChildCommand::has_exited() {
  if (ended_ || pid_ <= 0) {
    return true;
  }
  siginfo_t info{};
  const int known = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
  return known == 0 ? info.si_pid == pid_ : errno == ECHILD;
}

bool ChildCommand::wait_for_end(std::chrono::milliseconds patience, const OutputSink& sink) {
  const Deadline deadline = Deadline::after(patience);
  while (!has_exited()) {
    if (deadline.passed()) {
      return false;
    }
    std::vector<pollfd> polled;
    add_pollfds(polled);
    // Nothing wakes us when the child exits (a pidfd would, since Linux 5.3): check every few ms.
    ::poll(polled.data(), polled.size(), std::min(deadline.poll_timeout(), 5));
    read_output(sink);
  }
  read_output(sink);
  return true;
}

std::optional<ProgramEnd> ChildCommand::stop(std::chrono::milliseconds grace,
                                             const OutputSink& sink) {
  signal(SIGTERM);
  wait_for_end(grace, sink);
  if (!never_kill_) {
    // It is not reaped yet, so the number of its group is still its own.
    signal(SIGKILL);
    wait_for_end(kKillPatience, sink);
  }
  return exit_status();
}

}  // namespace oddrank
