-- SPDX-License-Identifier: BSD-3-Clause
-- Burst buffers of Slurm's plugin burst_buffer/lua on Themis servers; doc/slurm.md tells how to install it. Tried with Slurm 22.05;
-- versions from 21.08 on differ in arguments that are not used here. Lua 5.1 to 5.4. A job script has, before its first command,
--
--   #BB_LUA pool=themis capacity=100G stage_in=/home/ada/input:/input stage_out=/results:/home/ada/results
--   #BB_LUA pool=nodes capacity=64G [servers=4] stage_in=SRC[:DST] stage_out=SRC:DST
--
-- pool=themis: on the site's servers. The job has a directory there. data_in copies into it while the job waits for its nodes,
-- data_out copies out of it when they have been released, teardown removes it.
-- pool=nodes: servers on the nodes of the job, N or one on each. They can only run when it has its nodes: pre_run starts a process on
-- this host that keeps them ("themis run"), and copies in; data_out has that process copy out and end them, for which epilog.sh holds
-- the nodes; teardown ends it in any case.
--
-- Design. Slurm calls job_process, pools and paths inside slurmctld, with locks: they read the job script or write one small file,
-- and start nothing. It calls all others in processes of their own, with limits of time (burst_buffer.conf): they may wait. This file
-- decides what is to be done; themis_bb.sh does it, always as the user of the job, so that a path in a job script reaches nothing that the
-- user does not. Of the text of a script only words with known keys and harmless characters are taken, quoted all the same, and anew at
-- each call. What is known of a job between calls is in a directory of the state directory: who its user is (setup is told), and
-- files by which teardown stops what still runs.

local directory = debug.getinfo(1, "S").source:match("^@(.*)/[^/]*$") or "/etc/slurm"

local function settings()
    local values = {bin = "/usr/bin", servers = "", capacity = "1000", state = "/var/lib/themis-bb", shared = ""}
    for line in io.lines(directory .. "/themis_bb.conf") do
        local key, value = line:match("^(%w+)=(.-)%s*$")
        if key then values[key] = value:gsub("^\"(.*)\"$", "%1") end
    end
    return values
end

local function failure(text)
    slurm.log_error("%s", "themis: " .. text)
    return slurm.ERROR, text
end

local function quoted(word) return "'" .. tostring(word):gsub("'", "'\\''") .. "'" end

-- run(WORD...): a program; whether it succeeded, and the end of what it said.
local function run(...)
    local words = {}
    for i, word in ipairs({...}) do words[i] = quoted(word) end
    local pipe = io.popen(table.concat(words, " ") .. " 2>&1 </dev/null; echo :$?")
    local text, status = pipe:read("*a"):match("^(.*):(%d+)%s*$")
    pipe:close()
    return status == "0", ((text or ""):gsub("%s+$", ""):gsub("[^\32-\126]", " "):sub(-400))
end

local function read(path)
    local file = io.open(path)
    local text = file and file:read("*a")
    if file then file:close() end
    return text
end

local function write(path, text)
    local file = io.open(path, "w")
    if not file then return false end
    file:write(text)
    return file:close()
end

-- The directives ----------------------------------------------------------------------------------------------------------------

local function path_error(path)
    if not path:match("^/[%w%._/%+=@,%%%-]*$") then return "only absolute paths of letters, digits and ._/+=@,%- are possible" end
    if ("/" .. path .. "/"):find("/%.%.?/") then return "paths may not have . or .. in them" end
    if #path > 1000 then return "the path is too long" end
end

-- pair(VALUE, IS_IN): {from, to}, or nil and what is wrong
local function pair(value, is_in)
    local from, to = value:match("^([^:]+):([^:]+)$")
    if not from and is_in and not value:find(":") then
        from, to = value, "/" .. (value:match("([^/]+)/*$") or "")
    end
    if not from then return nil, is_in and "it has to be SRC or SRC:DST" or "it has to be SRC:DST" end
    local wrong = path_error(from) or path_error(to)
    if wrong then return nil, wrong end
    return {from, to}
end

local keys = {
    pool = function(request, value)
        if value ~= "themis" and value ~= "nodes" then return "the pools are themis and nodes" end
        request.pool = value
    end,
    capacity = function(request, value)
        if not value:match("^[1-9]%d*[KMGTkmgt]?i?[Bb]?$") then return "it has to be a size such as 10G" end
        request.capacity = value
    end,
    servers = function(request, value)
        request.servers = value:match("^%d%d?%d?$") and tonumber(value)
        if not request.servers or request.servers < 1 or request.servers > 256 then return "it has to be a number from 1 to 256" end
    end,
    stage_in = function(request, value)
        local copy, wrong = pair(value, true)
        table.insert(request.stage_in, copy)
        return wrong
    end,
    stage_out = function(request, value)
        local copy, wrong = pair(value, false)
        table.insert(request.stage_out, copy)
        return wrong
    end
}

