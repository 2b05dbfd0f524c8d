// SPDX-License-Identifier: Apache-2.0
// The format as defined by the tools' own reader and writer (accel-sim-framework, trace_parser.cc and
// tracer_tool.cu).
#include "trace_accelsim.hpp"

#include <bit>
#include <filesystem>

#include "farfault/workloads/buffer_layout.hpp"

namespace farfault::workloads {
namespace {

constexpr VirtAddr kTraceAddressLimit = 1ULL << 48;
constexpr std::uint64_t kMaxCopy = 1ULL << 40;
constexpr std::uint64_t kWindow = 16ULL << 20;  // shared and local memory within the generic address space
constexpr std::uint16_t kZeroRegister = 255;

enum class Space { none, global, generic, shared, local, constant };

struct Memory {
  Space space;
  TraceKind kind;
};

struct KnownOpcode {
  std::string_view name;
  Memory memory;
};

constexpr KnownOpcode kOpcodes[] = {
    {"LDG", {Space::global, TraceKind::load}},     {"STG", {Space::global, TraceKind::store}},
    {"LDGSTS", {Space::global, TraceKind::load}},  {"ATOMG", {Space::global, TraceKind::load}},
    {"RED", {Space::global, TraceKind::store}},    {"REDG", {Space::global, TraceKind::store}},
    {"LD", {Space::generic, TraceKind::load}},     {"ST", {Space::generic, TraceKind::store}},
    {"ATOM", {Space::generic, TraceKind::load}},   {"LDS", {Space::shared, TraceKind::other}},
    {"STS", {Space::shared, TraceKind::other}},    {"ATOMS", {Space::shared, TraceKind::other}},
    {"LDSM", {Space::shared, TraceKind::other}},   {"LDL", {Space::local, TraceKind::other}},
    {"STL", {Space::local, TraceKind::other}},     {"LDC", {Space::constant, TraceKind::other}},
    {"ULDC", {Space::constant, TraceKind::other}},
};

Memory memory_of(std::string_view opcode) {
  auto const stem = opcode.substr(0, opcode.find('.'));
  for (auto const& known : kOpcodes)
    if (known.name == stem) return known.memory;
  return {Space::none, TraceKind::other};
}

// The first part of the opcode that is a number of bits, with or without U or S: LDG.E.128, LDG.E.U8.
std::uint32_t width_of(std::string_view opcode) {
  for (auto dot = opcode.find('.'); dot != std::string_view::npos; dot = opcode.find('.', dot + 1)) {
    auto part = opcode.substr(dot + 1, opcode.find('.', dot + 1) - dot - 1);
    if (!part.empty() && (part[0] == 'U' || part[0] == 'S')) part.remove_prefix(1);
    if (part.empty() || part.size() > 3) continue;
    std::uint32_t bits = 0;
    bool digits = true;
    for (auto const c : part) {
      digits = digits && c >= '0' && c <= '9';
      bits = 10 * bits + static_cast<std::uint32_t>(c - '0');
    }
    if (digits && (bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 128)) return bits / 8;
  }
  return 4;
}

std::uint64_t hex(TextScanner& in, std::string_view what, std::size_t max_digits = 16) {
  auto const word = in.read_word(18);
  std::string_view digits = word;
  if (digits.substr(0, 2) == "0x") digits.remove_prefix(2);
  std::uint64_t value = 0;
  for (auto const c : digits) {
    auto const low = static_cast<char>(c | 0x20);
    auto const digit = c >= '0' && c <= '9' ? c - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
    if (digit < 0) in.fail("'" + shown(word) + "' is not " + std::string(what) + ", a hexadecimal number");
    value = value << 4 | static_cast<std::uint64_t>(digit);
  }
  if (digits.empty() || digits.size() > max_digits)
    in.fail("'" + shown(word) + "' is not " + std::string(what) + ", a hexadecimal number of up to " +
            std::to_string(max_digits) + " digits");
  return value;
}

std::int64_t signed_number(TextScanner& in, std::string_view what) {
  in.skip_blanks();
  bool const negative = in.peek() == '-';
  if (negative) in.skip();
  auto const value = static_cast<std::int64_t>(in.read_count(what));
  return negative ? -value : value;
}

std::uint16_t register_number(TextScanner& in) {
  auto const word = in.read_word(8);
  std::uint32_t number = 0;
  bool good = word.size() >= 2 && word[0] == 'R';
  for (std::size_t i = 1; i < word.size(); ++i) {
    good = good && word[i] >= '0' && word[i] <= '9';
    number = 10 * number + static_cast<std::uint32_t>(word[i] - '0');
  }
  if (!good || number > 255) in.fail("'" + shown(word) + "' is not a register, R0 to R255");
  return static_cast<std::uint16_t>(number);
}

std::uint32_t registers(TextScanner& in, std::string_view what, std::array<std::uint16_t, 16>& list) {
  auto const count = in.read_count(what);
  if (count > 8) in.fail(std::string(what) + " " + std::to_string(count) + " is more than 8");
  std::uint32_t kept = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    auto const number = register_number(in);
    if (number != kZeroRegister) list[kept++] = number;
  }
  return kept;
}

// The product of "(x,y,z)" or "x,y,z" within `text`; fails unless these are three numbers.
std::uint64_t volume(TextScanner const& in, std::string_view text, std::uint64_t limit) {
  std::uint64_t product = 1;
  std::uint64_t value = 0;
  int numbers = 0;
  bool in_number = false;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    auto const c = i < text.size() ? text[i] : ',';
    if (c >= '0' && c <= '9') {
      value = 10 * value + static_cast<std::uint64_t>(c - '0');
      in_number = true;
      if (value > limit) break;
    } else if (in_number) {
      product *= value;
      if (product > limit) break;
      value = 0;
      in_number = false;
      ++numbers;
    }
  }
  if (numbers != 3 || product == 0 || product > limit)
    in.fail("'" + shown(text) + "' is not a size (x,y,z) of 1 to " + std::to_string(limit) + " in total");
  return product;
}

