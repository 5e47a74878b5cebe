-- SPDX-License-Identifier: BSD-3-Clause
-- Calls one function of a burst_buffer.lua as Slurm's plugin does, in a Lua of its own and with strings only:
--   lua call.lua FILE FUNCTION [ARGUMENT...]
-- prints the second value that it returns, and ends with 0 if the first one is success. Errors that are logged go to standard error.
slurm = {SUCCESS = 0, ERROR = -1}
for _, level in ipairs({"error", "info", "verbose", "debug"}) do
    slurm["log_" .. level] = function(...) io.stderr:write("log_" .. level .. ": " .. string.format(...) .. "\n") end
end
dofile(arg[1])
local status, text = _G[arg[2]](select(3, (table.unpack or unpack)(arg)))
assert(type(status) == "number" and (text == nil or type(text) == "string"), "wrong types")
if text then print(text) end
os.exit(status == slurm.SUCCESS and 0 or 1)
