-- What `--test=oltp` was in sysbench 0.4, and in 0.5 with several tables: options, table, rows, the modes of a transaction.

sysbench.cmdline.options = {
  ["mysql-table-engine"] = { "Storage engine", "innodb" },
  ["mysql-create-options"] = { "Further options of CREATE TABLE", "" },
  ["oltp-auto-inc"] = { "Let the server give the ids of rows", true },
  ["oltp-delete-inserts"] = { "DELETE and INSERT pairs of a transaction", 1 },
  ["oltp-distinct-ranges"] = { "SELECT DISTINCT queries of a transaction", 1 },
  ["oltp-index-updates"] = { "UPDATE queries of the indexed column of a transaction", 1 },
  ["oltp-non-index-updates"] = { "UPDATE queries of a column without index of a transaction", 1 },
  ["oltp-nontrx-mode"] = { "Statement of nontrx {select, update_key, update_nokey, insert, delete}", "select" },
  ["oltp-order-ranges"] = { "SELECT ... ORDER BY queries of a transaction", 1 },
  ["oltp-point-selects"] = { "SELECT queries of one row of a transaction", 10 },
  ["oltp-range-selects"] = { "Whether a transaction has any queries of ranges", true },
  ["oltp-range-size"] = { "Rows of a range", 100 },
  ["oltp-read-only"] = { "Whether a transaction only reads", false },
  ["oltp-reconnect-mode"] = { "When to connect anew {session, transaction, random}", "session" },
  ["oltp-simple-ranges"] = { "SELECT queries of a range of a transaction", 1 },
  ["oltp-skip-trx"] = { "No BEGIN and COMMIT: each statement commits by itself", false },
  ["oltp-sum-ranges"] = { "SELECT SUM() queries of a transaction", 1 },
  ["oltp-table-name"] = { "Table, with a number behind it if there are several", "sbtest" },
  ["oltp-table-size"] = { "Rows of a table", 10000 },
  ["oltp-tables-count"] = { "Tables; 0 for one without a number, as 0.4 has it", 0 },
  ["oltp-test-mode"] = { "What a transaction is {simple, complex, nontrx}", "complex" },
  ["oltp-user-delay-max"] = { "Longest pause before a statement, microseconds", 0 },
  ["oltp-user-delay-min"] = { "Shortest pause before a statement, microseconds", 0 },
  ["oltp-write-only"] = { "Whether a transaction only writes", false },
}

local LOADED = "qqqqqqqqqqwwwwwwwwwweeeeeeeeeerrrrrrrrrrtttttttttt"
local INSERTED = "aaaaaaaaaaffffffffffrrrrrrrrrreeeeeeeeeeyyyyyyyyyy"

local int, char = sysbench.sql.type.INT, { sysbench.sql.type.CHAR, 120 }
local by_range = { int, int }

-- Texts with the table's name to come, and the types of their parameters.
local texts = {
  points = { "SELECT c from %s where id=?", { int } },
  simple_ranges = { "SELECT c from %s where id between ? and ?", by_range },
  sum_ranges = { "SELECT SUM(K) from %s where id between ? and ?", by_range },
  order_ranges = { "SELECT c from %s where id between ? and ? order by c", by_range },
  distinct_ranges = { "SELECT DISTINCT c from %s where id between ? and ? order by c", by_range },
  index_updates = { "UPDATE %s set k=k+1 where id=?", { int } },
  non_index_updates = { "UPDATE %s set c=? where id=?", { char, int } },
  deletes = { "DELETE from %s where id=?", { int } },
  inserts = { "INSERT INTO %s values(?,0,' ','" .. INSERTED .. "')", { int } },
  pads = { "SELECT pad from %s where id=?", { int } },
}

local opt = sysbench.opt
local uniform = sysbench.rand.uniform

local function table_name(number)
  return opt.oltp_table_name .. (opt.oltp_tables_count > 0 and number or "")
end

local function count_of_tables()
  return math.max(opt.oltp_tables_count, 1)
end

local function checked(name, ...)
  local asked = opt[name]
  for _, known in ipairs({ ... }) do
    if asked == known then
      return asked
    end
  end
  local dashed = string.gsub(name, "_", "-")
  error(string.format("--%s=%s is none of %s", dashed, asked, table.concat({ ... }, ", ")), 0)
end

local function check_modes()
  opt = sysbench.opt
  checked("oltp_test_mode", "simple", "complex", "nontrx")
  checked("oltp_nontrx_mode", "select", "update_key", "update_nokey", "insert", "delete")
  checked("oltp_reconnect_mode", "session", "transaction", "random")
end