std::uint64_t number_in(TextScanner const& in, std::string_view text, int base, std::uint64_t limit) {
  std::uint64_t value = 0;
  if (base == 16 && text.substr(0, 2) == "0x") text.remove_prefix(2);
  bool good = !text.empty() && text.size() <= 16;  // in either base: no overflow
  for (auto const c : text) {
    auto const low = static_cast<char>(c | 0x20);
    auto const digit = c >= '0' && c <= '9' ? c - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : 99;
    good = good && digit < base;
    value = value * static_cast<std::uint64_t>(base) + static_cast<std::uint64_t>(digit);
  }
  if (!good || value > limit)
    in.fail("'" + shown(text) + "' is not a number of 0 to " + std::to_string(limit));
  return value;
}

struct Header {
  TraceKernelHeader kernel;
  std::uint64_t version = 0;
  bool line_info = false;
  std::uint64_t shared_base = 0;
  std::uint64_t local_base = 0;
};

// "-key = value"; irrelevant and unknown keys are ignored.
void read_header_line(TextScanner const& in, std::string const& line, Header& header) {
  auto const equals = line.find(" = ");
  if (equals == std::string::npos) return;
  auto const key = std::string_view(line).substr(1, equals - 1);
  auto value = std::string_view(line).substr(equals + 3);
  while (!value.empty() && (value.back() == ' ' || value.back() == '\r')) value.remove_suffix(1);
  if (key == "kernel name") header.kernel.name = value.substr(0, 4096);
  if (key == "grid dim") header.kernel.grid_blocks = volume(in, value, 1ULL << 40);
  if (key == "block dim") header.kernel.block_threads = static_cast<std::uint32_t>(volume(in, value, 1024));
  if (key == "shmem") header.kernel.shared_bytes = number_in(in, value, 10, 1ULL << 30);
  if (key == "nregs") header.kernel.registers = static_cast<std::uint32_t>(number_in(in, value, 10, 1024));
  if (key == "cuda stream id") header.kernel.stream = number_in(in, value, 10, ~std::uint64_t{0});
  if (key == "accelsim tracer version") header.version = number_in(in, value, 10, 1000);
  if (key == "enable lineinfo") header.line_info = number_in(in, value, 10, 1) == 1;
  if (key == "shmem base_addr") header.shared_base = number_in(in, value, 16, ~std::uint64_t{0});
  if (key == "local mem base_addr") header.local_base = number_in(in, value, 16, ~std::uint64_t{0});
}

Header read_header(TextScanner& in) {
  Header header;
  for (;;) {
    in.skip_blanks();
    if (in.at_end()) in.fail("the file ends within the kernel's header");
    if (in.peek() == '#') break;
    auto const line = in.rest_of_line(65536);
    if (line.empty()) {
      in.next_line();
      continue;
    }
    if (line[0] != '-') in.fail("header lines must start with '-' up to the line '#traces format'");
    read_header_line(in, line, header);
    in.next_line();
  }
  if (header.kernel.grid_blocks == 0) in.fail("the kernel's header has no 'grid dim'");
  if (header.kernel.block_threads == 0) in.fail("the kernel's header has no 'block dim'");
  return header;
}

