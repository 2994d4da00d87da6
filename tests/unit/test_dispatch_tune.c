/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The tuning store: what is written comes back, and nothing else is believed. */
#include "unit_support.h"
#include "planner/context.h"
#include "planner/tune_file.h"

#include <ctype.h>
#include <glob.h>
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char source[512];

static lac_machine_t loaded(void)
{
    lac_machine_t machine;
    lac_tune_load(&machine, 2, source, sizeof source);
    return machine;
}

static const lac_tune_key_t host = {2, NULL}, device = {2, "A Device 5"};

static lac_machine_t odd_machine(void)
{
    lac_machine_t machine;
    lac_machine_default(&machine);
    for (int i = 0; i < lac_constant_count; i++)
        if (!lac_constant_of_device(i)) *lac_machine_value(&machine, i) = 0.125 + i * 17.03;
    return machine;
}

static void expect_near(lac_machine_t x, lac_machine_t y)
{
    for (int i = 0; i < lac_constant_count; i++) {
        double a = *lac_machine_value(&x, i), b = *lac_machine_value(&y, i);
        if (!(fabs(a - b) <= 1e-5 * fabs(b))) fail_msg("%s: %g, expected %g", lac_constants[i].name, a, b);
    }
}

static void expect_default(const char *what)
{
    lac_machine_t want;
    lac_machine_default(&want);
    lac_machine_t got = loaded();
    if (memcmp(&got, &want, sizeof got) || strncmp(source, "defaults", 8))
        fail_msg("%s: was believed (%s)", what, source);
}

