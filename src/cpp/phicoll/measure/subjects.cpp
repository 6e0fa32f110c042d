#include "phicoll/measure/subjects.hpp"

#include <algorithm>

#include "phicoll/collectives/choosing/automatic.hpp"
#include "phicoll/collectives/registry/unknown_algorithm.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/calibration.hpp"
#include "phicoll/group/tuning.hpp"
#include "phicoll/measure/hand_data.hpp"
#include "phicoll/support/nearest.hpp"
#include "phicoll/support/split.hpp"

namespace phicoll {
namespace measure {

namespace {

constexpr const char* bare_loop = "bare-loop";

/// A reference with values for all its parameters.
AlgorithmSpec parse_reference(const AlgorithmInfo& info, const std::string& text) {
  AlgorithmSpec spec;
  if (info.parameters.empty()) {
    if (info.name != text)
      throw ArgumentError("algorithm", "'" + text + "'", info.name + " without parameters");
    return spec;
  }
  ParameterParser parser(info.name, spec.values = given_values(split(text, ':')));
  BareLoopParameters parameters;
  BareLoopParameters::describe(parser, parameters);
  parser.refuse_unknown();
  ParameterLister lister;
  BareLoopParameters::describe(lister, parameters);
  spec.name = info.name;
  spec.values = lister.values;
  return spec;
}

std::vector<AlgorithmInfo> openmp_references(const char* summary) {
  return {{"libgomp", Origin::reference, "GCC libgomp", summary, {}},
          {"libomp", Origin::reference, "LLVM libomp", summary, {}},
          {"libiomp5", Origin::reference, "Intel libiomp5", summary, {}}};
}

/// Why OpenMP's reduction cannot do the work; "" if it can.
std::string why_not_by_openmp(const Work& work) {
  constexpr std::uint64_t most = 1 << 20;
  if (!work.moves_data()) return "";
  const bool adds = work.type == Type::int32 || work.type == Type::int64 || work.type == Type::float32 ||
                    work.type == Type::float64;
  if (work.op != Op::sum || !adds) return "it adds int32, int64, float32 or float64";
  if (work.heap) return "its buffers are its threads' own";
  if (work.bytes == 0) return "it adds one element or more";
  if (work.bytes > most) return "it is for up to 1 MB: each thread's sums lie on its stack";
  return "";
}

/// What is measured beside an operation's algorithms.
Subject parse_beside(const AlgorithmInfo& info, const std::string& text, const Work& work) {
  AlgorithmSpec spec = parse_reference(info, text);
  const bool reference = info.name != prepared_call;
  if (!reference) spec.name = auto_name;
  return Subject{info, reference, std::move(spec), work};
}

}  // namespace

const char* const prepared_call = "prepared";

const std::vector<AlgorithmInfo>& reference_barriers() {
  static const std::vector<AlgorithmInfo> infos = [] {
    const auto reference = [](const char* name, const char* source, const char* summary) {
      return AlgorithmInfo{name, Origin::reference, source, summary, {}};
    };
    const char* own = "hand-written, phicoll";
    std::vector<AlgorithmInfo> barriers{
        reference("hand-one-line", own,
                  "two ranks on two CPUs, both flags in one line: the hand-written reference back to back"),
        reference("hand-two-lines", own, "two ranks on two CPUs, a line for each flag"),
        reference("hand-counter-per-cpu", own,
                  "ranks that share CPUs: a counter for each CPU, then the CPUs meet; waits within a CPU "
                  "yield at once"),
        reference("hand-flat-flags", own,
                  "ranks that share CPUs: a flag each; waits for those of the own CPU come first and yield "
                  "at once"),
        reference("std-barrier", "C++ standard library, std::barrier", "C++20 barrier; threads only"),
        reference("pthread-barrier", "C library, pthread_barrier_t",
                  "POSIX barrier, process-shared in processes"),
    };
    const std::vector<AlgorithmInfo> openmp =
        openmp_references("OpenMP barrier inside a parallel region; threads only");
    barriers.insert(barriers.end(), openmp.begin(), openmp.end());
    return barriers;
  }();
  return infos;
}

const std::vector<AlgorithmInfo>& references(Operation operation) {
  static const std::vector<AlgorithmInfo> none;
  static const std::vector<AlgorithmInfo> loop = [] {
    ParameterLister lister;
    BareLoopParameters parameters;
    BareLoopParameters::describe(lister, parameters);
    return std::vector<AlgorithmInfo>{
        {bare_loop, Origin::reference, "hand-written, phicoll",
         "nothing but the copies into a ring and out of it: the limit of this way", lister.infos}};
  }();
  static const std::vector<AlgorithmInfo> pair = [] {
    std::vector<AlgorithmInfo> both{
        {"hand-pair",
         Origin::reference,
         "hand-written, phicoll",
         "eight bytes (reductions: the sum of two float32) between two ranks on two "
         "CPUs: the hand-written reference",
         {}},
        {prepared_call,
         Origin::phicoll,
         "phicoll",
         "the call by auto with all but the data worked out before, as Communicator::prepare does",
         {}}};
    both.push_back(loop[0]);
    return both;
  }();
  static const std::vector<AlgorithmInfo> sums = [] {
    std::vector<AlgorithmInfo> all = pair;
    const std::vector<AlgorithmInfo> openmp =
        openmp_references("OpenMP's reduction(+) inside a parallel region, for rank 0; threads only");
    all.insert(all.end(), openmp.begin(), openmp.end());
    return all;
  }();
  if (!moves_data(operation)) return reference_barriers();
  if (operation == Operation::reduce) return sums;
  return has_hand_call(operation) ? pair : BareLoop::serves(operation) ? loop : none;
}

bool is_openmp_reference(const std::string& name) {
  return name == "libgomp" || name == "libomp" || name == "libiomp5";
}

std::vector<Subject> parse_subjects(const std::string& text, const Work& work) {
  const Family& all = family(work.operation);
  static const std::vector<AlgorithmInfo> none;
  // Hand-written references make only the plain call.
  const std::vector<AlgorithmInfo>& beside =
      work.vector || work.exclusive || (work.program.any() && moves_data(work.operation))
          ? none
          : references(work.operation);
  std::vector<Subject> subjects;
  std::vector<std::string> seen;
  const auto add = [&](Subject subject) {
    std::string canonical = subject.text();
    if (std::find(seen.begin(), seen.end(), canonical) != seen.end()) return;
    seen.push_back(std::move(canonical));
    subject.work = work;
    subjects.push_back(std::move(subject));
  };
  std::vector<std::string> names = all.set_names();
  names.push_back("references");
  for (const AlgorithmInfo& info : all.algorithms()) names.push_back(info.name);
  for (const AlgorithmInfo& info : beside) names.push_back(info.name);

  for (const std::string& part : split_list(text)) {
    if (part == "references") {
      for (const AlgorithmInfo& info : beside)
        if (info.origin == Origin::reference) add(parse_beside(info, info.name, work));
      continue;
    }
    const std::string name = part.substr(0, part.find(':'));
    bool found = false;
    for (const AlgorithmInfo& info : beside)
      if (info.name == name) {
        add(parse_beside(info, part, work));
        found = true;
      }
    if (found) continue;
    std::vector<AlgorithmSpec> specs;
    try {
      specs = all.parse_list(part);
    } catch (const UnknownAlgorithm&) {
      // The registry suggests only its own names; here a reference's name may be the nearest.
      throw ArgumentError("algorithm", "'" + name + "'", nearest_or_all(name, names));
    }
    for (const AlgorithmSpec& spec : specs)
      for (const AlgorithmInfo& info : all.algorithms())
        if (info.name == spec.name) add(Subject{info, false, spec, work});
  }
  return subjects;
}

Shape tuned(Shape shape, const std::string& mode) {
  shape.set_host(stored_numbers());
  tune(&shape,
       load_tuning(tuning_source(), mode == "processes" ? TuningMode::processes : TuningMode::threads));
  return shape;
}

AlgorithmChoice choice_of(const Subject& subject, const Shape& shape) {
  return automatic_choice(shape, asked_of(subject.spec, subject.work.facts()));
}

AlgorithmSpec effective_subject(const Subject& subject, const Shape& shape) {
  const Family& all = family(subject.work.operation);
  const bool open = subject.spec.is_auto() && moves_data(subject.work.operation);
  return all.effective(open ? choice_of(subject, shape).spec : subject.spec, shape);
}

BareLoopParameters bare_loop_parameters(const Subject& subject) {
  ParameterParser parser(subject.spec.name, subject.spec.values);
  BareLoopParameters parameters;
  BareLoopParameters::describe(parser, parameters);
  return parameters;
}

std::size_t subject_footprint(const Subject& subject, const Shape& shape) {
  if (subject.info.name == bare_loop)
    return BareLoop::footprint(bare_loop_parameters(subject), subject.work, shape.size());
  if (subject.reference) return 0;
  return family(subject.work.operation).footprint(effective_subject(subject, shape), shape);
}

std::string why_not(const Subject& subject, const std::string& mode, const Shape& shape) {
  if (subject.work.program.any()) {
    const char* const why = subject.work.program.why_not(shape.size());
    if (why != nullptr) return why;
  }
  if (!subject.reference) {
    if (!moves_data(subject.work.operation) || subject.spec.is_auto()) return "";
    try {
      family(subject.work.operation).check_fit(subject.spec, shape, subject.work.facts());
      return "";
    } catch (const ArgumentError& error) {
      return "it needs " + error.allowed();
    }
  }
  const std::string& name = subject.info.name;
  const bool threads = mode == "threads";
  if ((name == "std-barrier" || is_openmp_reference(name)) && !threads) return "it is for threads only";
  if (is_openmp_reference(name)) return why_not_by_openmp(subject.work);
  if (name == bare_loop) {
    const char* const lacks = BareLoop::lacking(bare_loop_parameters(subject));
    if (lacks != nullptr) return lacks;
    if (shape.size() < 2) return "it is for two ranks or more";
  }
  if (name == "hand-pair") {
    const Work& work = subject.work;
    if (work.bytes != 8) return "it is for eight bytes";
    if (work.reduces() && (work.type != Type::float32 || work.op != Op::sum)) return "it adds float32";
  }
  if (name == "hand-pair" || name == "hand-one-line" || name == "hand-two-lines") {
    if (shape.size() != 2) return "it is for two ranks";
    if (shape.oversubscribed()) return "its two ranks need a CPU each";
  }
  if (name == "hand-counter-per-cpu" || name == "hand-flat-flags")
    if (!shape.oversubscribed()) return "it is for ranks that share CPUs";
  return "";
}

}  // namespace measure
}  // namespace phicoll
