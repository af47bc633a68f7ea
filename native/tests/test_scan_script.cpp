#include "jpeg/scan_script.hpp"

#include <string>

#include "tests/check.hpp"

using namespace halfbyte;
using namespace halfbyte::jpeg;

namespace {

Status check_gray(const RequestedLevels& levels) {
  std::array<std::optional<RequestedLevels>, kColorModels> models;
  models[static_cast<std::size_t>(ColorModel::gray)] = levels;
  return ScanScript::checked(models).status();
}

bool says(const Status& status, const char* text) {
  return status.code == Code::illegal_script && status.message.find(text) != std::string::npos;
}

void legal_scripts_pass() {
  CHECK(check_gray({{{{0}, 0, 0, 0, 1}}, {}, {{{0}, 1, 63, 0, 1}, {{0}, 1, 63, 1, 0}}, {{{0}, 0, 0, 1, 0}}}).ok());
}

void bad_scans_are_named() {
  CHECK(says(check_gray({{{{0}, 0, 0, 0, 0}, {{0}, 1, 63, 0, 2}, {{0}, 1, 63, 2, 0}}}),
             "gray: scan 3 (component 0, 1-63, Ah 2, Al 0): a refinement must have Ah = Al + 1"));
  CHECK(says(check_gray({{{{-1}, 0, 0, 0, 0}}}), "there is no such component"));
  CHECK(says(check_gray({{{{1 << 30}, 0, 0, 0, 0}}}), "there is no such component"));
  CHECK(says(check_gray({{{{0}, -1, -1, 0, 0}}}), "the band must lie in 0-63"));
  CHECK(says(check_gray({{{{0}, 0, 0, 0, -1}}}), "Ah and Al must lie in 0..10"));
  CHECK(says(check_gray({{{{}, 0, 0, 0, 0}}}), "a scan codes 1 to 4 components"));
  CHECK(says(check_gray({}), "no levels"));
  CHECK(says(check_gray({{}, {{{0}, 0, 0, 0, 0}, {{0}, 1, 63, 0, 0}}}), "level 1 lacks the DC scan"));
}

void long_scripts_are_refused() {
  std::vector<RequestedScan> scans{{{0}, 0, 0, 0, 10}};
  for (int al = 9; al >= 0; --al) scans.push_back({{0}, 0, 0, al + 1, al});
  for (int k = 1; k < 64; ++k) {
    for (int al = 10; al >= 0; --al) scans.push_back({{0}, k, k, al == 10 ? 0 : al + 1, al});
  }
  CHECK(says(check_gray({scans}), "more than 256 scans"));
}

void models_have_the_same_levels() {
  std::array<std::optional<RequestedLevels>, kColorModels> models;
  models[1] = RequestedLevels{{{{0}, 0, 0, 0, 0}, {{0}, 1, 63, 0, 0}}};
  models[0] = RequestedLevels{{{{0, 1, 2}, 0, 0, 0, 0}},
                              {{{0}, 1, 63, 0, 0}, {{1}, 1, 63, 0, 0}, {{2}, 1, 63, 0, 0}}};
  CHECK(says(ScanScript::checked(models).status(), "gray: 1 levels, but another colour model has 2"));
  CHECK(says(ScanScript::checked({}).status(), "a scan script needs a colour model"));
}

}  // namespace

int main() {
  legal_scripts_pass();
  bad_scans_are_named();
  long_scripts_are_refused();
  models_have_the_same_levels();
  return halfbyte::test::result();
}
