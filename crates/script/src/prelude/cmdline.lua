-- sysbench.cmdline: what was typed, the options and commands that a script declares.
local host, interface = ...

local kinds = { NULL = 0, BOOL = 1, INT = 2, SIZE = 3, DOUBLE = 4, STRING = 5, LIST = 6, FILE = 7, MAX = 8 }
local kind_of_default = { boolean = kinds.BOOL, number = kinds.DOUBLE, table = kinds.LIST, string = kinds.STRING }

-- A default as it would be typed.
local function typed(value)
  if type(value) == "boolean" then
    return value and "on" or "off"
  elseif type(value) == "table" then
    return table.concat(value, ",")
  end
  return value ~= nil and tostring(value) or nil
end

function interface.new_cmdline(environment, facts)
  local cmdline = {
    argv = { [0] = "sysbench", facts.path },
    command = facts.command,
    script_path = facts.path,
    PARALLEL_COMMAND = true,
  }
  for name, number in pairs(kinds) do
    cmdline["ARG_" .. name] = number
  end

  local function command(name)
    local found = cmdline.commands and cmdline.commands[name]
    if found and type(found[1]) ~= "function" then
      error("the command '" .. name .. "' is no function", 0)
    end
    return found
  end
  function cmdline.command_defined(name)
    return command(name) ~= nil
  end
  function cmdline.command_parallel(name)
    local found = command(name)
    return found ~= nil and found[2] == cmdline.PARALLEL_COMMAND
  end
  function cmdline.call_command(name)
    local found = command(name)
    return found ~= nil and found[1]() ~= false
  end
  function cmdline.read_cmdline_options() end
  function cmdline.print_test_options()
    io.write(host.test_options())
  end
  return cmdline
end

-- The options that a script declares: name, description, kind, default as typed.
function interface.declared_options(cmdline)
  local declared = {}
  if cmdline.options == nil then
    return nil
  end
  for name, option in pairs(cmdline.options) do
    if type(option) ~= "table" then
      error("wrong definition of the option '" .. tostring(name) .. "': a table is accepted", 0)
    end
    local kind = option[3] or kind_of_default[type(option[2])] or kinds.STRING
    declared[#declared + 1] = { name = name, description = option[1] or "", kind = kind, default = typed(option[2]) }
  end
  return declared
end
