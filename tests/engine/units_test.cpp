// SPDX-License-Identifier: Apache-2.0
#include "farfault/engine/units.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>

namespace units_test {

using namespace farfault;

TEST_CASE("times parse from every unit, with or without a space") {
  CHECK(parse_duration("7ps") == Duration{7});
  CHECK(parse_duration("5 ns") == 5ns);
  CHECK(parse_duration("10us") == 10us);
  CHECK(parse_duration("10 \u00b5s") == 10us);
  CHECK(parse_duration(" 3ms ") == 3ms);
  CHECK(parse_duration("2s") == 2s);
  CHECK(parse_duration("1.5us") == 1500ns);
  CHECK(parse_duration("0ns") == Duration{0});
}

TEST_CASE("decimal prefixes are powers of 1000 and binary ones powers of 1024") {
  CHECK(parse_bytes("16 GiB").bytes == 17179869184ULL);
  CHECK(parse_bytes("16GB").bytes == 16000000000ULL);
  CHECK(parse_bytes("64 KiB").bytes == 65536);
  CHECK(parse_bytes("64 kB").bytes == 64000);
  CHECK(parse_bytes("0.5 KiB").bytes == 512);
  CHECK(parse_bandwidth("64GB/s").bytes_per_second == 64000000000ULL);
  CHECK(parse_bandwidth("100 Gbit/s").bytes_per_second == 12500000000ULL);
  CHECK(parse_frequency("1.41 GHz").hertz == 1410000000);
}

TEST_CASE("a quantity that is not a multiple of its finest unit is rejected, not rounded") {
  CHECK_THROWS_WITH_AS(parse_duration("0.5ps"), "'0.5ps' is not a whole multiple of a picosecond", UnitError);
  CHECK_THROWS_WITH_AS(parse_bytes("1.3B"), "'1.3B' is not a whole multiple of a byte", UnitError);
  CHECK_THROWS_WITH_AS(parse_bandwidth("1bit/s"), "'1bit/s' is not a whole multiple of a byte per second",
                       UnitError);
}

TEST_CASE("a missing, wrong or ambiguous unit is rejected with an example") {
  CHECK_THROWS_WITH_AS(parse_duration("5"), "'5' has no unit; write a time such as '5 us'", UnitError);
  CHECK_THROWS_WITH_AS(parse_frequency("1 GB"),
                       "'1 GB' is not a frequency such as '1500 MHz' (units: Hz, kHz, MHz, GHz, THz)",
                       UnitError);
  CHECK_THROWS_WITH_AS(parse_bytes("4KB"), "'4KB' is ambiguous: kB means 1000 bytes and KiB 1024", UnitError);
  for (char const* text : {"", "us", "-5us", "1e3ns", "1.ns", ".5us", "1..5us", "1 2us", "0x10B"})
    CHECK_THROWS_AS(parse_duration(text), UnitError);
}

TEST_CASE("a quantity outside the range of its type is rejected") {
  CHECK(parse_duration("9223372036854775807ps") == Duration::max());
  CHECK_THROWS_WITH_AS(parse_duration("9223372036854775808ps"),
                       "'9223372036854775808ps' is above the maximum, 9223372036854775807 ps", UnitError);
  CHECK_THROWS_AS(parse_bytes("99999999999 TiB"), UnitError);
  std::string many_digits(1000001, '9');
  many_digits.back() = 'B';
  CHECK_THROWS_AS(parse_bytes(many_digits), UnitError);
  CHECK_THROWS_AS(parse_bytes("0." + std::string(1000000, '0') + "1 B"), UnitError);
}

TEST_CASE("the text of a quantity is the shortest exact form") {
  CHECK(to_text(Duration{0}) == "0 ps");
  CHECK(to_text(Duration{1500ns}) == "1500 ns");
  CHECK(to_text(Duration{20us}) == "20 us");
  CHECK(to_text(Duration{-5ns}) == "-5 ns");
  CHECK(to_text(ByteSize{65536}) == "64 KiB");
  CHECK(to_text(ByteSize{64000}) == "64 kB");
  CHECK(to_text(ByteSize{1}) == "1 B");
  CHECK(to_text(Bandwidth{1555000000000}) == "1555 GB/s");
  CHECK(to_text(Frequency{1410000000}) == "1410 MHz");
}

TEST_CASE("every quantity's text reads back to the same quantity") {
  std::uint64_t x = 1;
  for (int i = 0; i < 2000; ++i) {
    x = x * 6364136223846793005ULL + 1442695040888963407ULL;
    auto const n = x >> (i % 64);
    auto const scaled = i % 3 == 0 ? n : i % 3 == 1 ? (n >> 24) * 1000 : (n >> 24) * 1024;
    CHECK(parse_bytes(to_text(ByteSize{scaled})).bytes == scaled);
    CHECK(parse_bandwidth(to_text(Bandwidth{scaled})).bytes_per_second == scaled);
    CHECK(parse_frequency(to_text(Frequency{scaled})).hertz == scaled);
    Duration const d{static_cast<std::int64_t>(scaled >> 1)};
    CHECK(parse_duration(to_text(d)) == d);
  }
}

TEST_CASE("the time that bytes occupy a resource is rounded up") {
  CHECK(Bandwidth{64'000'000'000}.time_for(64) == 1ns);
  CHECK(Bandwidth{3}.time_for(1) == Duration{333'333'333'334});
  CHECK(Bandwidth{1}.time_for(0) == Duration{0});
}

}  // namespace units_test