void read_addresses(TextScanner& in, TraceInstruction& out) {
  auto const mode = in.read_count("the address mode");
  auto const active = out.active;
  if (mode > 2)
    in.fail("address mode " + std::to_string(mode) + " is not one of: 0 (list), 1 (stride), 2 (deltas)");
  if (active == 0) return;
  out.address[0] = hex(in, "an address");
  if (mode == 0) {
    for (std::uint32_t i = 1; i < active; ++i) out.address[i] = hex(in, "an address");
  } else if (mode == 1) {
    auto const stride = static_cast<std::uint64_t>(signed_number(in, "a stride"));
    for (std::uint32_t i = 1; i < active; ++i) out.address[i] = out.address[i - 1] + stride;
  } else {
    for (std::uint32_t i = 1; i < active; ++i)
      out.address[i] = out.address[i - 1] + static_cast<std::uint64_t>(signed_number(in, "a delta"));
  }
}

void read_instruction(TextScanner& in, Header const& header, TraceInstruction& out) {
  if (header.version < 3)
    for (int i = 0; i < 4; ++i) in.read_count("the block and warp");
  if (header.line_info) in.read_count("the source line");
  out.offset = hex(in, "a program counter");
  out.lanes = static_cast<std::uint32_t>(hex(in, "a lane mask", 8));
  out.active = static_cast<std::uint32_t>(std::popcount(out.lanes));
  out.destinations = registers(in, "the number of destinations", out.destination);
  auto const opcode = in.read_word(64);
  if (opcode.empty()) in.fail("an instruction without an opcode");
  if (opcode.compare(0, 4, "UTMA") == 0)
    in.fail("'" + shown(opcode) +
            "' is a bulk copy of the tensor memory accelerator, which is not supported");
  out.sources = registers(in, "the number of sources", out.source);
  out.kind = opcode.compare(0, 8, "BAR.SYNC") == 0 ? TraceKind::barrier : TraceKind::other;
  out.bytes = width_of(opcode);
  if (in.read_count("the access width") != 0) {
    read_addresses(in, out);
    auto const memory = memory_of(opcode);
    auto const in_window = [&](std::uint64_t base) {
      return base != 0 && out.address[0] >= base && out.address[0] - base < kWindow;
    };
    bool const on_chip =
        memory.space == Space::generic && (in_window(header.shared_base) || in_window(header.local_base));
    if (memory.kind != TraceKind::other && out.active != 0 && !on_chip) {
      out.kind = memory.kind;
      for (std::uint32_t i = 0; i < out.active; ++i)
        if (out.address[i] >= kTraceAddressLimit - out.bytes)
          in.fail("address " + std::to_string(out.address[i]) + " of lane access " + std::to_string(i) +
                  " is not below 2^48");
    }
  }
  in.next_line();
}

// True if the line starts with `key`.
bool at_key(std::string const& line, std::string_view key) {
  return line.compare(0, key.size(), key) == 0;
}

std::string_view value_of(TextScanner const& in, std::string const& line, std::string_view key) {
  auto const equals = line.find('=');
  if (equals == std::string::npos) in.fail("'" + std::string(key) + "' without a value");
  auto value = std::string_view(line).substr(equals + 1);
  while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
  while (!value.empty() && (value.back() == ' ' || value.back() == '\r')) value.remove_suffix(1);
  return value;
}

void read_block(TextScanner& in, Header const& header, TraceSink& sink) {
  auto const warps = (header.kernel.block_threads + kTraceLanes - 1) / kTraceLanes;
  bool has_warp = false;
  TraceInstruction instruction;
  for (;;) {
    in.skip_blanks();
    if (in.at_end()) in.fail("the file ends within a thread block, before #END_TB");
    auto const line = in.rest_of_line(256);
    if (at_key(line, "#END_TB")) {
      in.next_line();
      return;
    }
    if (at_key(line, "warp =")) {
      auto const warp = number_in(in, value_of(in, line, "warp"), 10, 1024);
      if (warp >= warps)
        in.fail("warp " + std::to_string(warp) + " is not one of the " + std::to_string(warps) +
                " of a block of " + std::to_string(header.kernel.block_threads) + " threads");
      sink.begin_warp(in, static_cast<std::uint32_t>(warp));
      has_warp = true;
    } else if (at_key(line, "insts =")) {
      if (!has_warp) in.fail("'insts' without a warp");
      has_warp = false;
      auto const count = number_in(in, value_of(in, line, "insts"), 10, 1ULL << 40);
      in.next_line();
      for (std::uint64_t i = 0; i < count; ++i) {
        in.skip_blanks();
        if (in.at_end() || in.peek() == '#')
          in.fail("a warp of " + std::to_string(count) + " instructions ends after " + std::to_string(i));
        if (in.at_line_end()) {
          in.next_line();
          --i;
          continue;
        }
        read_instruction(in, header, instruction);
        sink.instruction(in, instruction);
      }
      continue;
    } else if (!line.empty() && !at_key(line, "thread block =") && !at_key(line, "cluster id =")) {
      in.fail("'" + shown(line) + "' is none of: thread block, cluster id, warp, insts, #END_TB");
    }
    in.next_line();
  }
}