function prepare()
  check_modes()
  local con = sysbench.sql.driver():connect()
  for number = 1, count_of_tables() do
    local name = table_name(number)
    print("Creating table '" .. name .. "'...")
    con:query(string.format([[
CREATE TABLE %s (
  id INTEGER UNSIGNED NOT NULL%s,
  k INTEGER UNSIGNED DEFAULT '0' NOT NULL,
  c CHAR(120) DEFAULT '' NOT NULL,
  pad CHAR(60) DEFAULT '' NOT NULL,
  PRIMARY KEY (id)
) /*! ENGINE = %s */ %s]], name, opt.oltp_auto_inc and " AUTO_INCREMENT" or "", opt.mysql_table_engine,
      opt.mysql_create_options))
    con:query("CREATE INDEX k ON " .. name .. "(k)")
    print(string.format("Creating %d records in table '%s'...", opt.oltp_table_size, name))
    local columns = opt.oltp_auto_inc and "(k, c, pad)" or "(id, k, c, pad)"
    con:bulk_insert_init("INSERT INTO " .. name .. columns .. " VALUES")
    for id = 1, opt.oltp_table_size do
      con:bulk_insert_next((opt.oltp_auto_inc and "(" or "(" .. id .. ", ") .. "0, ' ', '" .. LOADED .. "')")
    end
    con:bulk_insert_done()
  end
end

function cleanup()
  check_modes()
  local con = sysbench.sql.driver():connect()
  for number = 1, count_of_tables() do
    print("Dropping table '" .. table_name(number) .. "'...")
    con:query("DROP TABLE IF EXISTS " .. table_name(number))
  end
end

local con, statements

local function connect()
  con = sysbench.sql.driver():connect()
  statements = {}
  for number = 1, count_of_tables() do
    local of_table = {}
    for role, text in pairs(texts) do
      local prepared, parameters = con:prepare(string.format(text[1], table_name(number))), {}
      for place, kind in ipairs(text[2]) do
        if type(kind) == "table" then
          parameters[place] = prepared:bind_create(kind[1], kind[2])
        else
          parameters[place] = prepared:bind_create(kind)
        end
      end
      prepared:bind_param(unpack(parameters))
      of_table[role] = { prepared = prepared, parameters = parameters }
    end
    statements[number] = of_table
  end
end

function thread_init()
  check_modes()
  connect()
end

function thread_done()
  con:disconnect()
end

local function pause()
  if opt.oltp_user_delay_max > 0 then
    ffi.C.usleep(uniform(opt.oltp_user_delay_min, opt.oltp_user_delay_max))
  end
end

-- The table of this transaction.
local own

local function execute(role, ...)
  pause()
  local statement = own[role]
  for place, value in ipairs({ ... }) do
    statement.parameters[place]:set(value)
  end
  statement.prepared:execute()
end

local function row()
  return sysbench.rand.default(1, opt.oltp_table_size)
end

local function times(count, task, ...)
  for _ = 1, count do
    task(...)
  end
end

-- A range fits into the table.
local function range(role, more)
  local from = math.max(math.min(row(), opt.oltp_table_size - opt.oltp_range_size), 1)
  execute(role, from, from + opt.oltp_range_size - 1 + (more or 0))
end

local function point(role)
  execute(role, row())
end

local function update_of_c()
  execute("non_index_updates", table.concat({ "", uniform(1, 2147483647), uniform(1, 2147483647) }, "-"), row())
end

local function replace()
  local id = row()
  execute("deletes", id)
  execute("inserts", id)
end

local function complex()
  if not opt.oltp_skip_trx then
    con:query("BEGIN")
  end
  if not opt.oltp_write_only then
    times(opt.oltp_point_selects, point, "points")
    if opt.oltp_range_selects then
      times(opt.oltp_simple_ranges, range, "simple_ranges")
      times(opt.oltp_sum_ranges, range, "sum_ranges")
      times(opt.oltp_order_ranges, range, "order_ranges")
      times(opt.oltp_distinct_ranges, range, "distinct_ranges", 1)
    end
  end
  if not opt.oltp_read_only then
    times(opt.oltp_index_updates, point, "index_updates")
    times(opt.oltp_non_index_updates, update_of_c)
    times(opt.oltp_delete_inserts, replace)
  end
  if not opt.oltp_skip_trx then
    con:query("COMMIT")
  end
end

local nontrx = {
  select = function()
    point("pads")
  end,
  update_key = function()
    point("index_updates")
  end,
  update_nokey = update_of_c,
  delete = function()
    point("deletes")
  end,
  insert = function()
    local id = opt.oltp_auto_inc and 0 or sysbench.rand.unique()
    execute("inserts", id)
  end,
}

function event()
  own = statements[uniform(1, count_of_tables())]
  if opt.oltp_test_mode == "complex" then
    complex()
  elseif opt.oltp_test_mode == "simple" then
    point("points")
  else
    nontrx[opt.oltp_nontrx_mode]()
  end
  local mode = opt.oltp_reconnect_mode
  if mode == "transaction" or mode == "random" and uniform(0, 1) == 1 then
    con:disconnect()
    connect()
  end
end

function sysbench.hooks.before_restart_event(failed)
  if failed.sql_errno == 2006 or failed.sql_errno == 2011 or failed.sql_errno == 2013 or failed.sql_errno == 2055 then
    con:disconnect()
    connect()
  end
end
