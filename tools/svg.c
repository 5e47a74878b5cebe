/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/svg.h"
#include <math.h>

void themis_tools_svg_begin(FILE *out, double width, double height)
{
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
            "font-family=\"sans-serif\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
            width, height, width, height);
}

void themis_tools_svg_text(FILE *out, const char *text, int most)
{
    for (; *text; text++) {
        if ((*text & 0xC0) != 0x80 && most-- == 0)
            return;
        if (*text == '&')
            fputs("&amp;", out);
        else if (*text == '<')
            fputs("&lt;", out);
        else if (*text == '>')
            fputs("&gt;", out);
        else
            fputc(*text, out);
    }
}

double themis_tools_svg_step(double end, int marks)
{
    double power = pow(10, floor(log10(end / marks))), part = end / marks / power;

    return power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
}