-- Words of the directives, as Slurm finds them: up to the first line that is neither empty nor a comment.
local function directive_words(script)
    local words = {}
    for line in script:gmatch("[^\n]+") do
        if line:sub(1, 1) ~= "#" then break end
        local text = line:match("^#BB_LUA(.*)$")
        for word in (text or ""):gsub("\\$", ""):gmatch("%S+") do table.insert(words, word) end
    end
    return words
end

-- request(JOB_SCRIPT): what the script asks for, or nil and what is wrong.
local function request(job_script)
    local script = read(job_script)
    if not script then return nil, "the job script cannot be read" end
    local result = {stage_in = {}, stage_out = {}}
    for _, word in ipairs(directive_words(script)) do
        local key, value = word:match("^([a-z_]+)=(.*)$")
        local shown = word:gsub("[^\33-\126]", "?"):sub(1, 200)
        if not key or not keys[key] then
            return nil, "#BB_LUA: " .. shown .. ": the words are pool=, capacity=, servers=, stage_in= and stage_out="
        end
        if key ~= "stage_in" and key ~= "stage_out" and result[key] then return nil, "#BB_LUA: " .. key .. " occurs twice" end
        local wrong = keys[key](result, value)
        if wrong then return nil, "#BB_LUA: " .. shown .. ": " .. wrong end
    end
    if not result.pool or not result.capacity then return nil, "#BB_LUA: pool= and capacity= are needed, as in pool=themis capacity=10G" end
    if result.servers and result.pool ~= "nodes" then return nil, "#BB_LUA: servers= is for pool=nodes" end
    return result
end

-- Jobs --------------------------------------------------------------------------------------------------------------------------

local function job_state(job_id)
    assert(tostring(job_id):match("^%d+$"), "job id")
    return settings().state .. "/" .. job_id
end

-- as_user(JOB_ID, VERB, WORD...): themis_bb.sh as the job's user; by sudo where SlurmUser is not root.
local function as_user(job_id, verb, ...)
    local uid, gid = (read(job_state(job_id) .. "/owner") or ""):match("^(%d+) (%d+) ")
    if not uid or uid == "0" then return false, "the user of the job is not known" end
    local helper = directory .. "/themis_bb.sh"
    local _, me = run("id", "-u")
    if me == "0" then
        return run("setpriv", "--reuid", uid, "--regid", gid, "--init-groups", "--reset-env", helper, verb, job_id, ...)
    end
    return run("sudo", "-n", "-u", "#" .. uid, helper, verb, job_id, ...)
end

-- flat({{a, b}, ...}): a, b, ...
local function flat(pairs_of, first)
    local words = {}
    for _, copy in ipairs(pairs_of) do
        table.insert(words, first or copy[1])
        table.insert(words, first and copy[1] .. ":" .. copy[2] or copy[2])
    end
    return words
end

local unpack = table.unpack or unpack

-- step(JOB_ID, JOB_SCRIPT, ACTION): ACTION(request) gives what as_user does.
local function step(job_id, job_script, action)
    local wanted, wrong = request(job_script)
    if not wanted then return failure(wrong) end
    local good, text = action(wanted)
    if not good then return failure("job " .. job_id .. ": " .. text) end
    return slurm.SUCCESS, ""
end

-- Inside slurmctld: these return at once.

function slurm_bb_job_process(job_script)
    local wanted, wrong = request(job_script)
    if not wanted then return slurm.ERROR, wrong end
    if wanted.pool == "nodes" and settings().shared == "" then return slurm.ERROR, "#BB_LUA: there is no pool=nodes here" end
    return slurm.SUCCESS, ""
end

-- Space on nodes is limited by their memory, not by the pool.
function slurm_bb_pools()
    local capacity = tonumber(settings().capacity) or 0
    return slurm.SUCCESS, string.format('{"pools": [{"id": "themis", "quantity": %d, "granularity": 1073741824}, ' ..
        '{"id": "nodes", "quantity": 1048576, "granularity": 1073741824}]}', capacity)
end

function slurm_bb_paths(job_id, job_script, path_file)
    local wanted, wrong = request(job_script)
    if not wanted then return failure(wrong) end
    local set, lines = settings(), nil
    if wanted.pool == "nodes" then
        lines = "THEMIS_CONFIG=" .. set.shared .. "/" .. job_id .. "/themis.conf\nTHEMIS_BB_DIR=themis:\n"
    else
        lines = (set.servers ~= "" and "THEMIS_SERVERS=" .. set.servers .. "\n" or "") .. "THEMIS_BB_DIR=themis:/slurm-" .. job_id .. "\n"
    end
    if not write(path_file, lines) then return failure("the job's environment cannot be written") end
    return slurm.SUCCESS, ""
end

-- In processes of their own.

-- Slurm 22.05 sometimes ends the teardown of a job that is cancelled during data_in, too, and does not repeat it. So the next job
-- clears up after those that have ended. Those whose copies out have failed are in state STAGE_OUT, and stay.
local ended = {}
for word in ("BOOT_FAIL CANCELLED COMPLETED DEADLINE FAILED NODE_FAIL OUT_OF_MEMORY PREEMPTED TIMEOUT"):gmatch("%S+") do
    ended[word] = true
end

