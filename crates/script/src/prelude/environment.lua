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
  if string.find(raised, "attempt to yield across C%-call boundary", 1, false) then
    return raised .. ": nothing can be asked of the server within string.gsub, table.sort, tostring or a callback; "
      .. "collect first, then ask"
  end
  return raised
end

local function add_sysbench(environment, facts)
  environment.sysbench = {
    tid = facts.tid,
    version = "1.0.20",
    version_string = "sysbench 1.0.20",
    error = { NONE = 0, RESTART_EVENT = RESTART_EVENT },
    opt = { threads = facts.threads, db_driver = "mysql" },
    hooks = {},
    rand = interface.rand,
    sql = interface.new_sql(environment),
    cmdline = { argv = { [0] = "sysbench" }, command = "run", script_path = facts.path, PARALLEL_COMMAND = true },
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

function interface.new_environment(facts, factory)
  local environment = {}
  interface.add_libraries(environment, facts.directory)
  add_sysbench(environment, facts)

  local functions = {}
  -- The script itself: it defines the others.
  function functions.load()
    setfenv(0, environment)
    local chunk = factory()
    setfenv(chunk, environment)
    chunk()
    add_options(environment, facts.options)
  end

  return function(name, argument)
    while true do
      local called = functions[name] or environment[name]
      if called == nil then
        name, argument = ask(host.DONE, false)
      else
        local ok, value = pcall(called, argument)
        if ok then
          name, argument = ask(host.DONE, true, value)
        else
          local again = type(value) == "table" and value.errcode == RESTART_EVENT
          local of_server = value == interface.raised[environment]
          name, argument = ask(host.FAILED, again, of_server, text_of(value))
        end
      end
    end
  end
end
