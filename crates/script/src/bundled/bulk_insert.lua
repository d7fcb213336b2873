-- Rows of two numbers, sent many at a time: an event is a row.

local row = 0

local function table_name(tid)
  return "sbtest" .. tid + 1
end

function prepare()
  local con = sysbench.sql.driver():connect()
  for tid = 0, sysbench.opt.threads - 1 do
    print(string.format("Creating table '%s'...", table_name(tid)))
    con:query(string.format(
      "CREATE TABLE IF NOT EXISTS %s (id INTEGER NOT NULL, k INTEGER DEFAULT '0' NOT NULL, PRIMARY KEY (id))",
      table_name(tid)))
  end
end

function thread_init(tid)
  con = sysbench.sql.driver():connect()
  con:bulk_insert_init("INSERT INTO " .. table_name(tid) .. " VALUES")
end

function event()
  row = row + 1
  con:bulk_insert_next(string.format("(%d,%d)", row, row))
end

function thread_done()
  con:bulk_insert_done()
  con:disconnect()
end

function cleanup()
  local con = sysbench.sql.driver():connect()
  for tid = 0, sysbench.opt.threads - 1 do
    print(string.format("Dropping table '%s'...", table_name(tid)))
    con:query("DROP TABLE IF EXISTS " .. table_name(tid))
  end
end
