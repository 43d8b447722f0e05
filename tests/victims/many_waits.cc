// A process in which each thread waits for something else: `many_waits PLUGIN`. PLUGIN is the
// library slow_plugin. Prints "ready NAME=NUMBER ..." when all threads are about to wait (the
// reader of that line must check in /proc that they do). Names are those of threads, with their
// tids, and:
//   child   pid of a process that has the other ends of the pipe and the socket
//   port    that `accepts` listens at
//   full    port of a listener that takes no more connections
//
// Locks of the C library, each of which one thread has and another wants:
//   constructs, loads     the dynamic loader's lock: within a constructor of PLUGIN, in dlopen
//   walks, unwinds        the lock of the list of libraries: both in dl_iterate_phdr
//   prints, writes        a stdio stream: by flockfile, in fputs
//   begins, comes_later   pthread_once
//   makes, finds          a static variable of a function
//   allocates, wants_heap the allocator's: a signal came while `allocates` had it; main in malloc
// Waits without an owner: awaits_condition, awaits_semaphore, awaits_barrier.
// Several files at once, whose other ends `child` has: polls, selects, epolls.
// Others: accepts, connects, reads_terminal, awaits_message (System V).
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <netinet/in.h>

namespace {

const char* plugin = "";
std::array<int, 2> told{-1, -1};  // a thread stores its tid right before it waits
std::array<char, 4096> line{};
std::size_t line_size = 0;
std::array<char, 64> buffer{};

// The pipe and the socket whose other ends the child has.
int pipe_end = -1;
int socket_end = -1;

[[noreturn]] void wait_for_ever() {
  while (true) {
    ::pause();
  }
}

void check(bool good) {
  if (!good) {
    std::perror("many_waits");
    ::_exit(2);
  }
}

void tell() {
  const long tid = ::syscall(SYS_gettid);
  (void)!::write(told[1], &tid, sizeof tid);
}

void say(const char* name, long number) {
  const int size =
      std::snprintf(line.data() + line_size, line.size() - line_size, " %s=%ld", name, number);
  line_size += static_cast<std::size_t>(std::max(size, 0));
}

using Work = void (*)();

void* run(void* work) {
  reinterpret_cast<Work>(work)();
  return nullptr;
}

// Returns when the thread has stored its tid.
void start(const char* name, Work work) {
  pthread_t thread{};
  check(::pthread_create(&thread, nullptr, run, reinterpret_cast<void*>(work)) == 0);
  long tid = 0;
  check(::read(told[0], &tid, sizeof tid) == sizeof tid);
  say(name, tid);
}

// --- locks of the C library ---

void constructs() {
  (void)::dlopen(plugin, RTLD_NOW);
}

void loads() {
  tell();
  (void)::dlopen("libm.so.6", RTLD_NOW);
}

void walks() {
  (void)::dl_iterate_phdr(
      [](dl_phdr_info*, std::size_t, void*) -> int {
        tell();
        wait_for_ever();
      },
      nullptr);
}

void unwinds() {
  tell();
  (void)::dl_iterate_phdr([](dl_phdr_info*, std::size_t, void*) { return 1; }, nullptr);
}

FILE* sink = nullptr;
const char* volatile text = "some text";  // so that the compiler does not replace fputs

void prints() {
  ::flockfile(sink);
  tell();
  wait_for_ever();
}

void writes() {
  tell();
  (void)std::fputs(text, sink);
}

pthread_once_t once = PTHREAD_ONCE_INIT;

void begins() {
  (void)::pthread_once(&once, [] {
    tell();
    wait_for_ever();
  });
}

void comes_later() {
  tell();
  (void)::pthread_once(&once, [] {});
}

struct NeverMade {
  NeverMade() {
    tell();
    wait_for_ever();
  }
};

const NeverMade& shared_thing() {
  static const NeverMade thing;
  return thing;
}

void makes() {
  (void)shared_thing();
}

void finds() {
  tell();
  (void)shared_thing();
}

constexpr std::size_t kBlock = 40000;  // too large for a thread's cache, too small for mmap
void* volatile kept = nullptr;         // so that no call is optimised away

void on_fault(int) {
  tell();
  wait_for_ever();
}

// Makes the free end of the heap inaccessible, so that malloc faults when it cuts a block from it,
// and a handler runs while the thread has the lock.
void allocates() {
  kept = std::malloc(kBlock);
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  char* begin = static_cast<char*>(kept) + kBlock + 64;  // after the header of the free end
  begin += page - reinterpret_cast<std::uintptr_t>(begin) % page;
  const auto* end = static_cast<const char*>(::sbrk(0));
  (void)std::signal(SIGSEGV, on_fault);
  check(end > begin + 2 * kBlock &&
        ::mprotect(begin, static_cast<std::size_t>(end - begin) / page * page, PROT_NONE) == 0);
  kept = std::malloc(kBlock);
}

// --- waits without an owner ---

void awaits_condition() {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  (void)::pthread_mutex_lock(&mutex);
  tell();
  (void)::pthread_cond_wait(&condition, &mutex);
}

void awaits_semaphore() {
  static sem_t semaphore;
  (void)::sem_init(&semaphore, 0, 0);
  tell();
  (void)::sem_wait(&semaphore);
}

void awaits_barrier() {
  static pthread_barrier_t barrier;
  (void)::pthread_barrier_init(&barrier, nullptr, 2);
  tell();
  (void)::pthread_barrier_wait(&barrier);
}

// --- files ---

void polls() {
  std::array<pollfd, 2> entries{{{pipe_end, POLLIN, 0}, {socket_end, POLLIN, 0}}};
  tell();
  (void)::poll(entries.data(), entries.size(), -1);
}

void selects() {
  fd_set readable;
  FD_ZERO(&readable);
  FD_SET(pipe_end, &readable);
  FD_SET(socket_end, &readable);
  tell();
  (void)::select(std::max(pipe_end, socket_end) + 1, &readable, nullptr, nullptr, nullptr);
}

void epolls() {
  const int epoll = ::epoll_create1(0);
  for (const int fd : {pipe_end, socket_end}) {
    epoll_event event{};
    event.events = EPOLLIN;
    check(::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0);
  }
  epoll_event event{};
  tell();
  (void)::epoll_wait(epoll, &event, 1, -1);
}

int listen_at(sockaddr_in& name, int backlog) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof name;
  check(::bind(fd, reinterpret_cast<sockaddr*>(&name), size) == 0 && ::listen(fd, backlog) == 0 &&
        ::getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size) == 0);
  return fd;
}

