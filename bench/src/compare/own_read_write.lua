-- Transactions as somebody writes them: ten reads of a row, four of a range, two updates.
sysbench.cmdline.options = {
  tables = { "Tables", 1 },
  table_size = { "Rows of a table", 10000 },
}

local types = sysbench.sql.type
local c_format = string.rep("###########-", 9) .. "###########"
local ranges = { "simple", "sum", "order", "distinct" }

local function prepared(sql, ...)
  local statement, parameters = con:prepare(sql), {}
  for place, kind in ipairs({ ... }) do
    if kind == types.CHAR then
      parameters[place] = statement:bind_create(kind, 120)
    else
      parameters[place] = statement:bind_create(kind)
    end
  end
  if #parameters > 0 then
    statement:bind_param(unpack(parameters))
  end
  return { statement = statement, parameters = parameters }
end

local function execute(one, ...)
  for place, value in ipairs({ ... }) do
    one.parameters[place]:set(value)
  end
  one.statement:execute()
end

function thread_init()
  con = sysbench.sql.driver():connect()
  begin, commit, tables = prepared("BEGIN"), prepared("COMMIT"), {}
  for number = 1, sysbench.opt.tables do
    local name = "sbtest" .. number
    local range = " FROM " .. name .. " WHERE id BETWEEN ? AND ?"
    tables[number] = {
      point = prepared("SELECT c FROM " .. name .. " WHERE id=?", types.INT),
      simple = prepared("SELECT c" .. range, types.INT, types.INT),
      sum = prepared("SELECT SUM(k)" .. range, types.INT, types.INT),
      order = prepared("SELECT c" .. range .. " ORDER BY c", types.INT, types.INT),
      distinct = prepared("SELECT DISTINCT c" .. range .. " ORDER BY c", types.INT, types.INT),
      k = prepared("UPDATE " .. name .. " SET k=k+1 WHERE id=?", types.INT),
      c = prepared("UPDATE " .. name .. " SET c=? WHERE id=?", types.CHAR, types.INT),
    }
  end
end

local function id()
  return sysbench.rand.default(1, sysbench.opt.table_size)
end

function event()
  local own = tables[sysbench.rand.uniform(1, sysbench.opt.tables)]
  execute(begin)
  for _ = 1, 10 do
    execute(own.point, id())
  end
  for _, range in ipairs(ranges) do
    local from = id()
    execute(own[range], from, from + 99)
  end
  execute(own.k, id())
  execute(own.c, sysbench.rand.string(c_format), id())
  execute(commit)
end

function thread_done()
  con:disconnect()
end
