#include "reach/remote_shells.h"

#include <poll.h>

#include <algorithm>
#include <csignal>
#include <list>
#include <optional>
#include <utility>

#include "base/deadline.h"
#include "base/shell_words.h"
#include "reach/silence.h"
#include "reach/wire/frames.h"

namespace oddrank::reach {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kMaxShellPoll{20};
constexpr milliseconds kShellGrace{100};
constexpr std::size_t kMaxWords = 16384;

// One running program that reaches a host.
class Session {
 public:
  static Result<Session> start(std::size_t node,
                               const RemoteShells& shells,
                               const AgentOptions& options,
                               bool ship);

  std::size_t node() const { return node_; }
  bool shipped() const { return shipped_; }
  // An agent that gave a reason to take longer has more time.
  bool late(bool explained) const {
    return explained ? last_deadline_.passed() : deadline_.passed();
  }
  const std::optional<ProgramEnd>& exit() const { return exit_; }
  const std::string& words() const { return words_; }
  FrameCollector& output() { return output_; }
  void add_pollfds(std::vector<pollfd>& polled) const { child_.add_pollfds(polled); }

  // Reads pending output. Returns false once the program has exited.
  bool advance();

  void tell_to_end() { child_.signal(SIGTERM); }

 private:
  Session(ChildCommand child,
          std::size_t node,
          bool ship,
          Deadline deadline,
          Deadline last,
          Speakers speakers)
      : child_(std::move(child)),
        node_(node),
        shipped_(ship),
        deadline_(deadline),
        last_deadline_(last),
        output_(FrameLimits(), std::move(speakers)) {}

  ChildCommand child_;
  std::size_t node_;
  bool shipped_;
  Deadline deadline_;
  Deadline last_deadline_;
  FrameCollector output_;
  std::string words_;
  std::optional<ProgramEnd> exit_;
};

Result<Session> Session::start(std::size_t node,
                               const RemoteShells& shells,
                               const AgentOptions& options,
                               bool ship) {
  ODDRANK_TRY(ChildCommand child, ChildCommand::start(shells.call(node, options, ship)));
  const milliseconds usual = options.node_timeout + shells.limits().slack;
  Speakers speakers{options.run, {shells.host(node)}, true};
  return Session(std::move(child), node, ship, Deadline::after(usual),
                 Deadline::after(usual + options.longest_delay), std::move(speakers));
}

bool Session::advance() {
  exit_ = child_.exit_status();  // before reading, so that its last output is certainly read
  child_.read_output([this](OutputStream stream, std::string_view bytes) {
    if (stream == OutputStream::kStdout) {
      output_.feed(bytes);
    } else {
      words_.append(bytes.substr(0, kMaxWords - std::min(kMaxWords, words_.size())));
    }
  });
  if (exit_) {
    output_.finish();
  }
  return !exit_;
}

class ShellGathering {
 public:
  ShellGathering(const RemoteShells& shells, const AgentOptions& options);

  Result<GatherResult> run();

 private:
  Status start_more();
  Status start(std::size_t node, bool ship);
  void wait() const;
  void advance();
  // Returns false if the session is finished.
  bool advance(Session& session);
  void take(Session& session);
  void explain(Session& session);
  void stop_all();
  milliseconds elapsed() const {
    return std::chrono::duration_cast<milliseconds>(Deadline::Clock::now() - began_);
  }