static void test_round_trip(void **state)
{
    (void)state;
    char written[512];
    lac_machine_t machine = odd_machine();
    struct stat info;
    expect_default("nothing stored");
    unit_expect(lac_tune_save(&machine, &host, NULL, written, sizeof written), LAC_OK, "save");
    unit_expect_text(written, "/lacuna/");
    expect_near(loaded(), machine);
    assert_string_equal(source, written);
    assert_int_equal(stat(written, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    *strrchr(written, '/') = '\0';
    assert_int_equal(stat(written, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    lac_machine_t three;
    lac_tune_load(&three, 3, source, sizeof source); /* measured with two threads: of no use for three */
    unit_expect_text(source, "defaults");
}

/* A device's constants lie in a file of their own, and the host's stay out of it. */
static void test_devices_own_file(void **state)
{
    (void)state;
    char written[512], from[512] = "estimated";
    lac_machine_t shipped, machine = odd_machine(), got;
    lac_machine_default(&shipped);
    machine.cuda_dram_gbps = 321.5;
    got = shipped;
    lac_tune_load_device(&got, device.device, from, sizeof from);
    assert_string_equal(from, "estimated");
    unit_expect(lac_tune_save(&machine, &device, NULL, written, sizeof written), LAC_OK, "save");
    unit_expect_text(written, "/lacuna/a-device-5.tune");
    got.cuda_launch_us = 7.0; /* what an estimate says gives way to what was measured */
    lac_tune_load_device(&got, device.device, from, sizeof from);
    assert_string_equal(from, written);
    lac_machine_t want = shipped;
    want.cuda_dram_gbps = 321.5;
    expect_near(got, want);
    lac_tune_load_device(&got, "Another", from, sizeof from);
    assert_string_equal(from, written);
    unit_write(written, "# lacuna tuning 2\ncuda_dram_gbps = 1e9\n");
    got = shipped;
    lac_tune_load_device(&got, device.device, from, sizeof from);
    unit_expect_text(unit_log(), "out of range");
    expect_near(got, shipped);
    remove(written);
}

/* A file with a name of its own serves both, whichever was measured first. */
static void test_shared_file(void **state)
{
    (void)state;
    char written[512], from[512] = "estimated";
    lac_machine_t machine = odd_machine(), got;
    setenv("LACUNA_TUNE_CACHE", unit_path("shared"), 1);
    unit_expect(lac_tune_save(&machine, &host, NULL, written, sizeof written), LAC_OK, "host");
    got = loaded();
    lac_tune_load_device(&got, device.device, from, sizeof from);
    assert_string_equal(from, "estimated"); /* the file has none of a device's */
    got.cuda_dram_gbps = 321.5;
    unit_expect(lac_tune_save(&got, &device, NULL, written, sizeof written), LAC_OK, "device");
    machine.cuda_dram_gbps = 321.5;
    expect_near(loaded(), machine);
    machine.fork_join_us = 2.5;
    unit_expect(lac_tune_save(&machine, &host, NULL, written, sizeof written), LAC_OK, "host again");
    expect_near(loaded(), machine);
    lac_tune_load_device(&got, device.device, from, sizeof from);
    assert_string_equal(from, unit_path("shared"));
    unsetenv("LACUNA_TUNE_CACHE");
}

static void test_named_file(void **state)
{
    (void)state;
    char written[512];
    lac_machine_t machine = odd_machine();
    setenv("LACUNA_TUNE_CACHE", unit_path("deep/down/tuning"), 1);
    unit_expect(lac_tune_save(&machine, &host, NULL, written, sizeof written), LAC_OK, "save");
    assert_string_equal(written, unit_path("deep/down/tuning"));
    expect_near(loaded(), machine);
    machine.fork_join_us = 2.5;
    unit_expect(lac_tune_save(&machine, &host, unit_path("deep/down/tuning"), written, sizeof written),
                LAC_OK, "save over it");
    expect_near(loaded(), machine);
    unsetenv("LACUNA_TUNE_CACHE");
}

static void test_damage(void **state)
{
    (void)state;
    static const struct {
        const char *text, *word;
    } cases[] = {{"", "not a tuning file"},
                 {"something else\nfork_join_us = 2\n", "not a tuning file"},
                 {"# lacuna tuning 22\nfork_join_us = 2\n", "not a tuning file"},
                 {"# lacuna tuning 2\nfork_join_us 2\n", "not 'name = value'"},
                 {"# lacuna tuning 2\nfork_join_us = two\n", "not 'name = value'"},
                 {"# lacuna tuning 2\nfork_join_us = 2 3\n", "not 'name = value'"},
                 {"# lacuna tuning 2\nfork_join_us = 2,5\n", "not 'name = value'"},
                 {"# lacuna tuning 2\nfork_join_us = 0\n", "out of range"},
                 {"# lacuna tuning 2\nfork_join_us = -2\n", "out of range"},
                 {"# lacuna tuning 2\nfork_join_us = nan\n", "out of range"},
                 {"# lacuna tuning 2\nfork_join_us = inf\n", "out of range"},
                 {"# lacuna tuning 2\nfork_join_us = 1e300\n", "out of range"},
                 {"# lacuna tuning 2\nunheard_of = -1\n", "out of range"},
                 {"\x7f"
                  "ELF",
                  "not a tuning file"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[32];
        snprintf(name, sizeof name, "damaged%d", (int)i);
        unit_write(unit_path(name), cases[i].text);
        setenv("LACUNA_TUNE_CACHE", unit_path(name), 1);
        expect_default(cases[i].text);
        const char *log = unit_log();
        unit_expect_text(log, cases[i].word);
        unit_expect_text(log, name);
        expect_default(cases[i].text);
        assert_string_equal(unit_log(), ""); /* reported once */
    }
    unsetenv("LACUNA_TUNE_CACHE");
}

/* What later and earlier versions write is no damage. */
static void test_unknown_names_and_missing_ones(void **state)
{
    (void)state;
    lac_machine_t want;
    lac_machine_default(&want);
    want.fork_join_us = 3.25;
    unit_write(unit_path("other"), "# lacuna tuning 2\n# by hand\n\nunheard_of = 5\nfork_join_us = 3.25\n");
    setenv("LACUNA_TUNE_CACHE", unit_path("other"), 1);
    expect_near(loaded(), want);
    assert_string_equal(source, unit_path("other"));
    unsetenv("LACUNA_TUNE_CACHE");
    assert_string_equal(unit_log(), "");
}

static void test_oversized(void **state)
{
    (void)state;
    FILE *file = fopen(unit_path("oversized"), "w");
    assert_non_null(file);
    fputs("# lacuna tuning 2\n", file);
    for (int i = 0; i < 100000; i++) fputs("fork_join_us = 2\n", file);
    fclose(file);
    setenv("LACUNA_TUNE_CACHE", unit_path("oversized"), 1);
    expect_default("oversized");
    unit_expect_text(unit_log(), "too long");
    file = fopen(unit_path("one_line"), "w");
    assert_non_null(file);
    fputs("# lacuna tuning 2\n", file);
    for (int i = 0; i < 100000; i++) fputs("fork_join_us = ", file);
    fclose(file);
    setenv("LACUNA_TUNE_CACHE", unit_path("one_line"), 1);
    expect_default("one long line");
    unit_log();
    unsetenv("LACUNA_TUNE_CACHE");
}

/* Nothing lies there whose name begins with this one's and a dot. */
static bool alone(const char *name)
{
    char pattern[600];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s.*", unit_path(name));
    int none = glob(pattern, 0, NULL, &found);
    globfree(&found);
    return none == GLOB_NOMATCH;
}

/* What a process of the same number left when it was killed is in nobody's way. */
static void test_left_over(void **state)
{
    (void)state;
    char written[512], left[64];
    lac_machine_t machine = odd_machine();
    snprintf(left, sizeof left, "beside.%ld.tmp", (long)getpid());
    unit_write(unit_path(left), "");
    unit_expect(lac_tune_save(&machine, &host, unit_path("beside"), written, sizeof written), LAC_OK, "save");
    assert_int_equal(remove(unit_path(left)), 0);
    assert_true(alone("beside"));
}

/* Whoever says /dev/null does not want it replaced by a file. */
static void test_no_regular_file(void **state)
{
    (void)state;
    char written[512] = "untouched";
    lac_machine_t machine = odd_machine();
    struct stat info;
    assert_int_equal(mkfifo(unit_path("pipe"), 0600), 0);
    setenv("LACUNA_TUNE_CACHE", unit_path("pipe"), 1);
    unit_expect(lac_tune_try(&host, NULL), LAC_ERR_IO, "try");
    unit_expect(lac_tune_save(&machine, &host, NULL, written, sizeof written), LAC_ERR_IO, "save");
    unsetenv("LACUNA_TUNE_CACHE");
    unit_expect_text(lac_last_error(), "no regular file");
    assert_string_equal(written, "untouched");
    assert_int_equal(stat(unit_path("pipe"), &info), 0);
    assert_true(S_ISFIFO(info.st_mode));
    assert_true(alone("pipe"));
}

static void test_unwritable(void **state)
{
    (void)state;
    char written[512] = "untouched", longer[5000];
    lac_machine_t machine = odd_machine();
    unit_write(unit_path("file"), "");
    unit_expect(lac_tune_save(&machine, &host, unit_path("file/below"), written, sizeof written), LAC_ERR_IO,
                "below a file");
    unit_expect_text(lac_last_error(), "path: cannot write");
    unit_expect(lac_tune_save(&machine, &host, unit_path("absent/below"), written, sizeof written),
                LAC_ERR_IO, "in a folder that is not there");
    assert_int_equal(mkdir(unit_path("folder"), 0700), 0);
    assert_int_equal(mkdir(unit_path("folder/full"), 0700), 0);
    unit_expect(lac_tune_save(&machine, &host, unit_path("folder"), written, sizeof written), LAC_ERR_IO,
                "onto a folder");
    assert_true(alone("folder")); /* nothing half done stays behind */
    memset(longer, 'x', sizeof longer - 1);
    longer[0] = '/', longer[sizeof longer - 1] = '\0';
    unit_expect(lac_tune_save(&machine, &host, longer, written, sizeof written), LAC_ERR_IO, "a long path");
    assert_string_equal(written, "untouched");
    char *home = strdup(getenv("HOME")), *xdg = strdup(getenv("XDG_CACHE_HOME"));
    unsetenv("HOME");
    unsetenv("XDG_CACHE_HOME");
    unit_expect(lac_tune_save(&machine, &host, NULL, written, sizeof written), LAC_ERR_IO, "no home");
    expect_default("no home");
    setenv("HOME", home, 1);
    setenv("XDG_CACHE_HOME", xdg, 1);
    free(home);
    free(xdg);
}

/* A disk that takes nothing more: the old file stays, and nothing half done beside it. */
static void test_full_disk(void **state)
{
    (void)state;
    char written[512] = "untouched", line[64] = "";
    lac_machine_t machine = odd_machine();
    struct rlimit before, none;
    unit_write(unit_path("old"), "as it was\n");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    none = before, none.rlim_cur = 0;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    lac_status_t status = lac_tune_save(&machine, &host, unit_path("old"), written, sizeof written);
    lac_status_t tried = lac_tune_try(&host, unit_path("old"));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
    unit_expect(status, LAC_ERR_IO, "save");
    unit_expect(tried, LAC_OK, "an empty file can be made");
    assert_string_equal(written, "untouched");
    assert_true(alone("old"));
    FILE *file = fopen(unit_path("old"), "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    fclose(file);
    assert_string_equal(line, "as it was\n");
}

static void test_decimal_comma(void **state)
{
    (void)state;
    char command[512], written[512];
    lac_machine_t machine = odd_machine();
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s >/dev/null 2>&1",
             unit_path("de_DE.UTF-8"));
    int made = system(command);
    setenv("LOCPATH", unit_path("."), 1);
    setenv("LACUNA_TUNE_CACHE", unit_path("comma"), 1);
    bool comma = !made && setlocale(LC_ALL, "de_DE.UTF-8") && !strcmp(localeconv()->decimal_point, ",");
    lac_status_t status = lac_tune_save(&machine, &host, NULL, written, sizeof written);
    setlocale(LC_ALL, "C");
    lac_machine_t plain = loaded();
    if (comma) setlocale(LC_ALL, "de_DE.UTF-8");
    lac_machine_t again = loaded();
    setlocale(LC_ALL, "C");
    unsetenv("LACUNA_TUNE_CACHE");
    unsetenv("LOCPATH");
    unit_expect(status, LAC_OK, "save");
    expect_near(plain, machine);
    expect_near(again, machine);
    if (!comma) skip();
}

/* Where the small letter of I is no ASCII letter, the file is still that of the processor. */
static void test_turkish_letters(void **state)
{
    (void)state;
    char command[512], written[512], from[512] = "estimated";
    lac_machine_t machine = odd_machine(), got = machine;
    lac_tune_key_t key = {2, "INTEL"};
    snprintf(command, sizeof command, "localedef -i tr_TR -f ISO-8859-9 %s >/dev/null 2>&1",
             unit_path("tr_TR"));
    int made = system(command);
    setenv("LOCPATH", unit_path("."), 1);
    bool turkish = !made && setlocale(LC_ALL, "tr_TR") && tolower('I') != 'i';
    lac_status_t status = lac_tune_save(&machine, &key, NULL, written, sizeof written);
    setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
    unit_expect(status, LAC_OK, "save");
    lac_tune_load_device(&got, key.device, from, sizeof from);
    assert_string_equal(from, written);
    assert_int_equal(remove(written), 0);
    if (!turkish) skip();
}

static void test_home_is_not_named(void **state)
{
    (void)state;
    static const char *const inside[][2] = {{"/home/x/y.tune", "~/y.tune"},
                                            {"/home/xy/z", "/home/xy/z"},
                                            {"/home/x", "/home/x"},
                                            {"defaults; none stored", "defaults; none stored"}};
    char *home = strdup(getenv("HOME")), text[64];
    setenv("HOME", "/home/x", 1);
    for (int i = 0; i < 4; i++) {
        lac_tune_shown_path(inside[i][0], text, sizeof text);
        assert_string_equal(text, inside[i][1]);
    }
    setenv("HOME", home, 1);
    free(home);
}

static double found_noise; /* by a measurement that a test makes up */

static lac_status_t tune(lac_exec_t *exec, int threads, lac_machine_t *machine, lac_info_fn progress,
                         void *arg)
{
    (void)exec, (void)threads, (void)progress, (void)arg;
    machine->dense_gflops = 96.0;
    machine->noise = found_noise;
    return LAC_OK;
}

/* Constants that were measured beside other work are trusted like the defaults, at once and from the file,
 * and the log says so. */
static void test_noisy_machine(void **state)
{
    (void)state;
    for (int noisy = 0; noisy < 2; noisy++) {
        lac_ctx_t *ctx = unit_ctx(), *later;
        const lac_backend_t *own = ctx->backend;
        lac_backend_t made_up = *own;
        made_up.tune = tune;
        found_noise = noisy ? 1.5 * LAC_NOISE_MAX : 0.5 * LAC_NOISE_MAX;
        ctx->backend = &made_up;
        unit_log();
        unit_expect(lac_tune(ctx, NULL, NULL, NULL), LAC_OK, "tune");
        ctx->backend = own;
        if (noisy) unit_expect_text(unit_log(), "tune: noisy machine: repeated measurements differ by 38 %");
        if (!noisy) assert_string_equal(unit_log(), "");
        later = unit_ctx();
        assert_true(later->machine.dense_gflops == 96.0);
        assert_true(ctx->tuned == !noisy && later->tuned == !noisy);
        lac_ctx_free(ctx);
        lac_ctx_free(later);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),      cmocka_unit_test(test_devices_own_file),
        cmocka_unit_test(test_shared_file),     cmocka_unit_test(test_named_file),
        cmocka_unit_test(test_damage),          cmocka_unit_test(test_unknown_names_and_missing_ones),
        cmocka_unit_test(test_oversized),       cmocka_unit_test(test_unwritable),
        cmocka_unit_test(test_full_disk),       cmocka_unit_test(test_decimal_comma),
        cmocka_unit_test(test_left_over),       cmocka_unit_test(test_no_regular_file),
        cmocka_unit_test(test_turkish_letters), cmocka_unit_test(test_home_is_not_named),
        cmocka_unit_test(test_noisy_machine)};
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
