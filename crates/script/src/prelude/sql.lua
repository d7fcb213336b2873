-- sysbench.sql: a driver, its connections, their statements and results.
local host, interface = ...
local ask = interface.ask
local foreign = require("ffi")

local WELL, AGAIN, FATAL, CLOSED = host.WELL, host.AGAIN, host.FATAL, host.CLOSED

local types = {
  NONE = 0, TINYINT = 1, SMALLINT = 2, INT = 3, BIGINT = 4, FLOAT = 5, DOUBLE = 6,
  TIME = 7, DATE = 8, DATETIME = 9, TIMESTAMP = 10, CHAR = 11, VARCHAR = 12,
}
local errors = { NONE = 0, IGNORABLE = 1, FATAL = 2 }
local RESTART_EVENT = 1

-- A kind of object, which tostring() shows as `name`.
local function kind(name)
  local methods = {}
  methods.__index = methods
  methods.__tostring = function()
    return "<" .. name .. ">"
  end
  return methods
end

local driver, connection, statement = kind("sql_driver"), kind("sql_connection"), kind("sql_statement")
local result, parameter = kind("sql_result"), kind("sql_param")

-- A message with the script's file and line in front.
local function placed(message)
  for level = 2, 20 do
    local info = debug.getinfo(level, "Sl")
    if not info then
      break
    end
    if info.what ~= "C" and string.sub(info.source, 1, 10) ~= "=plimsoll." then
      return info.short_src .. ":" .. info.currentline .. ": " .. message
    end
  end
  return message
end
interface.placed = placed

-- Raises what the server refused: a table for an event that begins again, else a text. The script's hooks are asked.
local function raise(self, query, how, errno, state, message)
  local environment = self.environment
  if how == CLOSED and host.IS_SYSBENCH then
    error(placed("SQL API error"), 0)
  elseif how == CLOSED then
    error(placed("the connection is closed; connect() or reconnect() opens one"), 0)
  end
  self.sql_errno, self.sql_state, self.sql_errmsg = errno, state, message
  local told = {
    connection = self, query = query, sql_errno = errno, sql_state = state, sql_errmsg = message,
  }
  local hooks = environment.sysbench.hooks
  if how ~= AGAIN and hooks.sql_error_ignorable and hooks.sql_error_ignorable(told) then
    how = AGAIN
  end
  self.error = how == AGAIN and errors.IGNORABLE or errors.FATAL
  if how == AGAIN then
    told.errcode = RESTART_EVENT
    interface.raised[environment] = told
    error(told, 0)
  end
  local text = string.format("SQL error, errno = %d, state = '%s': %s", errno, state, message)
  interface.raised[environment] = placed(text)
  error(interface.raised[environment], 0)
end

-- Asks something of the server, for a statement that messages name: the two values of a good answer.
local function exchange(self, sql, ...)
  local how, a, b, c = ask(...)
  if how ~= WELL then
    raise(self, sql, how, a, b, c)
  end
  self.error, self.sql_errno = errors.NONE, 0
  return a, b
end

-- A result as the script reads it; none for a statement without rows.
local function result_of(self, rows, columns)
  self.serial = self.serial + 1
  if rows == nil then
    return nil
  end
  return setmetatable({ connection = self, nrows = rows, nfields = columns, serial = self.serial }, result)
end

function driver:connect()
  local connected = setmetatable({
    driver = self, environment = self.environment, serial = 0,
    error = 0, sql_errno = 0, sql_state = "", sql_errmsg = "",
  }, connection)
  local how, number, state, message = ask(host.CONNECT)
  if how ~= WELL and host.IS_SYSBENCH then
    error(placed("connection creation failed"), 0)
  elseif how ~= WELL then
    raise(connected, "connect", how, number, state, message)
  end
  connected.number = number
  return connected
end

function driver:name()
  return "mysql"
end

function connection:disconnect()
  ask(host.DISCONNECT, self.number)
