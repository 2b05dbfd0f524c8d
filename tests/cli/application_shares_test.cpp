// SPDX-License-Identifier: Apache-2.0
// The GPUs and SMs that are assigned to each application.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "read_applications.hpp"

namespace application_shares_test {

using namespace farfault;
using namespace two_applications;

namespace {

// The SMs of applications with one of these lines each, on four GPUs with `sms` SMs.
std::string sms_of(std::vector<std::string> const& lines, int sms = 8) {
  auto text = kBase;
  for (std::size_t i = 0; i < lines.size(); ++i)
    text +=
        "[[application]]\nname = \"a" + std::to_string(i) + "\"\nworkload = \"stream\"\n" + lines[i] + "\n";
  Built const built(text, {"gpu.sms=" + std::to_string(sms)});
  std::string all;
  for (std::uint32_t a = 0; a < lines.size(); ++a) all += (a == 0 ? "" : "; ") + list_of(built[a].sms);
  return all;
}

}  // namespace

TEST_CASE("an invalid, out-of-range or repeating list of GPUs or SMs is rejected") {
  CHECK(refusal_of("gpus = \"0-x\"\n") ==
        "4: application.fir.gpus: '0-x' is not \"all\" or a list such as \"0-2, 5\"");
  CHECK(refusal_of("gpus = \"\"\n") ==
        "4: application.fir.gpus: '' is not \"all\" or a list such as \"0-2, 5\"");
  CHECK(refusal_of("gpus = \"equal\"\n") ==
        "4: application.fir.gpus: 'equal' is not \"all\" or a list such as \"0-2, 5\"");
  CHECK(refusal_of("gpus = 2\n") == "4: application.fir.gpus: 2 must be written in quotes");
  CHECK(refusal_of("gpus = \"3-1\"\n") ==
        "4: application.fir.gpus: '3-1': 3-1 does not ascend from low to high");
  CHECK(refusal_of("gpus = \"0-2, 2\"\n") == "4: application.fir.gpus: '0-2, 2' names 2 twice");
  CHECK(refusal_of("gpus = \"2, 4\"\n") ==
        "4: application.fir.gpus = 2, 4 must be within 0 to 3, the GPUs of a host");
  CHECK(refusal_of("sms = \"0-14,\"\n") ==
        "4: application.fir.sms: '0-14,' is not \"all\", \"equal\", a count, or a list such as \"0-14, 20\"");
  CHECK(refusal_of("sms = [0, 1]\n") ==
        "4: application.fir.sms: '[ 0, 1 ]' is not \"all\", \"equal\", a count, or a list such as \"0-14, "
        "20\"");
  CHECK(refusal_of("sms = \"30-36\"\n") ==
        "4: application.fir.sms = 30-36 must be within 0 to 35, the SMs of a GPU");
  CHECK(refusal_of("sms = \"0-4000000000000\"\n") ==
        "4: application.fir.sms = 0-4000000000000 must be within 0 to 35, the SMs of a GPU");
  CHECK(refusal_of("sms = 0\n") == "4: application.fir.sms = 0 must be 1 to 36, the SMs of a GPU");
  CHECK(refusal_of("sms = 37\n") == "4: application.fir.sms = 37 must be 1 to 36, the SMs of a GPU");
}

TEST_CASE("lists of SMs may overlap; a count takes the lowest SMs that are in no list and no earlier count") {
  CHECK(sms_of({"sms = 2", "sms = 3", "sms = \"all\""}) == "0 1; 2 3 4; ");
  CHECK(sms_of({"sms = 2", "sms = \"1-2, 0\"", "sms = 3"}) == "3 4; 0 1 2; 5 6 7");
  CHECK(sms_of({"sms = \"6,1-3\"", "sms = \"3-3\"", "sms = 1"}) == "1 2 3 6; 3; 0");
  CHECK(sms_of({"sms = 2\ngpus = \"0\"", "sms = 3\ngpus = \"1-2\"", "sms = 1\ngpus = \"2-3\""}) ==
        "0 1; 0 1 2; 3");
}

TEST_CASE("a count that exceeds the remaining SMs is rejected with the number that remain") {
  auto const rest = ": lists and earlier counts of applications on the same GPUs leave ";
  CHECK(refusal_of("sms = \"0-29\"\n", "sms = 7\n") ==
        "7: application.stream.sms = 7" + std::string(rest) + "6 of the 36 SMs of a GPU");
  CHECK(refusal_of("sms = 20\n", "sms = 17\n") ==
        "7: application.stream.sms = 17" + std::string(rest) + "16 of the 36 SMs of a GPU");
  CHECK(refusal_of("sms = 1\n", "sms = \"0-35\"\n") ==
        "4: application.fir.sms = 1" + std::string(rest) + "0 of the 36 SMs of a GPU");
}

TEST_CASE("equal shares are consecutive ranges in application order; the first ones get the remainder") {
  std::string const equal = "sms = \"equal\"";
  CHECK(sms_of({equal, equal}) == "0 1 2 3; 4 5 6 7");
  CHECK(sms_of({equal, equal, equal}) == "0 1 2; 3 4 5; 6 7");
  CHECK(sms_of({equal, equal, equal, equal, equal}) == "0 1; 2 3; 4 5; 6; 7");
  CHECK(sms_of({equal, equal, equal}, 3) == "0; 1; 2");
  CHECK(sms_of({equal}) == "0 1 2 3 4 5 6 7");
  CHECK(sms_of({equal, equal}, 1 + 30) ==
        "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30");
}

TEST_CASE("equal shares divide the SMs left by lists and counts on the same GPUs, in any application order") {
  std::string const equal = "sms = \"equal\"";
  CHECK(sms_of({equal, "sms = 3", equal}) == "3 4 5; 0 1 2; 6 7");
  CHECK(sms_of({"sms = \"2-3, 6\"", equal, equal}) == "2 3 6; 0 1 4; 5 7");
  CHECK(sms_of({equal, "sms = 2", equal, "sms = \"0-1\""}) == "4 5; 2 3; 6 7; 0 1");
  CHECK(sms_of({equal, "sms = \"all\"", equal}) == "0 1 2 3; ; 4 5 6 7");
  CHECK(sms_of({equal + "\ngpus = \"0-1\"", "sms = 5\ngpus = \"1-2\"", equal + "\ngpus = \"0-1\"",
                "sms = 6\ngpus = \"3\""}) == "5 6; 0 1 2 3 4; 7; 0 1 2 3 4 5");
}

TEST_CASE("equal shares are computed separately for each group of applications with its own GPUs") {
  std::string const equal = "sms = \"equal\"\ngpus = ";
  CHECK(sms_of({equal + "\"0-1\"", equal + "\"2-3\"", equal + "\"1, 0\"", equal + "\"2-3\"",
                equal + "\"3,2\""}) == "0 1 2 3; 0 1 2; 4 5 6 7; 3 4 5; 6 7");
  // A list of all GPUs is equivalent to "all".
  CHECK(sms_of({equal + "\"0-3\"", equal + "\"all\""}) == "0 1 2 3; 4 5 6 7");
}

TEST_CASE("applications with equal shares must have identical lists of GPUs") {
  auto const rest = "; equal shares require the same GPUs";
  CHECK(refusal_of("sms = \"equal\"\ngpus = \"0-1\"\n", "sms = \"equal\"\ngpus = \"1-2\"\n") ==
        "8: application.stream.sms = equal: application 'fir' also has an equal share of one of these GPUs, "
        "but its GPUs are 0-1, not 1-2" +
            std::string(rest));
  CHECK(refusal_of("sms = \"equal\"\n", "sms = \"equal\"\ngpus = \"0-2\"\n") ==
        "7: application.stream.sms = equal: application 'fir' also has an equal share of one of these GPUs, "
        "but its GPUs are all, not 0-2" +
            std::string(rest));
}

TEST_CASE("equal shares of fewer SMs than applications are rejected in one sentence") {
  auto const three = kBase +
                     "[[application]]\nname = \"a\"\nworkload = \"stream\"\nsms = 34\n"
                     "[[application]]\nname = \"b\"\nworkload = \"stream\"\nsms = \"equal\"\n"
                     "[[application]]\nname = \"c\"\nworkload = \"stream\"\nsms = \"equal\"\n"
                     "[[application]]\nname = \"d\"\nworkload = \"stream\"\nsms = \"equal\"\n";
  CHECK(refusal(three) ==
        "9: application.b.sms = equal: lists and counts of applications on the same GPUs leave 2 of the 36 "
        "SMs of a GPU, fewer than the applications that share them (3)");
  CHECK(refusal_of("sms = \"equal\"\n", "sms = \"0-35\"\n") ==
        "4: application.fir.sms = equal: lists and counts of applications on the same GPUs leave 0 of the 36 "
        "SMs of a GPU, fewer than the applications that share them (1)");
  // Other errors are reported alone, because the remaining SMs are then unknown.
  CHECK(refusal_of("sms = \"equal\"\n", "sms = \"0-36\"\n") ==
        "7: application.stream.sms = 0-36 must be within 0 to 35, the SMs of a GPU");
  CHECK(refusal_of("sms = \"equal\"\ngpus = \"2, 4\"\n", "sms = \"equal\"\ngpus = \"0-1\"\n") ==
        "5: application.fir.gpus = 2, 4 must be within 0 to 3, the GPUs of a host");
  CHECK(refusal_of("sms = \"Equal\"\n") ==
        "4: application.fir.sms: 'Equal' is not \"all\", \"equal\", a count, or a list such as \"0-14, 20\"");
}

}  // namespace application_shares_test