local function clear_up()
    local pipe, jobs = io.popen("ls " .. quoted(settings().state) .. " 2>/dev/null"), {}
    for name in pipe:lines() do if name:match("^%d+$") then table.insert(jobs, name) end end
    pipe:close()
    for _, job_id in ipairs(jobs) do
        local good, text = run("squeue", "-h", "-t", "all", "-j", job_id, "-o", "%T")
        if (good and ended[text]) or (not good and text:find("Invalid job id")) then slurm_bb_job_teardown(job_id) end
    end
end

function slurm_bb_setup(job_id, uid, gid, pool, bb_size)
    local state = job_state(job_id)
    clear_up()
    if not run("rm", "-rf", state) or not run("install", "-d", "-m", "711", state) then return failure(state .. " cannot be made") end
    if not (tostring(uid):match("^[1-9]%d*$") and tostring(gid):match("^%d+$") and tostring(bb_size):match("^%d+$") and
        tostring(pool):match("^%l+$")) then return failure("user, group, pool or size are not known") end
    local lock = state .. "/lock"
    if not write(lock, "") or not write(state .. "/owner", string.format("%s %s %s %s\n", uid, gid, bb_size, pool)) then
        return failure(state .. " cannot be written")
    end
    -- Who can read the lock can hold it: only root can give it to the user alone.
    if not run("chmod", run("chown", uid, lock) and "400" or "644", lock) then return failure(lock .. " cannot be given to the user") end
    return slurm.SUCCESS, ""
end

function slurm_bb_data_in(job_id, job_script)
    return step(job_id, job_script, function(wanted)
        local looks = {}
        for _, copy in ipairs(wanted.stage_in) do
            table.insert(looks, "in")
            table.insert(looks, copy[1])
        end
        for _, copy in ipairs(wanted.stage_out) do
            table.insert(looks, "out")
            table.insert(looks, copy[2])
        end
        local good, text = as_user(job_id, "check", unpack(looks))
        if good and wanted.pool ~= "nodes" then good, text = as_user(job_id, "site_in", unpack(flat(wanted.stage_in))) end
        if good and not write(job_state(job_id) .. "/staged", "") then return false, "its state cannot be written" end
        return good, text
    end)
end

-- Newer versions of Slurm ask these whether the copies have ended: they have when data_in and data_out return.
function slurm_bb_test_data_in() return slurm.SUCCESS, "" end
function slurm_bb_test_data_out() return slurm.SUCCESS, "" end

function slurm_bb_real_size() return slurm.SUCCESS end

function slurm_bb_pre_run(job_id, job_script)
    return step(job_id, job_script, function(wanted)
        -- Slurm 22.05 takes a data_in that it has ended for its time limit to have succeeded.
        if not read(job_state(job_id) .. "/staged") then return false, "stage_in has not come to its end (StageInTimeout)" end
        if wanted.pool ~= "nodes" then return true end
        local good, nodes = run("squeue", "-h", "-j", job_id, "-o", "%N")
        if not good or not nodes:match("^[%w%.,%-_%[%]]+$") then return false, "its nodes are not known: " .. nodes end
        local bytes = (read(job_state(job_id) .. "/owner") or ""):match("^%d+ %d+ (%d+) ")
        local words = {nodes, wanted.servers or 0, bytes or 0}
        for _, word in ipairs(flat(wanted.stage_in, "--stage-in")) do table.insert(words, word) end
        for _, word in ipairs(flat(wanted.stage_out, "--stage-out")) do table.insert(words, word) end
        return as_user(job_id, "own_in", unpack(words))
    end)
end

function slurm_bb_post_run() return slurm.SUCCESS, "" end

function slurm_bb_data_out(job_id, job_script)
    return step(job_id, job_script, function(wanted)
        if wanted.pool ~= "nodes" then return as_user(job_id, "site_out", unpack(flat(wanted.stage_out))) end
        if not write(job_state(job_id) .. "/drain", "") then return false, "its servers cannot be told to end" end
        return as_user(job_id, "own_out")
    end)
end

-- Also for jobs that never had a buffer, and again when it has failed: what is gone already is no error. The script may be an empty
-- one by now.
function slurm_bb_job_teardown(job_id)
    local state = job_state(job_id)
    local pool = (read(state .. "/owner") or ""):match("(%l+)%s*$")
    if not pool then return slurm.SUCCESS, "" end
    if not write(state .. "/stop", "") then return failure(state .. " cannot be written") end
    local good, text = as_user(job_id, pool == "nodes" and "own_end" or "site_end")
    if not good then return failure("job " .. job_id .. ": " .. text) end
    run("rm", "-rf", state)
    return slurm.SUCCESS, ""
end

-- scontrol show bbstat: the servers of the site.
function slurm_bb_get_status()
    local set = settings()
    local pipe = io.popen("env " .. (set.servers ~= "" and "THEMIS_SERVERS=" .. quoted(set.servers) .. " " or "") ..
        quoted(set.bin .. "/themis") .. " status 2>&1 </dev/null")
    local text = pipe:read("*a")
    pipe:close()
    return slurm.SUCCESS, text
end
