#include "snapshot/format/decode_many.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "snapshot/format/capture_file.h"

namespace oddrank::snapshot {
namespace {

// Threads take pieces of adjacent captures, so that they seldom contend; every thread gets some, so
// that none is idle at the end.
constexpr std::size_t kMaxPiece = 16;
constexpr std::size_t kPiecesAThread = 8;
constexpr std::size_t kPiecesAhead = 8;
constexpr std::size_t kMaxThreads = 8;

Result<Capture> decode_one(std::size_t i, const BytesOf& bytes_of) {
  ODDRANK_TRY(const std::string bytes, bytes_of(i));
  return decode_capture(bytes);
}

class Decoding {
 public:
  using Piece = std::vector<Result<Capture>>;

  Decoding(std::size_t count, std::size_t piece, const BytesOf& bytes_of)
      : count_(count), piece_(piece), bytes_of_(bytes_of) {}

  // Runs in each of the threads.
  void work();

  // Starts nothing more.
  void stop();

  // Returns pieces in order; `first` is the number of captures already returned.
  Piece wait_for(std::size_t first);

 private:
  std::optional<std::size_t> next();

  std::size_t count_;
  std::size_t piece_;
  const BytesOf& bytes_of_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::size_t, Piece> done_;  // by the number of its first
  std::size_t next_ = 0;
  std::size_t taken_ = 0;
};

void Decoding::work() {
  while (const auto first = next()) {
    Piece piece;
    piece.reserve(piece_);
    for (std::size_t i = *first; i < std::min(*first + piece_, count_); ++i) {
      piece.push_back(decode_one(i, bytes_of_));
    }
    const std::scoped_lock lock(mutex_);
    done_.emplace(*first, std::move(piece));
    changed_.notify_all();
  }
}

void Decoding::stop() {
  const std::scoped_lock lock(mutex_);
  next_ = count_;
  changed_.notify_all();
}

Decoding::Piece Decoding::wait_for(std::size_t first) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return done_.contains(first); });
  Piece piece = std::move(done_.extract(first).mapped());
  taken_ = first + piece.size();
  changed_.notify_all();
  return piece;
}

std::optional<std::size_t> Decoding::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return next_ >= count_ || next_ < taken_ + kPiecesAhead * piece_; });
  if (next_ >= count_) {
    return std::nullopt;
  }
  return std::exchange(next_, next_ + piece_);
}

// If the taker throws, the threads would wait for their captures to be taken, and we for the
// threads. This goes out of scope before them and stops them.
struct StopAtEnd {
  explicit StopAtEnd(Decoding& stopped) : decoding(stopped) {}
  StopAtEnd(const StopAtEnd&) = delete;
  StopAtEnd& operator=(const StopAtEnd&) = delete;
  StopAtEnd(StopAtEnd&&) = delete;
  StopAtEnd& operator=(StopAtEnd&&) = delete;
  ~StopAtEnd() { decoding.stop(); }

  Decoding& decoding;
};

}  // namespace

void decode_many(std::size_t count, const BytesOf& bytes_of, const TakeCapture& take) {
  const std::size_t wanted =
      std::min({count, kMaxThreads, std::size_t{std::thread::hardware_concurrency()}});
  const std::size_t piece = std::clamp(count / (kPiecesAThread * std::max<std::size_t>(wanted, 1)),
                                       std::size_t{1}, kMaxPiece);
  Decoding decoding(count, piece, bytes_of);
  std::vector<std::jthread> threads;
  const StopAtEnd stop(decoding);
  while (count > 1 && threads.size() < wanted) {
    // A limit on processes must not prevent a report.
    try {
      threads.emplace_back([&decoding] { decoding.work(); });
    } catch (const std::system_error&) {
      break;
    }
  }
  for (std::size_t i = 0; i < count && threads.empty(); ++i) {
    take(i, decode_one(i, bytes_of));
  }
  for (std::size_t i = 0; i < count && !threads.empty();) {
    for (auto& capture : decoding.wait_for(i)) {
      take(i++, std::move(capture));
    }
  }
}

}  // namespace oddrank::snapshot
