-- Lua's own libraries as a script sees them: what waits is asked, what is global belongs to one environment, and what
-- cannot work says so.
local host, interface = ...

if host.IS_COMPILED then
  -- What a script prints and what we print is to come in the order in which it was printed.
  io.stdout:setvbuf("no")
else
  -- Compiled code does not see that it is to stop.
  jit.off()
end

local yield, resume, create, running = coroutine.yield, coroutine.resume, coroutine.create, coroutine.running
local status = coroutine.status
local MARK = host.MARK

-- Asks something that takes time. A coroutine of the script's passes the question on.
local function ask(...)
  return yield(MARK, ...)
end
interface.ask = ask

local function passed_on(routine, ok, first, ...)
  if ok and first == MARK and status(routine) == "suspended" then
    return passed_on(routine, resume(routine, yield(MARK, ...)))
  end
  return ok, first, ...
end

local function resume_all(routine, ...)
  return passed_on(routine, resume(routine, ...))
end

local function results_of(ok, ...)
  if not ok then
    error((...), 0)
  end
  return ...
end

local routines = {}
for name, value in pairs(coroutine) do
  routines[name] = value
end
routines.resume = resume_all
function routines.wrap(body)
  local routine = create(body)
  return function(...)
    return results_of(resume_all(routine, ...))
  end
end

-- The seconds of a shell's sleep, if that is all that a command does.
local function slept(command)
  local number, unit = string.match(command, "^%s*sleep%s+([%d.]+)([smh]?)%s*$")
  local seconds = tonumber(number)
  return seconds and seconds * ((unit == "m" and 60) or (unit == "h" and 3600) or 1)
end

-- What is written for a command, which begins when it is closed.
local written = {}
written.__index = written
function written:write(...)
  for _, value in ipairs({ ... }) do
    self.parts[#self.parts + 1] = tostring(value)
  end
  return self
end
function written:flush() end
function written:close()
  return ask(host.SHELL, self.command, false, table.concat(self.parts)) == 0
end

-- A command that runs to its end: then what it has printed is a file that can be read.
local function opened(command, mode)
  if mode and string.find(mode, "w") then
    return setmetatable({ command = command, parts = {} }, written)
  end
  local _, printed = ask(host.SHELL, command, true)
  local file = io.tmpfile()
  file:write(printed)
  file:seek("set")
  return file
end

local function copy(library)
  local copied = {}
  for name, value in pairs(library) do
    copied[name] = value
  end
  return copied
end

-- Methods of texts are looked for in the machine's own library, which lends those that a script has added to its
-- environment's.
do
  local getfenv, rawget, type = getfenv, rawget, type
  setmetatable(string, {
    __index = function(_, name)
      local own = rawget(getfenv(0), "string")
      return type(own) == "table" and rawget(own, name) or nil
    end,
  })
end

-- Searches for a module as Lua does, by the paths of this environment.
local function find(name, paths)
  local file_name = string.gsub(name, "%.", "/")
  local tried = {}
  for template in string.gmatch(paths, "[^;]+") do
    local path = string.gsub(template, "%?", file_name)
    local file = io.open(path, "r")
    if file then
      local text = file:read("*a")
      file:close()
      return path, text
    end
    tried[#tried + 1] = "\n\tno file '" .. path .. "'"
  end
  return nil, table.concat(tried)
end

local function loaded(text, path, environment)
  local chunk, message = loadstring((string.gsub(text, "^#[^\n]*", "")), "@" .. path)
  if not chunk then
    error(message, 0)
  end
  return setfenv(chunk, environment)
end

-- Gives an environment its libraries. `directory` is where its script lies.
function interface.add_libraries(environment, directory)
  for name, value in pairs(_G) do
    if type(value) == "table" and value ~= _G then
      environment[name] = copy(value)
    else
      environment[name] = value
    end
  end
  environment._G = environment
  environment.bit = environment.bit or require("bit")
  environment.coroutine = copy(routines)
  environment.math.random = host.math_random
  environment.math.randomseed = host.math_randomseed

  local here = directory == "" and "." or directory
  local package = environment.package
  package.path = "./?.lua;./?/init.lua;" .. here .. "/?.lua;" .. package.path
  package.loaded = { _G = environment, package = package }
  package.preload = copy(package.preload)
  for _, name in ipairs({ "string", "table", "math", "os", "io", "debug", "bit", "jit", "coroutine" }) do
    package.loaded[name] = environment[name]
  end

  function environment.require(name)
    local found = package.loaded[name]
    if found ~= nil then
      return found
    end
    local chunk = package.preload[name]
    if not chunk then
      local path, text = find(name, package.path)
      local own = interface.modules[name]
      if path then
        chunk = loaded(text, path, environment)
      elseif own then
        chunk = loaded(own, "plimsoll." .. name, environment)
      else
        local compiled = find(name, package.cpath or "")
        if compiled then
          text = text .. "\n\tmodules in C such as '" .. compiled .. "' cannot be loaded: the Lua is Plimsoll's own"
        end
        error("module '" .. name .. "' not found:" .. text, 2)
      end
    end
    local result = chunk(name)
    if result ~= nil then
      package.loaded[name] = result
    elseif package.loaded[name] == nil then
      package.loaded[name] = true
    end
    return package.loaded[name]
  end

  function environment.dofile(path)
    local file, message = io.open(path, "r")
    if not file then
      error("cannot open " .. message, 2)
    end
    local text = file:read("*a")
    file:close()
    return loaded(text, path, environment)()
  end

  environment.io.popen = opened
  function environment.os.execute(command)
    if command == nil then
      return 1
    end
    local seconds = slept(command)
    if not seconds then
      return (ask(host.SHELL, command, false))
    end
    ask(host.SLEEP, seconds)
    return 0
  end
end