bool starts_with(std::string_view text, std::string_view head) {
  return text.substr(0, head.size()) == head;
}

// "MemcpyHtoD,0x<address>,<bytes>", or DtoH likewise.
TraceList::Copy read_copy(TextScanner const& in, std::string const& line, TraceList const& list) {
  auto const first = line.find(',');
  auto const second = first == std::string::npos ? first : line.find(',', first + 1);
  bool const to_host = starts_with(line, "MemcpyDtoH");
  if (second == std::string::npos)
    in.fail(std::string("a Memcpy") + (to_host ? "DtoH" : "HtoD") +
            " line must have an address and a number of bytes");
  auto const text = std::string_view(line);
  auto const base = number_in(in, text.substr(first + 1, second - first - 1), 16, kTraceAddressLimit - 1);
  auto const bytes = number_in(in, text.substr(second + 1), 10, kMaxCopy);
  if (bytes > kTraceAddressLimit - base) in.fail("the copy is not below address 2^48");
  return {base, bytes, list.kernels.size(), to_host};
}

void read_list_line(TextScanner& in, std::string const& line, std::filesystem::path const& folder,
                    TraceList& list) {
  if (starts_with(line, "MemcpyHtoD") || starts_with(line, "MemcpyDtoH")) {
    auto const copy = read_copy(in, line, list);
    if (copy.bytes != 0) list.copies.push_back(copy);
  } else if (starts_with(line, "kernel")) {
    list.kernels.push_back((folder / line).string());
  }
}

}  // namespace

bool is_kernel_trace(std::string_view sample) {
  return starts_with(sample, "-kernel name = ") || starts_with(sample, "-kernel id = ");
}

bool is_kernel_list(std::string_view sample) {
  while (!sample.empty() && (sample[0] == '\n' || sample[0] == ' ' || sample[0] == '\r'))
    sample.remove_prefix(1);
  return starts_with(sample, "MemcpyHtoD,") || starts_with(sample, "MemcpyDtoH,") ||
         starts_with(sample, "kernel-");
}

void read_kernel_trace(TextScanner& in, TraceSink& sink) {
  auto const header = read_header(in);
  sink.begin_kernel(header.kernel);
  std::uint64_t blocks = 0;
  for (;;) {
    in.skip_blanks();
    if (in.at_end()) break;
    auto const line = in.rest_of_line(4096);
    bool const begins = at_key(line, "#BEGIN_TB");
    if (!begins && !line.empty() && line[0] != '#')
      in.fail("'" + shown(line) + "' is outside of a thread block (a trace must be post-processed)");
    if (begins && ++blocks > header.kernel.grid_blocks)
      in.fail("there are more thread blocks than the grid's " + std::to_string(header.kernel.grid_blocks));
    in.next_line();
    if (!begins) continue;
    sink.begin_block(in);
    read_block(in, header, sink);
  }
  sink.end_kernel();
}

TraceList read_kernel_list(std::string const& path, InputLimits const& limits) {
  TraceList list;
  std::error_code error;
  std::filesystem::path file(path);
  if (std::filesystem::is_directory(file, error)) file /= "kernelslist.g";
  TextSource source(file.string(), limits);
  TextScanner in(source);
  if (is_kernel_trace(in.sample())) {
    list.kernels.push_back(file.string());
    return list;
  }
  if (!is_kernel_list(in.sample()))
    throw UserError(one_line(file.string()) +
                    ": not an Accel-Sim trace: neither a kernel list nor a kernel's trace");
  auto const most = limits.of_this_machine().names;
  std::uint64_t bytes = 0;
  for (;;) {
    in.skip_blanks();
    if (in.at_end()) break;
    auto line = in.rest_of_line(4096);
    bytes += line.size() + file.parent_path().native().size();
    if (bytes > most.bytes) in.fail("the lines read so far exceed " + limit_text("names", most));
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.pop_back();
    read_list_line(in, line, file.parent_path(), list);
    in.next_line();
  }
  if (list.kernels.empty()) in.fail("the kernel list contains no kernels");
  list.inputs.push_back(source.finish());
  return list;
}

}  // namespace farfault::workloads
