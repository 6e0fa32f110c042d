#include "phicoll/group/calibration.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <mutex>
#include <string>

#include "phicoll/arch/arch.hpp"
#include "phicoll/collectives/choosing/tuning_table.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/communicator.hpp"
#include "phicoll/group/tuning.hpp"
#include "phicoll/memory/host_numbers.hpp"
#include "phicoll/os/cpu_set.hpp"
#include "phicoll/os/environment.hpp"
#include "phicoll/os/facts.hpp"
#include "phicoll/os/own_file.hpp"
#include "phicoll/support/text_hash.hpp"

namespace phicoll {

namespace {

// Part of the file's name, so that another version's file is never read. Raise it whenever the meaning of a
// number changes, or the order of host_number_fields, by which the file says which were measured.
constexpr const char* version = "12";
constexpr const char* variable = "PHICOLL_CALIBRATION";

/// Numbers that this process has measured or read, for its next groups, in case no file can be written.
struct Remembered {
  std::mutex mutex;
  HostNumbers numbers;
  std::atomic<std::time_t> since{0};
};
Remembered& remembered() {
  static Remembered known;
  return known;
}

std::string absolute(const char* name) {
  const char* const text = os::environment(name);
  return text != nullptr && text[0] == '/' ? std::string(text) : std::string();
}

std::string cache_directory() {
  const std::string cache = absolute("XDG_CACHE_HOME");
  if (!cache.empty()) return cache + "/phicoll";
  const std::string home = absolute("HOME");
  return home.empty() ? std::string() : home + "/.cache/phicoll";
}

/// Whether any was measured.
bool made(const HostNumbers& numbers) {
  return numbers.near_seen + numbers.far_seen + numbers.sizes_seen != 0;
}

/// Whether the file has numbers of this kind of host.
bool read_numbers(HostNumbers* numbers) {
  const std::string path = calibration_file();
  if (path.empty() || access(path.c_str(), R_OK) != 0) return false;
  const std::string foreign = os::foreign_reason(path);
  if (!foreign.empty()) {
    warn_once("the host's numbers in " + path + " are not used, as " + foreign +
              "; set XDG_CACHE_HOME to a folder that is yours alone");
    return false;
  }
  try {
    const TuningTable table = TuningTable::read(path);
    if (table.machine() != host_kind() || !table.has_numbers()) return false;
    table.apply_numbers(numbers);
  } catch (const ArgumentError&) {
    return false;  // of another format, or not a table at all
  }
  if (made(*numbers) || numbers->disturbed == 0) numbers->state = HostNumbers::measured;
  return true;
}

std::string lines_of(const HostNumbers& numbers) {
  std::string lines;
  for (const HostNumberField& field : host_number_fields)
    lines += std::string("number ") + field.name + " " + std::to_string(numbers.*field.value) + "\n";
  return lines;
}

void make_directories(const std::string& path) {
  for (std::size_t at = path.find('/', 1);; at = path.find('/', at + 1)) {
    mkdir(path.substr(0, at).c_str(), 0700);  // a failure is seen when a file is opened there
    if (at == std::string::npos) return;
  }
}

/// The right to measure on this kind of host and to write its file, held while the object lives. Where there
/// are no locks, all may.
///
/// A record lock belongs to the process and ends with it: unlike a lock of flock(), a process that was forked
/// meanwhile does not keep it. But it covers all threads of the process, and the first to close the file
/// releases it. So one thread at a time uses the file.
class Turn {
 public:
  Turn() {
    const std::string path = calibration_file();
    if (path.empty()) return;
    pid_t other = taken_by_.load(std::memory_order_relaxed);
    // A forked process has a copy, which names its parent.
    mine_ =
        other != getpid() && taken_by_.compare_exchange_strong(other, getpid(), std::memory_order_acquire);
    if (!mine_) return;
    taken_ = true;
    if (!os::foreign_reason(path).empty()) return;  // nothing will be written
    make_directories(cache_directory());
    descriptor_ = open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (descriptor_ < 0) return;
    struct flock whole = {};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    mine_ = fcntl(descriptor_, F_SETLK, &whole) == 0 || (errno != EACCES && errno != EAGAIN);
  }
  ~Turn() {
    if (descriptor_ >= 0) close(descriptor_);
    if (taken_) taken_by_.store(0, std::memory_order_release);  // after the file is closed
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  bool mine() const { return mine_; }

 private:
  static std::atomic<pid_t> taken_by_;  // 0: no thread uses the file
  int descriptor_ = -1;
  bool mine_ = true;
  bool taken_ = false;
};

std::atomic<pid_t> Turn::taken_by_{0};

void remember(const HostNumbers& numbers) {
  Remembered& known = remembered();
  const std::lock_guard<std::mutex> lock(known.mutex);
  known.numbers = numbers;
  known.since = std::time(nullptr);
}

/// Whether measuring was disturbed so recently, by any process, that it would be again: within the last two
/// seconds, or if it was twice in a row four, up to a minute.
bool disturbed_lately(const HostNumbers& stored) {
  if (stored.disturbed == 0) return false;
  struct stat file;
  const bool kept = stat(calibration_file().c_str(), &file) == 0;
  const std::int64_t ago = std::time(nullptr) - (kept ? file.st_mtime : remembered().since.load());
  return ago >= 0 && ago < std::int64_t{1} << std::min<std::int64_t>(stored.disturbed, 6);
}

/// The file's numbers, else what this process remembers, if anything. Returns whether the file has any.
bool find_numbers(HostNumbers* numbers) {
  if (read_numbers(numbers)) return true;
  Remembered& known = remembered();
  const std::lock_guard<std::mutex> lock(known.mutex);
  *numbers = known.numbers;
  return false;
}

/// The card has nothing to measure: it has one way to copy.
bool measurable() {
  return std::strcmp(arch::name(), "k1om") != 0;
}

}  // namespace

CalibrationUse calibration_use() {
  const char* const text = os::environment(variable);
  const std::string use = text == nullptr ? "" : text;
  if (use.empty() || use == "on") return CalibrationUse::on;
  if (use == "read") return CalibrationUse::read;
  if (use == "off") return CalibrationUse::off;
  throw ArgumentError(variable, "'" + use + "'", "on, read, off");
}

// Kept: every new group asks, and the system takes long to describe hundreds of CPUs.
const std::string& host_kind() {
  static const std::string kind = [] {
    const std::string details = os::cpu_details();
    return os::cpu_model() + (details.empty() ? "" : ", " + details);
  }();
  return kind;
}

std::string calibration_file() {
  const std::string directory = cache_directory();
  if (directory.empty()) return std::string();
  return directory + "/calibration-" + version + "-" + hexadecimal(text_hash(host_kind())) + ".tuning";
}

HostNumbers stored_numbers() {
  HostNumbers numbers;
  const CalibrationUse use = calibration_use();
  if (use == CalibrationUse::off || !measurable()) return numbers;
  if (use == CalibrationUse::on)
    find_numbers(&numbers);
  else
    read_numbers(&numbers);
  return numbers;
}

bool may_calibrate(const GroupOptions& options, const HostNumbers& stored) {
  const bool patient = options.timeout_ms == 0 || options.timeout_ms >= 1000;
  return calibration_use() == CalibrationUse::on && measurable() && patient && !disturbed_lately(stored);
}

HostNumbers::Sharing sharing_of(const Shape& shape) {
  return !shape.sharing()         ? HostNumbers::pair
         : shape.size() <= 4      ? HostNumbers::few
         : shape.oversubscribed() ? HostNumbers::many
                                  : HostNumbers::unplaced;
}

bool lacks_numbers(const HostNumbers& stored, const Shape& shape, int cpus) {
  const int peer = calibrating_peer(shape);
  if (cpus < 2 || peer < 0) return false;
  // A file of near CPUs alone does not cover far ones, nor the other way round. A virtual machine's CPUs
  // move, so its groups find out what they have. Elsewhere a group that spans caches or packages is likely to
  // be far, and another one near.
  const CpuLocation& first = shape[0];
  const CpuLocation& other = shape[peer];
  const bool apart = first.l3 != other.l3 || first.package != other.package;
  const bool uncovered = os::virtualisation() != "none" || (apart ? stored.far_seen : stored.near_seen) == 0;
  const bool one = (stored.near_seen != 0) != (stored.far_seen != 0) && uncovered;
  const HostNumbers::Sharing sharing = sharing_of(shape);
  const auto lacks = [&](std::int64_t state_seen, bool far) {
    return state_seen != 0 && (stored.sizes_seen & HostNumbers::seen_in(far, sharing)) == 0;
  };
  const bool others = lacks(stored.near_seen, false) || lacks(stored.far_seen, true);
  const bool none = stored.near_seen == 0 && stored.far_seen == 0;
  // Numbers that a user wrote are left alone.
  return stored.state != HostNumbers::measured || one || others || (none && stored.disturbed != 0);
}

std::string numbers_digest(HostNumbers numbers) {
  const HostNumbers usual;
  for (const HostNumberField& field : host_number_fields)
    if (is_mark(field)) numbers.*field.value = usual.*field.value;
  const std::string lines = lines_of(numbers);
  return lines == lines_of(usual) ? std::string() : hexadecimal(text_hash(lines));
}

// The file gets its name when it is complete, so a reader sees all of the old one or all of the new one.
bool store_numbers(const HostNumbers& numbers, const std::string& how) {
  const std::string path = calibration_file();
  if (path.empty() || !os::foreign_reason(path).empty()) return false;
  make_directories(cache_directory());
  const std::string text = "phicoll tuning 1\n# " + how +
                           "; docs/tuning.md has the format. Remove the file to measure anew.\nmachine " +
                           host_kind() + "\n" + lines_of(numbers);
  std::string fresh = path + ".XXXXXX";
  const int file = mkostemp(&fresh[0], O_CLOEXEC);
  if (file < 0) return false;
  bool whole = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  whole = close(file) == 0 && whole && std::rename(fresh.c_str(), path.c_str()) == 0;
  if (!whole) unlink(fresh.c_str());
  return whole;
}

int calibrating_peer(const Shape& shape) {
  int beside = -1;
  for (int r = 1; r < shape.size(); ++r) {
    if (shape.share_cpu(0, r)) continue;
    if (shape[r].core < 0 || shape[r].core != shape[0].core || shape[r].package != shape[0].package) return r;
    if (beside < 0) beside = r;
  }
  return beside;
}

HostNumbers calibrated(Communicator& ranks, const Calibrating& what, bool anew) {
  HostNumbers numbers;
  std::unique_ptr<Turn> turn;
  bool stored = false;
  std::uint64_t measures = 0;  // what rank 0 found; a broadcast tells the others
  if (ranks.rank() == 0) {
    turn.reset(new Turn());
    stored = find_numbers(&numbers);
    const std::int64_t both =
        HostNumbers::seen_in(false, what.sizes) | HostNumbers::seen_in(true, what.sizes);
    const bool copies = !what.copies || numbers.near_seen + numbers.far_seen == 2;
    const bool sizes = (numbers.sizes_seen & both) == both;
    measures = !(copies && sizes && !anew) && turn->mine() ? 1 : 0;
  }
  ranks.broadcast(&measures, sizeof measures, 0);
  ranks.broadcast(&numbers, sizeof numbers, 0);
  if (measures == 0) return numbers;
  const HostNumbers before = numbers;
  if (anew && what.copies) numbers = without_measured(numbers);
  if (!measure_numbers(ranks, &numbers, what)) {
    numbers = before;
    ++numbers.disturbed;
  }
  if (ranks.rank() == 0) {
    remember(numbers);
    if (anew || !stored || lines_of(numbers) != lines_of(before))
      store_numbers(numbers, "measured by phicoll between its ranks");
  }
  return numbers;
}

}  // namespace phicoll
