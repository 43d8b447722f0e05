#include "snapshot/decode_many.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "snapshot/capture_file.h"

namespace oddrank::snapshot {
namespace {

constexpr std::size_t kAhead = 64;
constexpr std::size_t kMostThreads = 8;

Result<Capture> decode_one(std::size_t i, const BytesOf& bytes_of) {
  ODDRANK_TRY(const std::string bytes, bytes_of(i));
  return decode_capture(bytes);
}

class Decoding {
 public:
  Decoding(std::size_t count, const BytesOf& bytes_of) : count_(count), bytes_of_(bytes_of) {}

  // What each of the threads does.
  void work() {
    while (const auto i = next()) {
      auto capture = decode_one(*i, bytes_of_);
      const std::scoped_lock lock(mutex_);
      done_.emplace(*i, std::move(capture));
      changed_.notify_all();
    }
  }

  Result<Capture> wait_for(std::size_t i) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_.contains(i); });
    auto capture = std::move(done_.extract(i).mapped());
    taken_ = i + 1;
    changed_.notify_all();
    return capture;
  }

 private:
  std::optional<std::size_t> next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return next_ == count_ || next_ < taken_ + kAhead; });
    return next_ == count_ ? std::nullopt : std::optional(next_++);
  }

  std::size_t count_;
  const BytesOf& bytes_of_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::size_t, Result<Capture>> done_;
  std::size_t next_ = 0;
  std::size_t taken_ = 0;
};

}  // namespace

void decode_many(std::size_t count, const BytesOf& bytes_of, const TakeCapture& take) {
  Decoding decoding(count, bytes_of);
  std::vector<std::jthread> threads;
  const std::size_t wanted =
      std::min({count, kMostThreads, std::size_t{std::thread::hardware_concurrency()}});
  while (count > 1 && threads.size() < wanted) {
    // A limit on processes is no reason to give no report.
    try {
      threads.emplace_back([&decoding] { decoding.work(); });
    } catch (const std::system_error&) {
      break;
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    take(i, threads.empty() ? decode_one(i, bytes_of) : decoding.wait_for(i));
  }
}

}  // namespace oddrank::snapshot
