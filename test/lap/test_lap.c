/* SPDX-License-Identifier: BSD-3-Clause */
/* Assignment: every result is proved optimal by its certificate; small ones also by trying all assignments. */
#include <check.h>
#include <stdlib.h>

#include "test/lib/run.h"
#include "themis/lap.h"

typedef struct problem {
    size_t rows, columns;
    int64_t *cost;
    themis_lap_i64_t i64;
} problem_t;

static uint64_t state;

static uint64_t draw(void)
{
    state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = state;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static problem_t make(size_t rows, size_t columns)
{
    problem_t p = {.rows = rows, .columns = columns};

    p.cost = calloc(rows * columns, sizeof *p.cost);
    p.i64.column = calloc(rows, sizeof(uint32_t));
    p.i64.u = calloc(rows, sizeof(int64_t));
    p.i64.v = calloc(columns, sizeof(int64_t));
    return p;
}

static void drop(problem_t *p)
{
    free(p->cost);
    free(p->i64.column);
    free(p->i64.u);
    free(p->i64.v);
}

/* Solves, and proves the result. */
static void solve(problem_t *p)
{
    const char *reason = NULL;

    ck_assert_int_eq(themis_lap_i64_solve(p->rows, p->columns, p->cost, &p->i64), THEMIS_OK);
    ck_assert_msg(themis_lap_i64_certify(p->rows, p->columns, p->cost, &p->i64, &reason) == THEMIS_OK, "%zu x %zu: %s",
                  p->rows, p->columns, reason);
}

static int64_t brute(const problem_t *p, size_t row, unsigned used)
{
    int64_t best = INT64_MAX;

    if (row == p->rows)
        return 0;
    for (size_t j = 0; j < p->columns; j++) {
        if (!(used & (1u << j))) {
            int64_t rest = brute(p, row + 1, used | (1u << j)) + p->cost[row * p->columns + j];

            best = rest < best ? rest : best;
        }
    }
    return best;
}

TEST(small_equal_brute_force)
{
    state = 1;
    for (int round = 0; round < 3000; round++) {
        size_t columns = 1 + draw() % (round % 100 == 0 ? 8 : 6), rows = 1 + draw() % columns;
        int64_t range = (int64_t[]){2, 5, 100, 1000000007}[draw() % 4];
        problem_t p = make(rows, columns);

        for (size_t k = 0; k < rows * columns; k++)
            p.cost[k] = (int64_t)(draw() % (uint64_t)range) - (draw() % 2 ? range / 2 : 0);
        solve(&p);
        ck_assert_int_eq(p.i64.total, brute(&p, 0, 0));
        drop(&p);
    }
}

/* Cost shapes; each is a function of row, column and a seed that draw() advances. */
static int64_t shape_cost(int shape, size_t i, size_t j, size_t rows)
{
    switch (shape) {
    case 0: /* uniform */
        return (int64_t)(draw() % 1000000);
    case 1: /* all equal */
        return 42;
    case 2: /* tied: few values */
        return (int64_t)(draw() % 3);
    case 3: /* product: the classic hard case for augmenting path methods */
        return (int64_t)((i + 1) * (j + 1));
    case 4: /* hop-bytes: near the diagonal most of the bytes are local */
        return (int64_t)(4096 * (1 + (i / 8 > j / 8 ? i / 8 - j / 8 : j / 8 - i / 8)) + draw() % 64);
    case 5: /* geometric range */
        return (int64_t)(draw() >> (8 + draw() % 48));
    case 6: /* extreme */
        return draw() % 2 ? THEMIS_LAP_MAX_I64 / (int64_t)(rows > 64 ? rows : 1)
                          : -THEMIS_LAP_MAX_I64 / (int64_t)(rows > 64 ? rows : 1);
    case 7: /* degenerate: rank one, many optima */
        return (int64_t)(i % 7) - (int64_t)(j % 5);
    default: /* one good column for all rows */
        return j == 0 ? -1000000 : (int64_t)(draw() % 10);
    }
}

enum { SHAPES = 9 };

TEST(shapes_are_optimal)
{
    static const size_t sizes[][2] = {{1, 1},   {1, 9},   {7, 7},     {8, 8},     {9, 17},
                                      {33, 64}, {64, 64}, {100, 101}, {200, 200}, {60, 500}};

    state = 2;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        problem_t p = make(sizes[s][0], sizes[s][1]);

        for (size_t k = 0; k < p.rows * p.columns; k++)
            p.cost[k] = shape_cost(_i, k / p.columns, k % p.columns, p.rows);
        solve(&p);
        drop(&p);
    }
}

TEST(large_are_optimal)
{
    static const struct {
        size_t rows, columns;
        int shape;
    } cases[] = {{1000, 1000, 0}, {1000, 1000, 2}, {700, 1500, 4}, {500, 500, 3}, {4000, 4000, 4}, {1000, 1000, 5}};
    problem_t p = make(cases[_i].rows, cases[_i].columns);

    state = 3;
    for (size_t k = 0; k < p.rows * p.columns; k++)
        p.cost[k] = shape_cost(cases[_i].shape, k / p.columns, k % p.columns, p.rows);
    solve(&p);
    drop(&p);
}

