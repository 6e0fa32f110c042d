#pragma once

// A tuning table: what `auto` takes. The built-in one (defaults.tuning) has rules for all groups, a user's
// mostly what was measured for some. A small text file, read without floating point; docs/tuning.md describes
// the format:
//
//     phicoll tuning 1
//     machine here
//     host 2 cpus, Some CPU at 2 GHz
//     cost local 86
//     number rotate 24576                     # HostNumbers
//     # operation mode ranks/cpus from-bytes spec
//     allreduce processes 2/2 65536 auto      # the built-in rules
//     gather any 9-/own single single-copy    # more than eight ranks with own CPUs, by the number `single`
//     gather any 2/own in-place direct={direct}:far=copied   # parameters of whatever is chosen

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "phicoll/collectives/choosing/expression.hpp"
#include "phicoll/collectives/choosing/row_group.hpp"
#include "phicoll/collectives/contract/operation.hpp"
#include "phicoll/collectives/contract/spec.hpp"
#include "phicoll/memory/host_numbers.hpp"
#include "phicoll/memory/line_costs.hpp"
#include "phicoll/memory/shape.hpp"

namespace phicoll {

/// The kind of ranks that a row is for.
enum class TuningMode : unsigned char { threads, processes, simulated, any };
const char* to_string(TuningMode mode);

/// The parameters that an in-place row may give: from which size on data that all reach is read where it
/// lies, how from afar, and from which size on it is stored where it goes. They go together with all others.
constexpr const char* direct_parameter = "direct";
constexpr const char* put_parameter = "put";
constexpr const char* in_place_parameters[] = {direct_parameter, "far", put_parameter};

/// One row: from `from` bytes on, this algorithm. `auto` stands for the built-in rules.
struct TuningRow {
  Operation operation = Operation::barrier;
  TuningMode mode = TuningMode::any;
  RowGroup group;
  std::string from = "0";  ///< bytes of the count argument, an expression; 0 for a barrier
  bool in_place = false;   ///< a row without a size: parameters of whatever algorithm another row chooses
  std::string given;       ///< the spec as it is written
  std::string why;         ///< the row's comment
  int line = 0;

  bool serves(TuningMode of) const { return mode == TuningMode::any || mode == of; }
  bool is_auto() const { return given == auto_name; }
  Computed begins(const Shape& shape) const;
  /// The spec for these ranks. Throws ArgumentError if computed values do not go together.
  AlgorithmSpec spec(const Shape& shape) const;
  /// The values that it gives parameters. `{...}` is computed, and kept within the parameter's range; of an
  /// in-place row it is 0, which is never, beyond that.
  ParameterValues values(const Shape& shape) const;
  std::string text() const;
};

class TuningTable {
 public:
  /// The table in `text`, which messages call `name` (its path). Throws ArgumentError("tuning") with name and
  /// line for a line that does not have the format, an unknown operation, mode or algorithm (with the nearest
  /// names), a parameter out of range, or two rows for the same calls.
  static TuningTable parse(const std::string& text, const std::string& name);
  /// Parses a file of at most a megabyte.
  static TuningTable read(const std::string& path);

  const std::string& name() const { return name_; }
  /// The machine that the table was made on or for; "" if it names none.
  const std::string& machine() const { return machine_; }
  /// host_fingerprint() of the host that the table was made on; "" for any host.
  const std::string& host() const { return host_; }
  int host_line() const { return host_line_; }
  int machine_line() const { return machine_line_; }
  /// What lines cost there; null if the table does not say.
  const LineCosts* costs() const { return costs_.empty() ? nullptr : &line_costs_; }
  const std::vector<TuningRow>& rows() const { return rows_; }
  /// The text that the table was read from.
  const std::string& source() const { return source_; }
  /// Sets in `host` the numbers that the table names.
  void apply_numbers(HostNumbers* host) const;
  bool sets(const HostNumberField& number) const;
  bool has_numbers() const { return !numbers_.empty(); }
  /// The table in canonical form: tables with equal text choose alike.
  std::string text() const;
  /// 16 hexadecimal digits of text().
  std::string digest() const;

  struct Found {
    const TuningRow* row = nullptr;  ///< null: nothing for such a group, or for so few bytes
    bool exact = false;              ///< false: the row is for the nearest number of ranks
    std::size_t least = 0;           ///< the fewest bytes for which the row holds
    std::size_t most = SIZE_MAX;     ///< the most bytes for which it holds
    int ranks = 0;                   ///< the number of ranks of the rows considered; 0: there are none
    int cpus = 0;                    ///< 0: the row is a rule
    std::string numbers =
        {};  ///< the host's numbers where the row begins and ends, "rotate=24576, wide=131072"
  };
  /// The row for a call of ranks that may use so many CPUs. Of the measured rows for the operation and mode
  /// whose ranks share CPUs, or do not, it takes those with the nearest number of ranks (by ratio), of these
  /// those with the nearest number of CPUs, and of these the last that begins at or below the call's bytes.
  /// If there are none, the first rules that serve such a group and whose row can serve the call, or else the
  /// last that serve the group.
  Found find(const Shape& shape, const CallFacts& facts, TuningMode mode, int cpus) const;
  /// The first in-place row for such a group, or null.
  const TuningRow* in_place(const Shape& shape, Operation operation, TuningMode mode) const;
  /// An operation's first row that begins at a host's number, and before it the row that precedes it in the
  /// same rules; both null if there is none.
  std::pair<const TuningRow*, const TuningRow*> border(Operation operation,
                                                       std::int64_t HostNumbers::*number) const;

 private:
  using Rows = std::vector<TuningRow>::const_iterator;
  Found measured(const Shape& shape, const CallFacts& facts, TuningMode mode, int cpus) const;
  Found by_rule(const Shape& shape, const CallFacts& facts, TuningMode mode) const;
  /// The row for a call among the rules from `from` to `to`.
  static Found of_rules(Rows from, Rows to, const Shape& shape, const CallFacts& facts);

  std::string name_, machine_, host_, source_;
  int host_line_ = 0, machine_line_ = 0;
  std::map<const LineCostField*, std::int64_t> costs_;  // in the order of the fields, as numbers_
  LineCosts line_costs_;
  std::map<const HostNumberField*, std::int64_t> numbers_;
  std::vector<TuningRow> rows_;
};

/// The rules used where no other table has a row: defaults.tuning.
const TuningTable& default_rules();

/// A group's table, the same on every rank.
struct Tuning {
  TuningTable table;
  TuningMode mode;
  int cpus;  ///< that the group's ranks may use
};

/// Gives a shape the table, its line costs and the host's numbers that it names. Null removes the table.
void tune(Shape* shape, const std::shared_ptr<const Tuning>& tuning);

}  // namespace phicoll
