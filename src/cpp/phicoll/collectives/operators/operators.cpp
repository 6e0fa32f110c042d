#include "phicoll/collectives/operators/operators.hpp"

#include <map>
#include <mutex>

#include "phicoll/collectives/operators/operator_kernels.hpp"
#include "phicoll/collectives/operators/type_names.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/support/nearest.hpp"

namespace phicoll {
namespace {

struct TypeRow {
  const char* name;
  std::uint32_t bytes;
  bool floating;  ///< sums and products round
};
constexpr TypeRow type_rows[types] = {
    {"int8", 1, false},    {"int16", 2, false},     {"int32", 4, false},       {"int64", 8, false},
    {"uint8", 1, false},   {"uint16", 2, false},    {"uint32", 4, false},      {"uint64", 8, false},
    {"float32", 4, true},  {"float64", 8, true},    {"complex64", 8, true},    {"complex128", 16, true},
    {"bool8", 1, false},   {"float_int", 8, false}, {"double_int", 16, false}, {"long_int", 16, false},
    {"two_int", 8, false}, {"short_int", 8, false}, {"float16", 2, true},      {"bfloat16", 2, true}};
// In the place of an Op.
constexpr unsigned users_own = 15;
static_assert(ops <= users_own && types <= most_types, "both fit into a signature");
constexpr const char* op_names[ops] = {"sum", "prod", "min",  "max",  "land",   "band",
                                       "lor", "bor",  "lxor", "bxor", "minloc", "maxloc"};

std::mutex names_mutex;
std::string callers_names[most_types + 1];

const TypeRow& row(Type type) {
  return type_rows[static_cast<int>(type)];
}

/// The chosen kernels, null where operator and type do not fit. Chosen once: the processor does not change.
struct Kernels {
  Operator::Kernel of[types][ops];
  Kernels() {
    for (int type = 0; type < types; ++type)
      for (int op = 0; op < ops; ++op)
        of[type][op] = find_kernel(static_cast<Type>(type), static_cast<Op>(op));
  }
};

Operator::Kernel kernel_of(Type type, Op op) {
  static const Kernels kernels;
  const int t = static_cast<int>(type);
  const int o = static_cast<int>(op);
  return t < types && o < ops ? kernels.of[t][o] : nullptr;
}

}  // namespace

const char* to_string(Type type) {
  return static_cast<int>(type) < types ? row(type).name : "no type";
}
const char* to_string(Op op) {
  return static_cast<int>(op) < ops ? op_names[static_cast<int>(op)] : "no operator";
}

Type parse_type(const std::string& name) {
  std::vector<std::string> names;
  for (int i = 0; i < types; ++i) {
    if (name == type_rows[i].name) return static_cast<Type>(i);
    names.push_back(type_rows[i].name);
  }
  throw ArgumentError("type", "'" + name + "'", nearest_or_all(name, names));
}

namespace {

// What an operator of another name is called here, which its letters do not tell; any other name as it is.
std::string usual_name(const std::string& name) {
  static const std::map<std::string, std::string> others = {
      {"add", "sum"},    {"plus", "sum"}, {"+", "sum"},         {"mul", "prod"},     {"multiply", "prod"},
      {"times", "prod"}, {"*", "prod"},   {"minimum", "min"},   {"maximum", "max"},  {"and", "land"},
      {"or", "lor"},     {"xor", "lxor"}, {"argmin", "minloc"}, {"argmax", "maxloc"}};
  const auto found = others.find(name);
  return found == others.end() ? name : found->second;
}

}  // namespace

Op parse_op(const std::string& name) {
  std::vector<std::string> names;
  for (int i = 0; i < ops; ++i) {
    if (name == op_names[i]) return static_cast<Op>(i);
    names.push_back(op_names[i]);
  }
  throw ArgumentError("operator", "'" + name + "'", nearest_or_all(usual_name(name), names));
}

std::size_t bytes_of(Type type) {
  return row(type).bytes;
}

bool fits(Type type, Op op) {
  return kernel_of(type, op) != nullptr;
}

std::vector<std::pair<Type, Op>> operator_pairings() {
  std::vector<std::pair<Type, Op>> pairings;
  for (int type = 0; type < types; ++type)
    for (int op = 0; op < ops; ++op)
      if (fits(static_cast<Type>(type), static_cast<Op>(op)))
        pairings.emplace_back(static_cast<Type>(type), static_cast<Op>(op));
  return pairings;
}

Operator find_operator(Type type, Op op) {
  const Operator::Kernel kernel = kernel_of(type, op);
  if (kernel == nullptr) {
    std::string allowed;
    for (int other = 0; other < ops; ++other)
      if (fits(type, static_cast<Op>(other)))
        allowed += (allowed.empty() ? "" : ", ") + std::string(op_names[other]);
    throw ArgumentError("operator", std::string(to_string(op)) + " on elements of type " + to_string(type),
                        allowed + " on this type");
  }
  Operator result;
  result.kernel = kernel;
  result.element_bytes = row(type).bytes;
  result.commutative = true;
  result.associative = !(row(type).floating && (op == Op::sum || op == Op::prod));
  result.id = static_cast<std::uint16_t>(type_number(type) << 8 | static_cast<unsigned>(op));
  return result;
}

Operator user_operator(std::uint32_t element_bytes, bool commutative, Operator::Kernel kernel, void* context,
                       unsigned type) {
  if (element_bytes == 0) throw ArgumentError("element_bytes", "0", "the bytes of one element, at least 1");
  if (kernel == nullptr) throw ArgumentError("kernel", "null", "a function");
  if (type > most_types)
    throw ArgumentError("type", std::to_string(type), "0.." + std::to_string(most_types));
  Operator result;
  result.kernel = kernel;
  result.context = context;
  result.element_bytes = element_bytes;
  result.commutative = commutative;
  result.associative = false;
  result.id = static_cast<std::uint16_t>(type << 8 | users_own);
  return result;
}

std::string operator_name(const Operator& op) {
  const unsigned type = op.id >> 8;
  if ((op.id & 0xffu) == users_own) return "user-defined" + (type == 0 ? "" : " on " + type_name(type));
  return type_name(type) + " " + to_string(static_cast<Op>(op.id & 0xffu));
}

void name_type(unsigned number, const std::string& name) {
  if (number == 0 || number > most_types)
    throw ArgumentError("number", std::to_string(number), "1.." + std::to_string(most_types));
  const std::lock_guard<std::mutex> lock(names_mutex);
  callers_names[number] = name;
}

std::string type_name(unsigned number) {
  if (number - 1 < types) return to_string(static_cast<Type>(number - 1));
  if (number == announcing_type) return "announcement";
  const std::lock_guard<std::mutex> lock(names_mutex);
  const std::string* const name = number <= most_types ? &callers_names[number] : nullptr;
  return name != nullptr && !name->empty() ? *name : "type " + std::to_string(number);
}

}  // namespace phicoll
