/* SPDX-License-Identifier: BSD-3-Clause */
/* The signals that the tool was started to ignore, as by nohup. UCX takes SIGHUP before main, whatever it was. */
#pragma once

/* 1: `signal`, from 1 to 31, was ignored when the program began. */
int themis_tools_signal_is_ignored(int signal);