TEST(bad_input_is_refused)
{
    problem_t p = make(2, 3);

    ck_assert_int_eq(themis_lap_i64_solve(0, 3, p.cost, &p.i64), THEMIS_INVALID);
    ck_assert_int_eq(themis_lap_i64_solve(3, 2, p.cost, &p.i64), THEMIS_INVALID);
    p.cost[4] = THEMIS_LAP_MAX_I64 + 1;
    ck_assert_int_eq(themis_lap_i64_solve(2, 3, p.cost, &p.i64), THEMIS_RANGE);
    p.cost[4] = INT64_MIN;
    ck_assert_int_eq(themis_lap_i64_solve(2, 3, p.cost, &p.i64), THEMIS_RANGE);
    drop(&p);
}

TEST(total_beyond_64_bits_is_refused)
{
    problem_t p = make(200, 200);

    for (size_t k = 0; k < p.rows * p.columns; k++)
        p.cost[k] = THEMIS_LAP_MAX_I64;
    p.i64.total = 5;
    ck_assert_int_eq(themis_lap_i64_solve(p.rows, p.columns, p.cost, &p.i64), THEMIS_RANGE);
    ck_assert_int_eq(p.i64.total, 5);
    drop(&p);
}

/* Costs of any accepted size, uniform or only the two extremes; more than 64 rows, so that totals may not fit. A
 * quarter of the costs, whose total always fits, tells whether the total fits and what it is. */
TEST(extreme_costs_are_exact)
{
    int fitting = 0, beyond = 0;

    state = 6;
    for (int round = 0; round < 60; round++) {
        size_t columns = 65 + draw() % 196, rows = round % 3 ? 65 + draw() % (columns - 64) : columns;
        int uniform = round % 2;
        problem_t p = make(rows, columns), quarter = make(rows, columns);

        for (size_t k = 0; k < rows * columns; k++) {
            int64_t size = uniform ? (int64_t)(draw() % (THEMIS_LAP_MAX_I64 / 4 + 1)) : THEMIS_LAP_MAX_I64 / 4;
            /* Few columns are cheap in some rounds: then both signs are chosen. */
            int cheap = round % 4 < 2 || k % columns < rows / 2;
            quarter.cost[k] = cheap && draw() % 2 ? -size : size;
            p.cost[k] = 4 * quarter.cost[k];
        }
        solve(&quarter);
        if (quarter.i64.total <= INT64_MAX / 4 && quarter.i64.total >= INT64_MIN / 4) {
            fitting++;
            solve(&p);
            ck_assert_int_eq(p.i64.total, 4 * quarter.i64.total);
        } else {
            beyond++;
            ck_assert_int_eq(themis_lap_i64_solve(rows, columns, p.cost, &p.i64), THEMIS_RANGE);
        }
        drop(&p);
        drop(&quarter);
    }
    ck_assert_int_gt(fitting, 10);
    ck_assert_int_gt(beyond, 10);
}

TEST(certificate_finds_every_lie)
{
    problem_t p = make(20, 30);
    uint32_t other;

    state = 5;
    for (size_t k = 0; k < p.rows * p.columns; k++)
        p.cost[k] = (int64_t)(draw() % 1000);
    solve(&p);
    other = p.i64.column[3];
#define LIE(statement, undo)                                                                                           \
    statement;                                                                                                         \
    ck_assert_int_eq(themis_lap_i64_certify(20, 30, p.cost, &p.i64, NULL), THEMIS_INVALID);                            \
    undo;                                                                                                              \
    ck_assert_int_eq(themis_lap_i64_certify(20, 30, p.cost, &p.i64, NULL), THEMIS_OK)
    LIE(p.i64.total++, p.i64.total--);
    LIE(p.i64.u[7]++, p.i64.u[7]--);
    LIE(p.i64.u[7]--, p.i64.u[7]++);
    LIE(p.i64.v[other]--, p.i64.v[other]++);
    LIE(p.i64.column[3] = 30, p.i64.column[3] = other);
    LIE(p.i64.column[3] = p.i64.column[4], p.i64.column[3] = other);
    LIE((p.i64.column[3] = p.i64.column[5], p.i64.column[5] = other),
        (p.i64.column[5] = p.i64.column[3], p.i64.column[3] = other));
#undef LIE
    drop(&p);
}

int main(void)
{
    Suite *suite = suite_create("lap");

    test_case(suite, "lap", 120, NULL, NULL,
              TESTS({small_equal_brute_force, 1}, {shapes_are_optimal, SHAPES}, {large_are_optimal, 6},
                    {bad_input_is_refused, 1}, {total_beyond_64_bits_is_refused, 1}, {extreme_costs_are_exact, 1},
                    {certificate_finds_every_lie, 1}));
    return test_run(suite);
}
