// The cells, the text of the table, the limits, and that a run repeats exactly in any process.
#include "tools/verbs/matrix/matrix.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>

#include "tools/base/output/json.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Cell quick_cell(Reordering reordering) {
  return {tcp::Congestion::reno, 10'000'000, Duration::microseconds(200), Probability{10'000'000},
          reordering};
}

Cell pure_cell(Reordering reordering) {
  return {tcp::Congestion::reno, 1'000'000'000, Duration::milliseconds(10), Probability{0},
          reordering};
}

TEST(Matrix, HoldsEveryCell) {
  // Reno and CUBIC everywhere, DCTCP at 1 Gbit/s and 0.2 ms.
  EXPECT_EQ(matrix_cells().size(), 2u * 2 * 4 * 5 * 4 + 5 * 4);
  EXPECT_EQ(matrix_cells().size() % slice_cells, 0u);
}

TEST(Matrix, TheSixthContainsEachValue) {
  std::size_t count = 0;
  std::array<std::uint32_t, reordering_count> reorderings{};
  std::array<std::uint32_t, tcp::congestion_count> controllers{};
  for (const Cell& cell : matrix_cells()) {
    if (of_the_sixth(cell)) {
      ++count;
      ++reorderings[static_cast<std::size_t>(cell.reordering)];
      ++controllers[static_cast<std::size_t>(cell.congestion)];
    }
  }
  EXPECT_NEAR(static_cast<double>(count), static_cast<double>(matrix_cells().size()) / 6, 3);
  EXPECT_THAT(reorderings, ::testing::Each(::testing::Ge(10u)));
  EXPECT_THAT(controllers, ::testing::Each(::testing::Ge(2u)));
}

TEST(Matrix, SmallWindowsReorderByOneSegment) {
  EXPECT_EQ(hold_of(quick_cell(Reordering::quarter)), hold_of(quick_cell(Reordering::one)));
  EXPECT_EQ(hold_of(pure_cell(Reordering::quarter)), Duration::microseconds(2'500));
  EXPECT_TRUE(within_window(pure_cell(Reordering::quarter)));
  EXPECT_FALSE(within_window({tcp::Congestion::reno, 1'000'000'000, Duration::microseconds(200),
                              Probability{0}, Reordering::ten}));
}

TEST(Matrix, ARunIsTheSameForAnyNumberOfJobs) {
  std::vector<Cell> const cells{quick_cell(Reordering::none), quick_cell(Reordering::one)};
  std::vector<CellResult> const alone = measure({cells, 1, {}, {}});
  EXPECT_EQ(alone, measure({cells, 3, {}, {}}));
  EXPECT_EQ(alone[0].cell, cells[0]);
  EXPECT_GT(alone[0].on, 1'000u);
  EXPECT_LT(alone[0].on, 10'000u);
}

TEST(Matrix, TheTableReadsAsItWasWritten) {
  std::vector<CellResult> const table{{pure_cell(Reordering::none), 900, 800},
                                      {pure_cell(Reordering::one), 450, 0}};
  std::string const text = table_text(table);
  EXPECT_THAT(text, HasSubstr("450       0        -            50%\n"));
  EXPECT_EQ(parse_table(text, "t"), table);
  std::vector<CellResult> const fresh{{pure_cell(Reordering::one), 7, 8}};
  EXPECT_THAT(merged(table, fresh), ElementsAre(table[0], fresh[0]));
}

TEST(Matrix, TheReportHoldsResultsAndTableValues) {
  Cell const known = quick_cell(Reordering::none);
  Cell const strange = quick_cell(Reordering::ten);
  auto const report = parse_json(
      matrix_json({{known, 900, 800}, {strange, 500, 700}}, {{known, 901, 800}}, {"a gate"}));
  ASSERT_EQ(report["cells"].size(), 2u);
  EXPECT_EQ(report["cells"][0], (nlohmann::ordered_json{{"name", name_of(known)},
                                                        {"on", 900},
                                                        {"off", 800},
                                                        {"table", {{"on", 901}, {"off", 800}}}}));
  EXPECT_EQ(report["cells"][1]["on"], 500);
  EXPECT_TRUE(report["cells"][1]["table"].is_null());
  EXPECT_EQ(report["missed"], nlohmann::ordered_json({"a gate"}));
}

TEST(Matrix, TheReportDoesNotOverwriteTheTable) {
  MatrixOptions options;
  options.json = options.table = testing::TempDir() + "/table.txt";
  EXPECT_THROW(run_matrix_verb(options), Failure);
}

TEST(Matrix, ALineThatNamesNoCellIsRefused) {
  try {
    parse_table("# head\nreno 10M 1h 0 none 1 1\n", "t.txt");
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::bad_input);
    EXPECT_THAT(failure.what(), HasSubstr("t.txt:2: "));
  }
}

TEST(Matrix, AMissedLimitIsNamed) {
  CellResult const none{pure_cell(Reordering::none), 1'000, 1'000};
  CellResult const slow{pure_cell(Reordering::ten), 949, 900};
  CellResult const slower{pure_cell(Reordering::one), 960, 1'067};
  CellResult const fine{pure_cell(Reordering::one), 960, 1'066};
  std::vector<std::string> const missed = missed_gates({none, slow, slower}, {none});
  ASSERT_EQ(missed.size(), 2u);
  EXPECT_THAT(missed[0], HasSubstr("with reordering 949, without 1000"));
  EXPECT_THAT(missed[1], HasSubstr("960, below 0.9 of 1067"));
  EXPECT_TRUE(missed_gates({fine}, {none}).empty());
}

}  // namespace
}  // namespace lockstep::tools
