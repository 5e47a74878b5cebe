/* SPDX-License-Identifier: BSD-3-Clause */
/* What pictures of several commands have in common. */
#pragma once
#include <stdio.h>

/* The beginning of a picture of so many pixels, white. "</svg>" ends it. */
void themis_tools_svg_begin(FILE *out, double width, double height);

/* At most `most` characters of a text in UTF-8, as text of an element. */
void themis_tools_svg_text(FILE *out, const char *text, int most);

/* A step of 1, 2 or 5 times a power of ten that gives at most `marks` marks up to `end`, which is above 0. */
double themis_tools_svg_step(double end, int marks);