  const RemoteShells& shells_;
  const AgentOptions& options_;
  Deadline::Clock::time_point began_ = Deadline::Clock::now();
  GatherResult result_;
  std::list<Session> running_;
  std::size_t next_ = 0;  // the next host to start
};

ShellGathering::ShellGathering(const RemoteShells& shells, const AgentOptions& options)
    : shells_(shells), options_(options) {
  for (std::size_t node = 0; node < shells.size(); ++node) {
    result_.nodes.emplace_back();
    result_.nodes.back().host = shells.host(node);
  }
}

Result<GatherResult> ShellGathering::run() {
  while (!options_.is_interrupted()) {
    ODDRANK_TRY_STATUS(start_more());
    if (running_.empty()) {
      break;
    }
    wait();
    advance();
    if (options_.progress) {
      options_.progress(progress_of(result_.nodes));
    }
  }
  result_.interrupted = options_.is_interrupted() && (!running_.empty() || next_ < shells_.size());
  stop_all();
  for (NodeAnswer& node : result_.nodes) {
    if (!node.answered && node.why.empty()) {
      node.why = "interrupted before its turn";
    }
  }
  result_.took = elapsed();
  return std::move(result_);
}

Status ShellGathering::start_more() {
  while (next_ < shells_.size() &&
         running_.size() < std::max<std::size_t>(shells_.limits().at_once, 1)) {
    ODDRANK_TRY_STATUS(start(next_, false));
    ++next_;
  }
  return ok();
}

Status ShellGathering::start(std::size_t node, bool ship) {
  auto session = Session::start(node, shells_, options_, ship);
  if (!session) {
    if (session.error().code == Errc::kNotFound) {
      return fail(shells_.no_program());
    }
    result_.nodes[node].why = session.error().what;
    return ok();
  }
  running_.push_back(*std::move(session));
  return ok();
}

void ShellGathering::wait() const {
  std::vector<pollfd> polled;
  for (const Session& session : running_) {
    session.add_pollfds(polled);
  }
  ::poll(polled.data(), polled.size(), static_cast<int>(kMaxShellPoll.count()));
}

void ShellGathering::advance() {
  for (auto each = running_.begin(); each != running_.end();) {
    // A retry is put at the end of the list and has its turn there.
    each = advance(*each) ? std::next(each) : running_.erase(each);
  }
}

bool ShellGathering::advance(Session& session) {
  const bool running = session.advance();
  take(session);
  NodeAnswer& node = result_.nodes[session.node()];
  node.heard = session.output().heard_of(node.host);
  node.doing = session.output().doing_of(node.host);
  const bool late = session.late(!node.doing.empty());
  if (running && !late) {
    return true;
  }
  const auto& refusals = session.output().refusals();
  result_.notes.insert(result_.notes.end(), refusals.begin(), refusals.end());
  if (node.answered) {
    return false;
  }
  if (!running && is_lacking(*session.exit()) && !session.shipped() && shells_.can_ship()) {
    if (start(session.node(), true)) {
      return false;
    }
  }
  explain(session);
  return false;
}

void ShellGathering::take(Session& session) {
  for (Payload& payload : session.output().take_complete()) {
    NodeAnswer& node = result_.nodes[session.node()];
    node.take(std::move(payload), elapsed());
    node.agent_text = session.words();
  }
}

void ShellGathering::explain(Session& session) {
  NodeAnswer& node = result_.nodes[session.node()];
  node.agent_text = session.words();
  Silence silence;
  // After Ctrl-C it is we who have ended the program.
  if (session.exit() && !options_.is_interrupted()) {
    const ShellFailure failure{session.node(), *session.exit(),
                               session.output().heard_of(node.host), session.words()};
    node.why = shells_.complaint(failure);
    if (!node.why.empty()) {
      return;
    }
    silence.exit = failure.end_words();
  }
  silence.timeout = options_.limit_of(node);
  silence.interrupted = options_.is_interrupted();
  silence.heard = session.output().heard_of(node.host);
  silence.complaint = first_complaint(session.words());
  for (const IncompletePayload& part : session.output().incomplete()) {
    silence.received = part.received;
    silence.total = part.total;
  }
  node.why = why_silent(silence);
}

// Terminates each program. An agent whose output is closed exits by itself.
void ShellGathering::stop_all() {
  for (Session& session : running_) {
    session.tell_to_end();
  }
  const Deadline deadline = Deadline::after(kShellGrace);
  for (Session& session : running_) {
    while (session.advance() && !deadline.passed()) {
      std::vector<pollfd> polled;
      session.add_pollfds(polled);
      ::poll(polled.data(), polled.size(), 5);
    }
    take(session);
    if (!result_.nodes[session.node()].answered) {
      explain(session);
    }
  }
  running_.clear();
}

// Returns a script that receives the binary, runs it and leaves nothing behind.
std::string shipping_script(const std::string& arguments) {
  return "d=$(mktemp -d) || exit 126; trap 'rm -rf \"$d\"' EXIT; trap 'exit 143' HUP INT TERM; "
         "cat >\"$d/oddrank\" && chmod 700 \"$d/oddrank\" && \"$d/oddrank\"" +
         arguments + " </dev/null";
}

}  // namespace

std::string remote_script(const AgentOptions& options, std::string_view host, bool ship) {
  std::string arguments;
  for (const std::string& word : options.agent_args) {
    arguments += " " + shell_quoted(word);
  }
  arguments += " --host " + shell_quoted(host);
  return ship ? shipping_script(arguments) : "exec " + shell_quoted(options.agent_path) + arguments;
}

std::string remote_command(const AgentOptions& options, std::string_view host, bool ship) {
  return "exec /bin/sh -c " + shell_quoted(remote_script(options, host, ship));
}

std::string ShellFailure::end_words() const {
  return end.code >= 0 ? "exited with status " + std::to_string(end.code)
                       : "ended by signal " + std::to_string(end.signal);
}

bool is_lacking(const ProgramEnd& end) {
  return end.code == 126 || end.code == 127;
}

Result<snapshot::JobInfo> RemoteShells::find_job(const Deadline& /*deadline*/) {
  snapshot::JobInfo job;
  job.source = snapshot::JobSource::kHosts;
  return job;
}

Result<GatherResult> RemoteShells::gather(const AgentOptions& options) const {
  if (options.agent_path.empty() || options.agent_path.front() != '/') {
    return fail(Errc::kUsage, "the agent's path must be absolute: " + options.agent_path);
  }
  return ShellGathering(*this, options).run();
}

}  // namespace oddrank::reach
