/* SPDX-License-Identifier: BSD-3-Clause */
/* The mode of what is created on servers, which know nothing of this process's umask. */
#pragma once
#include <stdint.h>

/* Reads the umask; once, before there are threads. */
void themis_tools_creation_mode_init(void);
/* `mode` without the bits of the umask. */
uint32_t themis_tools_creation_mode(uint32_t mode);
