#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Errors of the compiler for an incomplete members(): the sentence, the class and the member that they name.
. "$(dirname "$0")/../support/script.sh"

cat >"$scratch/types.cpp" <<'END'
#include "farfault/engine/archive.hpp"
#define LIST(...) auto members() { return std::tie(__VA_ARGS__); }
using Numbers = std::vector<std::uint64_t>;
struct Complete { LIST(a_, b_, c_) std::uint32_t a_ = 0, b_ = 0; Numbers c_; };
struct Constant { LIST(a_, p_) Numbers a_; std::uint64_t const p_ = 0; };
struct Declared { LIST(a_, p_) Numbers a_; farfault::Fixed<std::uint64_t> p_{}; };
struct Forgotten { LIST(a_, c_) std::uint64_t a_ = 0; Numbers c_; std::uint64_t d_ = 0; };
struct Gap { LIST(a_, b_, c_) std::uint64_t a_ = 0; std::uint32_t b_ = 0; Numbers c_; };
class Named {
 public:
  auto members() { return farfault::listed<&Named::a_, &Named::b_, &Named::c_>(*this); }
 private:
  std::uint64_t a_ = 0; std::uint32_t b_ = 0; Numbers c_;
};
class Whole {
 public:
  auto members() { return farfault::listed<&Whole::a_, &Whole::c_>(*this); }
 private:
  std::uint64_t a_ = 0; Numbers c_;
};
struct End { LIST(a_, b_) Numbers a_; std::uint8_t b_ = 0; };
struct Twice { LIST(a_, a_) Numbers a_; };
struct Policy { virtual ~Policy() = default; LIST(a_) std::uint64_t a_ = 0; };
int main() { std::vector<std::byte> to; TYPE state; farfault::Saver{to}(state); }
END
compiler=${CXX:-c++}
compiles() { "$compiler" -std=c++20 -fsyntax-only -Iengine/include -DTYPE="$1" "$scratch/types.cpp" >"$scratch/said" 2>&1; }
# TYPE WORD ...: refused, and each word is in the messages
refused() {
  local type=$1 word
  shift
  if compiles "$type"; then return 1; fi
  for word in "$@"; do
    grep -qE -- "$word" "$scratch/said" || { echo "no '$word' in:"; cat "$scratch/said"; return 1; }
  done
  [ "$(grep -cE 'error: ' "$scratch/said")" -eq 1 ]
}

for type in Complete Declared Policy Whole; do check "$type compiles" compiles "$type"; done
check "a constant member is named, with Fixed<T> as the remedy" refused Constant \
  "declare it as Fixed<T>" "ConstantMember<Constant, .*1, const "
check "omitted members are named by their class and size" refused Forgotten \
  "members\(\) omits members" "ForgottenMembers<Forgotten, .*8>"
check "padding is named by the member after it" refused Gap \
  "the class has padding there" "PaddingBeforeMember<Gap, .*2, std::vector<.*4>"
check "with listed(), the member has its name" refused Named \
  "the class has padding there" "PaddingBeforeMember<Named, .*&Named::c_, std::vector<.*4>"
check "padding at the end is named by its size" refused End \
  "the class has padding after it" "PaddingAtEnd<End, .*7>"
check "a member that is listed twice is an error of its own" refused Twice "lists a member twice" "RepeatedMember<Twice>"
finish
