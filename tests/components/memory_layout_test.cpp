// SPDX-License-Identifier: Apache-2.0
// Slices and DRAM channels of an address, checked against the definition written out.
#include "farfault/memory/memory_layout.hpp"

#include <doctest/doctest.h>

#include <random>
#include <set>
#include <utility>
#include <vector>

#include "choices.hpp"

namespace memory_layout_test {

using namespace farfault;

namespace {

template <class F>
void for_all_layouts(F&& f) {
  for (std::uint32_t slices = 1; slices <= 40; ++slices)
    for (std::uint32_t channels = 1; channels <= 40; ++channels)
      for (std::uint32_t copies = 1; copies <= slices; ++copies) {
        if (slices % copies != 0 || (slices % channels != 0 && channels % slices != 0)) continue;
        CAPTURE(slices);
        CAPTURE(channels);
        CAPTURE(copies);
        for (auto const& name : test::names_of_known<AddressHash>()) {
          CAPTURE(name);
          MemoryLayout layout{slices, channels, 256, copies};
          auto const hash = layout.hash_of(PolicyChoice<AddressHash>(name).facts().mask);
          if (hash) layout.hash = &*hash;
          f(layout);
        }
      }
}

}  // namespace

TEST_CASE("every slice that may hold an address reaches its channel under its own number there") {
  std::mt19937_64 random(9);
  for_all_layouts([&](MemoryLayout const& layout) {
    auto const run = layout.slices / layout.copies;
    for (int i = 0; i < 100; ++i) {
      auto const offset = random() % (std::uint64_t{1} << 40);
      auto const channel = layout.channel_map().slice(offset);
      for (std::uint32_t copy = 0; copy < layout.copies; ++copy) {
        auto const slice = copy * run + layout.slice_map().slice(offset) % run;
        auto const bank = layout.bank_of_slice(slice);
        REQUIRE(bank < layout.banks());
        REQUIRE(layout.bank_of_channel(channel) == bank);
        auto const number = channel / layout.banks();
        REQUIRE(number < layout.channels_per_slice());
        REQUIRE(bank + number * layout.banks() == channel);
      }
    }
  });
}

TEST_CASE("the slices of a channel have different numbers there, counted from 0") {
  for_all_layouts([&](MemoryLayout const& layout) {
    std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
    for (std::uint32_t s = 0; s < layout.slices; ++s) {
      REQUIRE(layout.number_at_channel(s) < layout.slices_per_channel());
      REQUIRE(seen.insert({layout.bank_of_slice(s), layout.number_at_channel(s)}).second);
    }
  });
}

TEST_CASE("with parts, blocks rotate over the parts, and every offset is the one of its slice and address") {
  std::mt19937_64 random(11);
  for (std::uint32_t const parts : {2U, 3U, 4U})
    for (std::uint32_t const of_part : {1U, 4U, 6U})
      for (std::uint64_t const block : {256U, 4096U, 65536U})
        for (auto const& name : test::names_of_known<AddressHash>()) {
          CAPTURE(parts);
          CAPTURE(of_part);
          CAPTURE(block);
          CAPTURE(name);
          MemoryLayout layout{.slices = parts * of_part,
                              .channels = parts * (of_part == 4 ? 2 : of_part),
                              .parts = {parts, block}};
          auto const hash = layout.hash_of(PolicyChoice<AddressHash>(name).facts().mask);
          if (hash) layout.hash = &*hash;
          auto const map = layout.slice_map();
          std::set<std::pair<std::uint32_t, std::uint64_t>> seen;
          for (int i = 0; i < 200; ++i) {
            auto const offset = random() % (std::uint64_t{1} << 40);
            auto const slice = map.slice(offset);
            REQUIRE(slice / of_part == offset / block % parts);
            REQUIRE(map.offset(slice, map.local(offset)) == offset);
            auto const channel = layout.channel_map().slice(offset);
            REQUIRE(layout.bank_of_slice(slice) == layout.bank_of_channel(channel));
            REQUIRE(channel / (layout.channels / parts) == offset / block % parts);
          }
          for (std::uint64_t offset = 0; offset < (1 << 20); offset += 256)
            REQUIRE(seen.insert({map.slice(offset), map.local(offset)}).second);
        }
}

TEST_CASE("consecutive blocks are interleaved over the slices; neighbouring slices share a channel") {
  MemoryLayout const layout{16, 8, 256, 1};
  for (std::uint64_t block = 0; block < 64; ++block) {
    CHECK(layout.slice_map().slice(block * 256) == block % 16);
    CHECK(layout.channel_map().slice(block * 256) == block % 16 / 2);
  }
}

TEST_CASE("with a hash, a stride of one row reaches every slice and every channel equally often") {
  for (auto const& [slices, channels] : {std::pair{16U, 4U}, {4U, 16U}, {8U, 8U}}) {
    MemoryLayout layout{slices, channels, 256, 1};
    auto const hash = layout.hash_of(PolicyChoice<AddressHash>("ipoly").facts().mask);
    REQUIRE(hash);
    layout.hash = &*hash;
    std::vector<int> in_slice(slices), in_channel(channels);
    for (std::uint64_t row = 0; row < 256; ++row) {
      auto const offset = row * std::max(slices, channels) * 256;
      ++in_slice[layout.slice_map().slice(offset)];
      ++in_channel[layout.channel_map().slice(offset)];
    }
    CHECK(in_slice == std::vector<int>(slices, static_cast<int>(256 / slices)));
    CHECK(in_channel == std::vector<int>(channels, static_cast<int>(256 / channels)));
  }
}

TEST_CASE("an address and its offset in a slice are inverse, for any number of slices and block size") {
  std::mt19937_64 random(10);
  for (std::uint32_t const slices : {1U, 6U, 8U, 40U})
    for (std::uint64_t const interleave : {256U, 768U}) {
      AddressMap const map(slices, interleave);
      for (int i = 0; i < 200; ++i) {
        auto const offset = random() % (std::uint64_t{1} << 40);
        CHECK(map.slice(offset) == offset / interleave % slices);
        CHECK(map.offset(map.slice(offset), map.local(offset)) == offset);
      }
      // Consecutive addresses of a slice are consecutive within it.
      CHECK(map.local(interleave * slices) == interleave);
      CHECK(map.local(interleave * slices + 64) == interleave + 64);
    }
}

TEST_CASE("in any layout, channels get equal shares of consecutive blocks") {
  for (auto const& layout :
       {MemoryLayout{16, 32, 256, 1}, MemoryLayout{6, 6, 256, 1}, MemoryLayout{6, 3, 256, 2},
        MemoryLayout{6, 12, 256, 3}, MemoryLayout{40, 80, 256, 1}}) {
    std::vector<std::uint32_t> blocks(layout.channels);
    for (std::uint64_t block = 0; block < 10 * std::uint64_t{layout.slices} * layout.channels; ++block)
      ++blocks[layout.channel_map().slice(block * 256)];
    for (auto const n : blocks) CHECK(n == 10 * layout.slices);
  }
}

}  // namespace memory_layout_test
