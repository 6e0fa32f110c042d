#pragma once

// What `auto` takes where somebody has measured: a small text file, read without floating point.
// docs/tuning.md is its format:
//
//   phicoll tuning 1
//   machine here
//   host 2 cpus, Some CPU at 2 GHz
//   cost local 86
//   # operation mode ranks/cpus from-bytes spec
//   allreduce processes 2/2 0 one-shot      # measured gain 1.21 (1.18 to 1.25)
//   allreduce processes 2/2 65536 auto      # the built-in rules

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "phicoll/collectives/contract/operation.hpp"
#include "phicoll/collectives/contract/spec.hpp"
#include "phicoll/memory/line_costs.hpp"
#include "phicoll/memory/shape.hpp"

namespace phicoll {

/// What the ranks of a row were.
enum class TuningMode : unsigned char { threads, processes, simulated };
const char* to_string(TuningMode mode);

/// One line: from so many bytes on, that algorithm. `auto` stands for the built-in rules.
struct TuningRow {
  Operation operation;
  TuningMode mode;
  int ranks;
  int cpus;          ///< that the ranks could use
  std::size_t from;  ///< bytes of the count argument; 0 for a barrier
  AlgorithmSpec spec;
  std::string given;  ///< the spec as it is written
  int line;
  /// Whether some of the ranks had to share a CPU.
  bool sharing() const { return ranks > cpus; }
  std::string text() const;
};

class TuningTable {
 public:
  /// The table in `text`; `name` is what messages call it, its path. Throws ArgumentError("tuning") with name
  /// and line for a line that is none of the format's, an unknown operation, mode or algorithm (with the
  /// nearest names), a parameter out of range, two rows for the same calls.
  static TuningTable parse(const std::string& text, const std::string& name);
  /// The same from a file of at most a megabyte.
  static TuningTable read(const std::string& path);

  const std::string& name() const { return name_; }
  /// The machine that it was made on or for; "" where it does not say.
  const std::string& machine() const { return machine_; }
  /// host_fingerprint() of the host that it was made on; "" where it does not say: then it is for any.
  const std::string& host() const { return host_; }
  int host_line() const { return host_line_; }
  int machine_line() const { return machine_line_; }
  /// What lines cost there; null where it does not say.
  const LineCosts* costs() const { return costs_given_.empty() ? nullptr : &costs_; }
  const std::vector<TuningRow>& rows() const { return rows_; }
  /// The text that it was read from.
  const std::string& source() const { return source_; }
  /// All that it says in one form: tables with the same text choose alike.
  std::string text() const;
  /// 16 hexadecimal digits of text().
  std::string digest() const;

  struct Found {
    const TuningRow* row = nullptr;  ///< null: nothing for such a group, or for so few bytes
    bool exact = false;              ///< else the row is of the nearest number of ranks
    std::size_t least = 0;           ///< the row holds from so many bytes
    std::size_t most = SIZE_MAX;     ///< to so many
    int ranks = 0;                   ///< of the group whose rows were looked at; 0: there is none
    int cpus = 0;
  };
  /// The row for a call: of the rows of the operation and mode whose ranks share CPUs (`sharing`) or do not,
  /// those with the nearest number of ranks (by ratio), among them the nearest number of CPUs, and of these
  /// the last that begins at or below `bytes`.
  Found find(Operation operation, TuningMode mode, int ranks, int cpus, bool sharing,
             std::size_t bytes) const;

 private:
  std::string name_, machine_, host_, source_;
  int host_line_ = 0;
  int machine_line_ = 0;
  LineCosts costs_;
  std::vector<std::string> costs_given_;
  std::vector<TuningRow> rows_;
};

/// A table as a group has it: every rank the same one.
struct Tuning {
  TuningTable table;
  TuningMode mode;
  int cpus;  ///< that the group's ranks may use
};

/// Gives a shape the table, and the line costs that it has. Null: none.
void tune(Shape* shape, const std::shared_ptr<const Tuning>& tuning);

}  // namespace phicoll