int open_listener = -1;
sockaddr_in full_listener{};

void accepts() {
  tell();
  (void)::accept(open_listener, nullptr, nullptr);
}

void connects() {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  tell();
  (void)::connect(fd, reinterpret_cast<sockaddr*>(&full_listener), sizeof full_listener);
}

// A terminal whose other side never writes.
void reads_terminal() {
  const int fd = ::open("/dev/ptmx", O_RDWR | O_NOCTTY);
  check(fd >= 0 && ::grantpt(fd) == 0 && ::unlockpt(fd) == 0);
  check(::open(::ptsname(fd), O_RDWR | O_NOCTTY) >= 0);
  tell();
  (void)!::read(fd, buffer.data(), 1);
}

void awaits_message() {
  const int queue = ::msgget(IPC_PRIVATE, 0600);
  check(queue >= 0);
  struct {
    long type;
    std::array<char, 8> text;
  } message{};
  tell();
  (void)::msgrcv(queue, &message, message.text.size(), 1, 0);
  (void)::msgctl(queue, IPC_RMID, nullptr);
}

void fork_child() {
  std::array<int, 2> pipe{-1, -1};
  std::array<int, 2> sockets{-1, -1};
  check(::pipe(pipe.data()) == 0 && ::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets.data()) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)::close(pipe[0]);
    (void)::close(sockets[0]);
    wait_for_ever();
  }
  (void)::close(pipe[1]);
  (void)::close(sockets[1]);
  pipe_end = pipe[0];
  socket_end = sockets[0];
  say("child", child);
}

void open_listeners() {
  sockaddr_in name{};
  open_listener = listen_at(name, 8);
  say("port", ntohs(name.sin_port));
  (void)listen_at(full_listener, 0);
  say("full", ntohs(full_listener.sin_port));
  for (int i = 0; i < 3; ++i) {  // one is accepted, the others get no answer
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    (void)::connect(fd, reinterpret_cast<sockaddr*>(&full_listener), sizeof full_listener);
  }
}

}  // namespace

// Called by the plugin.
extern "C" void wait_in_constructor() {
  tell();
  wait_for_ever();
}

int main(int count, char** arguments) {
  // One heap, with room at its end, for all threads.
  (void)::mallopt(M_ARENA_MAX, 1);
  (void)::mallopt(M_TOP_PAD, 1 << 20);
  (void)::mallopt(M_MMAP_THRESHOLD, 1 << 24);
  kept = std::malloc(1 << 18);
  plugin = count > 1 ? arguments[1] : "";
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  check(::pipe(told.data()) == 0);
  sink = std::fopen("/dev/null", "w");
  fork_child();
  open_listeners();
  start("makes", makes);
  start("finds", finds);
  start("awaits_condition", awaits_condition);
  start("awaits_semaphore", awaits_semaphore);
  start("awaits_barrier", awaits_barrier);
  start("polls", polls);
  start("selects", selects);
  start("epolls", epolls);
  start("accepts", accepts);
  start("connects", connects);
  start("reads_terminal", reads_terminal);
  start("awaits_message", awaits_message);
  start("prints", prints);
  start("writes", writes);
  start("begins", begins);
  start("comes_later", comes_later);
  start("constructs", constructs);
  start("loads", loads);
  start("walks", walks);
  start("unwinds", unwinds);
  start("allocates", allocates);
  // From here on no thread can allocate memory.
  say("wants_heap", ::getpid());
  line[line_size] = '\n';
  (void)!::write(1, "ready", 5);
  (void)!::write(1, line.data(), line_size + 1);
  kept = std::malloc(kBlock);
}
