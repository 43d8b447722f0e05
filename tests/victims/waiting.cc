// A process whose main thread waits for one thing: `waiting MODE [FILE]`. Prints "ready NUMBER"
// right before it waits; NUMBER is the fd, the pid of the child or the tid that MODE is about.
//   read-pipe, write-pipe  a pipe with nothing in it, or full
//   read-fifo FILE         a FIFO that it has open for reading and writing
//   open-fifo FILE         a FIFO that no other process opens
//   recv, accept, connect  local and TCP sockets; connect: to a listener that takes no more
//   eventfd
//   poll, select, epoll    one pipe
//   poll-two               a pipe and a socket
//   sleep, signal
//   wait4                  a forked child, which waits in pause()
//   wait-any               the same, without its pid
//   vfork
//   flock FILE, lockf FILE a file that its child has locked
//   mutex                  a mutex that its second thread has locked; NUMBER is that thread
//   inherited              a child waits for a mutex that a thread of its parent has locked;
//                          NUMBER is the child
//   semaphore
//   stop                   stops itself by SIGSTOP
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <map>
#include <string>
#include <vector>

#include <netinet/in.h>

#include "tests/victims/wait_in_vfork.h"

namespace {

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
std::array<char, 1 << 17> buffer{};

void ready(long number) {
  std::printf("ready %ld\n", number);
  std::fflush(stdout);
}

[[noreturn]] void wait_for_ever() {
  while (true) {
    ::pause();
  }
}

std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{-1, -1};
  if (::pipe(ends.data()) != 0) {
    ::_exit(2);
  }
  return ends;
}

// Starts a child that exits with its parent; returns after the child has run `first`.
template <typename Work>
pid_t fork_child(Work first) {
  const auto done = make_pipe();
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    first();
    (void)!::write(done[1], "x", 1);
    wait_for_ever();
  }
  (void)!::read(done[0], buffer.data(), 1);
  return child;
}

void read_pipe(const std::string&) {
  const auto ends = make_pipe();
  ready(ends[0]);
  (void)!::read(ends[0], buffer.data(), buffer.size());
}

void write_pipe(const std::string&) {
  const auto ends = make_pipe();
  ready(ends[1]);
  (void)!::write(ends[1], buffer.data(), buffer.size());
}

void read_fifo(const std::string& file) {
  const int fd = ::open(file.c_str(), O_RDWR);
  ready(fd);
  (void)!::read(fd, buffer.data(), 1);
}

void open_fifo(const std::string& file) {
  ready(0);
  (void)::open(file.c_str(), O_RDONLY);
}

void receive(const std::string&) {
  std::array<int, 2> ends{-1, -1};
  (void)::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data());
  ready(ends[0]);
  (void)::recv(ends[0], buffer.data(), 1, 0);
}

void accept_one(const std::string&) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  (void)::listen(fd, 1);
  ready(fd);
  (void)::accept(fd, nullptr, nullptr);
}

void connect_full(const std::string&) {
  const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;  // the rest empty: bind picks an abstract name
  (void)::bind(listener, reinterpret_cast<sockaddr*>(&name), sizeof name.sun_family);
  socklen_t length = sizeof name;
  (void)::getsockname(listener, reinterpret_cast<sockaddr*>(&name), &length);
  (void)::listen(listener, 0);
  const int first = ::socket(AF_UNIX, SOCK_STREAM, 0);
  (void)::connect(first, reinterpret_cast<sockaddr*>(&name), length);
  const int second = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ready(second);
  (void)::connect(second, reinterpret_cast<sockaddr*>(&name), length);
}

void read_eventfd(const std::string&) {
  const int fd = ::eventfd(0, 0);
  ready(fd);
  (void)!::read(fd, buffer.data(), 8);
}

void poll_one(const std::string&) {
  pollfd entry{make_pipe()[0], POLLIN, 0};
  ready(entry.fd);
  (void)::poll(&entry, 1, -1);
}

void poll_two(const std::string&) {
  std::array<pollfd, 2> entries{
      {{make_pipe()[0], POLLIN, 0}, {::socket(AF_INET, SOCK_DGRAM, 0), POLLIN, 0}}};
  ready(entries[0].fd);
  (void)::poll(entries.data(), entries.size(), 3600 * 1000);
}

