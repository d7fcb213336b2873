-- The environment of a thread of the script, and what its coroutine runs.
local host, interface = ...
local ask = interface.ask
local RESTART_EVENT = 1

local function text_of(raised)
  if type(raised) == "userdata" then
    -- Of a function of ours: its first line says what is wrong.
    return (string.gsub(string.match(tostring(raised), "[^\n]*"), "^runtime error: ", ""))
  elseif type(raised) ~= "string" then
    return "(not a string)"
  end
  return raised
end

-- Says where the script has asked something that cannot be asked there, while its place is still known.
local function explained(raised)
  local what = type(raised) == "string" and string.match(raised, "attempt to yield across C%-call boundary.*")
  if not what then
    return raised
  end
  return interface.placed(what .. ": nothing can be asked of the server within string.gsub, table.sort, tostring or a "
    .. "callback; collect first, then ask")
end

local function new_sysbench(environment, facts)
  return {
    tid = facts.tid,
    version = "1.0.20",
    version_string = "sysbench 1.0.20",
    error = { NONE = 0, RESTART_EVENT = RESTART_EVENT },
    hooks = {},
    rand = interface.rand,
    sql = interface.new_sql(environment),
    cmdline = interface.new_cmdline(environment, facts),
    histogram = interface.histogram,
  }
end

local truths = { on = true, ["true"] = true, ["1"] = true, off = false, ["false"] = false, ["0"] = false }

-- What was typed, as the type that the script has declared by its default.
local function converted(name, typed, default)
  if type(default) == "boolean" then
    if truths[typed] == nil then
      error("the option '" .. name .. "' is '" .. typed .. "'; on and off are accepted", 0)
    end
    return truths[typed]
  elseif type(default) == "number" then
    local number = tonumber(typed)
    if not number then
      error("the option '" .. name .. "' is '" .. typed .. "'; a number is accepted", 0)
    end
    return number
  elseif type(default) == "table" then
    local list = {}
    for value in string.gmatch(typed, "[^,]+") do
      list[#list + 1] = value
    end
    return list
  end
  return typed
end

local function refuse(name, declared)
  local names = {}
  for known in pairs(declared) do
    names[#names + 1] = known
  end
  table.sort(names)
  error("the script has no option '" .. name .. "'; it has " .. table.concat(names, ", "), 0)
end

-- Gives the script its options: those that it declares, and where it declares none all that were typed, as globals too.
local function add_options(environment, typed)
  local opt, declared = environment.sysbench.opt, environment.sysbench.cmdline.options
  if not declared then
    for name, text in pairs(typed) do
      opt[name], environment[name] = tonumber(text) or text, text
    end
    return
  end
  local defaults = {}
  for name, option in pairs(declared) do
    local known = string.gsub(name, "-", "_")
    defaults[known] = option[2] == nil and "" or option[2]
    opt[known] = defaults[known]
  end
  for name, text in pairs(typed) do
    if defaults[name] == nil then
      refuse(name, defaults)
    end
    opt[name] = converted(name, text, defaults[name])
  end
end

-- The options of a script that is run as sysbench runs it: all that are known, and as globals what it does not declare.
local function read_options(environment)
  environment.sysbench.opt = host.options()
  for name, text in pairs(host.globals()) do
    environment[name] = text
  end
end

-- sysbench's own thread_run, for scripts that call it from theirs.
local function default_thread_run(environment, own)
  return function(tid)
    while own.sb_more_events(tid) do
      own.sb_event_start(tid)
      local stops = environment.event(tid)
      own.sb_event_stop(tid)
      if stops then
        return
      end
    end
  end
end

-- What is called in an environment beside the functions that its script defines.
local function new_functions(environment, facts, factory)
  local functions = {}
  local sysbench = environment.sysbench
  local own = interface.add_foreign(environment)
  local end_reports = interface.add_reports(environment, sysbench)
  local thread_run
  if host.IS_SYSBENCH then
    interface.add_legacy(environment, sysbench, facts.tid)
    environment.test = facts.path
    thread_run = default_thread_run(environment, own)
    environment.thread_run = thread_run
  else
    sysbench.opt = { threads = facts.threads, db_driver = "mysql" }
  end

  -- The script itself: it defines the others.
  function functions.load()
    setfenv(0, environment)
    local chunk = factory()
    setfenv(chunk, environment)
    chunk()
    if host.IS_SYSBENCH then
      read_options(environment)
    else
      add_options(environment, facts.options)
    end
  end
  function functions.read_options()
    read_options(environment)
  end
  function functions.declared_options()
    return interface.declared_options(sysbench.cmdline)
  end
  function functions.runs_itself()
    return environment.thread_run ~= nil and environment.thread_run ~= thread_run
  end
  function functions.is_defined(name)
    return type(environment[name]) == "function"
  end
  function functions.has_command(name)
    return sysbench.cmdline.command_defined(name)
  end
  function functions.is_parallel(name)
    return sysbench.cmdline.command_parallel(name)
  end
  function functions.command(name)
    return sysbench.cmdline.call_command(name)
  end
  function functions.has_hook(name)
    return type(sysbench.hooks[name]) == "function"
  end
  function functions.report_intermediate(stat)
    sysbench.hooks.report_intermediate(stat)
  end
  function functions.report_cumulative(stat)
    sysbench.hooks.report_cumulative(stat)
  end
  functions.end_reports = end_reports
  return functions
end

-- Whether what an event has raised wants it to begin again; the script's hook is asked before it does.
local function begins_again(environment, name, raised)
  if type(raised) ~= "table" or raised.errcode ~= RESTART_EVENT then
    return false, raised
  end
  local hook = environment.sysbench.hooks.before_restart_event
  if hook and name == "event" then
    local ok, value = pcall(hook, raised)
    if not ok then
      return begins_again(environment, "", value)
    end
  end
  return true, raised
end

function interface.new_environment(facts, factory)
  local environment = {}
  interface.add_libraries(environment, facts.directory)
  environment.sysbench = new_sysbench(environment, facts)
  local functions = new_functions(environment, facts, factory)

  return function(name, argument)
    while true do
      local called = functions[name] or environment[name]
      if called == nil then
        name, argument = ask(host.DONE, false)
      else
        local ok, value = xpcall(called, explained, argument)
        if ok then
          name, argument = ask(host.DONE, true, value)
        else
          local again, raised = begins_again(environment, name, value)
          local of_server = raised == interface.raised[environment]
          name, argument = ask(host.FAILED, again, of_server, text_of(raised))
        end
      end
    end
  end
end
