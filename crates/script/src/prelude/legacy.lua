-- The interface of sysbench 0.5: global functions, and one connection for each thread, which the first of them makes.
local _, interface = ...

local NONE, RESTART, FAILED = 0, 1, 2

function interface.add_legacy(environment, sysbench, tid)
  local connection
  local rand = sysbench.rand

  local function connected()
    if not connection then
      connection = sysbench.sql.driver():connect()
      environment.db_driver = connection.driver:name()
    end
    return connection
  end

  -- Parameters whose values are those that a table has when the statement is executed.
  local function bind(statement, values)
    local types, bound = sysbench.sql.type, {}
    for place, value in ipairs(values) do
      if type(value) == "number" then
        bound[place] = statement:bind_create(types.BIGINT)
      else
        bound[place] = statement:bind_create(types.VARCHAR, 256)
      end
    end
    statement:bind_param(unpack(bound))
    statement.values, statement.bound = values, bound
  end

  local db = {
    DB_ERROR_NONE = NONE, DB_ERROR_RESTART_TRANSACTION = RESTART, DB_ERROR_FAILED = FAILED,
    bind_param = bind,
  }
  function db.connect()
    connected()
  end
  function db.disconnect()
    if connection then
      connection:disconnect()
      connection = nil
    end
  end
  function db.query(sql)
    connected():query(sql)
  end
  function db.bulk_insert_init(sql)
    connected():bulk_insert_init(sql)
  end
  function db.bulk_insert_next(row)
    connected():bulk_insert_next(row)
  end
  function db.bulk_insert_done()
    connected():bulk_insert_done()
  end
  function db.prepare(sql)
    return connected():prepare(sql)
  end
  function db.execute(statement)
    for place, parameter in ipairs(statement.bound or {}) do
      parameter:set(statement.values[place])
    end
    return statement:execute()
  end
  function db.close(statement)
    statement:close()
  end
  function db.bind_result() end
  function db.store_results() end
  function db.free_results() end

  sysbench.db = db
  for name, value in pairs(db) do
    environment[type(value) == "function" and "db_" .. name or name] = value
  end
  environment.sb_rand, environment.sb_rand_str, environment.sb_rand_uniform = rand.default, rand.string, rand.uniform
  environment.sb_rand_gaussian, environment.sb_rand_special = rand.gaussian, rand.special
  function environment.sb_rand_uniq(low, high)
    local drawn = rand.unique()
    return low and high and low + drawn % (high - low + 1) or drawn
  end
  function environment.sb_rnd()
    return rand.uniform(0, 2147483647)
  end
  environment.thread_id = tid
  environment.mysql_table_engine, environment.myisam_max_rows = "innodb", 1000000
end