void select_one(const std::string&) {
  const int fd = make_pipe()[0];
  fd_set readable;
  FD_ZERO(&readable);
  FD_SET(fd, &readable);
  ready(fd);
  (void)::select(fd + 1, &readable, nullptr, nullptr, nullptr);
}

void epoll_one(const std::string&) {
  const int fd = make_pipe()[0];
  const int epoll = ::epoll_create1(0);
  epoll_event event{};
  event.events = EPOLLIN;
  (void)::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
  ready(fd);
  (void)::epoll_wait(epoll, &event, 1, -1);
}

void sleep_long(const std::string&) {
  ready(0);
  const timespec hour{3600, 0};
  (void)::clock_nanosleep(CLOCK_MONOTONIC, 0, &hour, nullptr);
}

void await_signal(const std::string&) {
  sigset_t none;
  sigemptyset(&none);
  sigaddset(&none, SIGUSR1);
  ready(0);
  (void)::sigwaitinfo(&none, nullptr);
}

void wait_one(const std::string&) {
  const pid_t child = fork_child([] {});
  ready(child);
  (void)::waitpid(child, nullptr, 0);
}

void wait_any(const std::string&) {
  const pid_t child = fork_child([] {});
  ready(child);
  (void)::waitpid(-1, nullptr, 0);
}

void vfork_child(const std::string&) {
  wait_in_vfork("ready 0\n");
}

void lock_by_flock(const std::string& file) {
  const auto open = [&] { return ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600); };
  const pid_t child = fork_child([&] { (void)::flock(open(), LOCK_EX); });
  const int fd = open();
  ready(child);
  (void)::flock(fd, LOCK_EX);
}

void lock_by_fcntl(const std::string& file) {
  const auto open = [&] { return ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600); };
  const pid_t child = fork_child([&] { (void)::lockf(open(), F_LOCK, 0); });
  const int fd = open();
  ready(child);
  (void)::lockf(fd, F_LOCK, 0);
}

std::array<int, 2> locked{-1, -1};

void* lock_and_wait(void*) {
  ::pthread_mutex_lock(&mutex);
  const long tid = ::syscall(SYS_gettid);
  (void)!::write(locked[1], &tid, sizeof tid);
  wait_for_ever();
}

long start_locker() {
  locked = make_pipe();
  pthread_t thread{};
  (void)::pthread_create(&thread, nullptr, lock_and_wait, nullptr);
  long tid = 0;
  (void)!::read(locked[0], &tid, sizeof tid);
  return tid;
}

void lock_mutex(const std::string&) {
  ready(start_locker());
  ::pthread_mutex_lock(&mutex);
}

void lock_inherited(const std::string&) {
  start_locker();
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::pthread_mutex_lock(&mutex);
    ::_exit(0);
  }
  ready(child);
  wait_for_ever();
}

void wait_semaphore(const std::string&) {
  sem_t semaphore;
  (void)::sem_init(&semaphore, 0, 0);
  ready(0);
  (void)::sem_wait(&semaphore);
}

void stop_itself(const std::string&) {
  ready(0);
  ::raise(SIGSTOP);
}

using Mode = void (*)(const std::string&);

Mode find_mode(const std::string& name) {
  static const std::map<std::string, Mode> kModes = {
      {"read-pipe", read_pipe},      {"write-pipe", write_pipe}, {"read-fifo", read_fifo},
      {"open-fifo", open_fifo},      {"recv", receive},          {"accept", accept_one},
      {"connect", connect_full},     {"eventfd", read_eventfd},  {"poll", poll_one},
      {"poll-two", poll_two},        {"select", select_one},     {"epoll", epoll_one},
      {"sleep", sleep_long},         {"signal", await_signal},   {"wait4", wait_one},
      {"wait-any", wait_any},        {"vfork", vfork_child},     {"flock", lock_by_flock},
      {"lockf", lock_by_fcntl},      {"mutex", lock_mutex},      {"inherited", lock_inherited},
      {"semaphore", wait_semaphore}, {"stop", stop_itself},
  };
  const auto at = kModes.find(name);
  return at == kModes.end() ? nullptr : at->second;
}

}  // namespace

int main(int count, char** arguments) {
  const Mode mode = count > 1 ? find_mode(arguments[1]) : nullptr;
  if (mode == nullptr) {
    return 2;
  }
  mode(count > 2 ? arguments[2] : "");
  return 0;
}