end

function connection:reconnect()
  exchange(self, "connect", host.RECONNECT, self.number)
end

function connection:query(sql)
  return result_of(self, exchange(self, sql, host.QUERY, self.number, sql))
end

-- What stands for a statement where nothing is sent: an empty result, at once.
local count_nothing = foreign.cast("void (*)(void *)", host.COUNT_NOTHING)
local machine = foreign.cast("void *", host.MACHINE)
local function nothing_of(self)
  count_nothing(machine)
  return result_of(self, 0, 0)
end

if host.IS_DRY then
  connection.query = nothing_of
end

function connection:query_row(sql)
  if self:query(sql) then
    return host.row_values(self.number)
  end
end

function connection:check_error(rows, sql)
  if rows == nil and self.error ~= errors.NONE then
    raise(self, sql, self.error == errors.IGNORABLE and AGAIN or FATAL, self.sql_errno, self.sql_state, self.sql_errmsg)
  end
  return rows
end

function connection:more_results()
  return host.more_results(self.number)
end

function connection:next_result()
  local size = host.next_result(self.number)
  if size then
    return result_of(self, size[1], size[2])
  end
end

function connection:bulk_insert_init(sql)
  self.bulk = sql
  if not host.begin_bulk(self.number, sql) then
    raise(self, sql, CLOSED)
  end
end

local function flush(self)
  exchange(self, self.bulk, host.FLUSH, self.number)
end

function connection:bulk_insert_next(row)
  if host.is_bulk_full(self.number, row) then
    flush(self)
  end
  if not host.add_to_bulk(self.number, row) then
    raise(self, self.bulk, CLOSED)
  end
end

function connection:bulk_insert_done()
  local well, raised = pcall(flush, self)
  if not well then
    error(host.IS_SYSBENCH and "db_bulk_insert_done() failed" or raised, 0)
  end
end

function connection:prepare(sql)
  local how, number, state, message = ask(host.PREPARE, self.number, sql)
  if how ~= WELL and host.IS_SYSBENCH then
    error(placed("SQL API error"), 0)
  elseif how ~= WELL then
    raise(self, sql, how, number, state, message)
  end
  return setmetatable({ connection = self, number = number }, statement)
end

function statement:bind_create(type_, length)
  local number = host.new_parameter(type_, length)
  if not number then
    error("Unsupported argument type: " .. tostring(type_), 2)
  end
  return setmetatable({ number = number }, parameter)
end

function statement:bind_param(...)
  local numbers = {}
  for place, bound in ipairs({ ... }) do
    numbers[place] = bound.number
  end
  host.bind(self.connection.number, self.number, numbers)
end

function statement:execute()
  local owner = self.connection
  return result_of(owner, exchange(owner, "<prepared statement>", host.EXECUTE, owner.number, self.number))
end

if host.IS_DRY then
  function statement:execute()
    return nothing_of(self.connection)
  end
end

function statement:next_result()
  return self.connection:next_result()
end

function statement:close()
  ask(host.CLOSE, self.connection.number, self.number)
end

function parameter:set(value)
  -- What is sent to nobody need not be kept; a value that is none is told all the same.
  if not (host.IS_DRY and type(value) == "number") then
    host.set_parameter(self.number, value)
  end
end

function parameter:set_rand_str(format)
  host.set_random_text(self.number, format)
end

function result:fetch_row()
  if self.serial == self.connection.serial then
    return host.fetch_row(self.connection.number)
  end
end

function result:free() end

interface.raised = setmetatable({}, { __mode = "k" })

-- sysbench.sql of an environment.
function interface.new_sql(environment)
  local sql = { type = types, error = errors }
  function sql.driver(name)
    if not host.has_driver(name) then
      error(placed("failed to initialize the DB driver"), 0)
    end
    return setmetatable({ environment = environment }, driver)
  end
  return sql
end
