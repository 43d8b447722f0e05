#include "slurm/job_outlook.h"

#include <chrono>

#include "base/span_words.h"

namespace oddrank::slurm {
namespace {

using std::chrono::seconds;

// A partition without a limit gives its jobs one of a year.
constexpr seconds kUnlimited = std::chrono::hours(24 * 300);

}  // namespace

std::string outlook_words(const Job& job) {
  std::string words;
  if (job.elapsed_s >= 0) {
    words = "the job has run for " + span_words(seconds(job.elapsed_s));
  }
  if (job.time_left_s >= 0 && seconds(job.time_left_s) < kUnlimited) {
    words += std::string(words.empty() ? "the job's" : ", its") + " time limit ends it in " +
             span_words(seconds(job.time_left_s));
  }
  if (job.requeue) {
    words += std::string(words.empty() ? "" : "; ") +
             (*job.requeue ? "if a node fails, SLURM restarts it from the beginning (Requeue=1)"
                           : "if a node fails, it ends for good (Requeue=0)");
  }
  if (job.restarts > 0 && job.requeue) {
    words += std::string(*job.requeue ? ", as it has done " : "; it was restarted ") +
             (job.restarts == 1   ? std::string("once")
              : job.restarts == 2 ? std::string("twice")
                                  : std::to_string(job.restarts) + " times");
  }
  return words;
}

}  // namespace oddrank::slurm
