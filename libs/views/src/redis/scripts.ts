/**
 * The scripts by which views are read and written, each one atomic step. KEYS[1] is `<prefix>views:<format>:`, from which they derive the
 * names of a version's keys:
 * - `live`, `building`: versions; `versions`: all that may have keys
 * - `<version>:order`: evaluations by start
 * - `<version>:evaluation:<id>`: hash of `position`, `evaluation`, `report`
 * - `<version>:ledger:<id>`, `<version>:lesson:<id>`: hashes of rows by key
 */
const COMMON = `
local root = KEYS[1]
local live = redis.call('GET', root .. 'live') or '0'
local building = redis.call('GET', root .. 'building')
`;

// ARGV: evaluation, base or '', position, started, version or '', then view, field and row of each row.
const PUT = `
local function put(version)
  local base, position = tonumber(ARGV[2]), tonumber(ARGV[3])
  local key = root .. version .. ':evaluation:' .. ARGV[1]
  local at = tonumber(redis.call('HGET', key, 'position') or '-1')
  if base and at < base then return 'gap' end
  if at >= position then return 'stale' end
  for i = 6, #ARGV, 3 do
    redis.call('HSET', root .. version .. ':' .. ARGV[i] .. ':' .. ARGV[1], ARGV[i + 1], ARGV[i + 2])
  end
  redis.call('HSET', key, 'position', ARGV[3])
  redis.call('ZADD', root .. version .. ':order', ARGV[4], ARGV[1])
  return 'written'
end
`;

/** Into the version that readers see and the one that is being built; `gap` where either lacks something. */
export const WRITE = `${COMMON}${PUT}
local answer = put(live)
if building and put(building) == 'gap' then return 'gap' end
return answer`;

/** Into the named version, while it is the one that is being built. */
export const WRITE_NEXT = `${COMMON}${PUT}
if building ~= ARGV[5] then return 'displaced' end
return put(building)`;

/** ARGV: evaluation, view, field. */
export const READ_ROW = `${COMMON}
return redis.call('HGET', root .. live .. ':' .. ARGV[2] .. ':' .. ARGV[1], ARGV[3])`;

/** ARGV: evaluation, view. */
export const READ_ROWS = `${COMMON}
return redis.call('HVALS', root .. live .. ':' .. ARGV[2] .. ':' .. ARGV[1])`;

/** ARGV: the evaluation to continue after or '', limit. */
export const LIST = `${COMMON}
local order = root .. live .. ':order'
local from = 0
if ARGV[1] ~= '' then
  local rank = redis.call('ZREVRANK', order, ARGV[1])
  if not rank then return {} end
  from = rank + 1
end
local rows = {}
for _, id in ipairs(redis.call('ZREVRANGE', order, from, from + ARGV[2] - 1)) do
  rows[#rows + 1] = redis.call('HGET', root .. live .. ':evaluation:' .. id, 'evaluation')
end
return rows`;

export const STATUS = `${COMMON}
return { live, redis.call('ZCARD', root .. live .. ':order'), building or '' }`;

/** ARGV: the new version. Returns the versions that nobody needs any more. */
export const BEGIN = `${COMMON}
redis.call('SET', root .. 'building', ARGV[1])
local old = redis.call('SMEMBERS', root .. 'versions')
redis.call('SADD', root .. 'versions', ARGV[1], live)
local left = {}
for _, version in ipairs(old) do
  if version ~= live then left[#left + 1] = version end
end
return left`;

/** ARGV: the version that was built. Returns the one before, or nothing where it is not the one being built any more. */
export const SHOW = `${COMMON}
if building ~= ARGV[1] then return false end
redis.call('SET', root .. 'live', ARGV[1])
redis.call('DEL', root .. 'building')
return live`;

/** ARGV: version. Ends the building of it, if it is being built. */
export const DISCARD = `${COMMON}
if building == ARGV[1] then redis.call('DEL', root .. 'building') end`;

/** ARGV: version, number of evaluations. Forgets so many of one that nobody sees; returns how many are left. */
export const FORGET = `${COMMON}
local order = root .. ARGV[1] .. ':order'
if live == ARGV[1] or building == ARGV[1] then return 0 end
for _, id in ipairs(redis.call('ZRANGE', order, 0, ARGV[2] - 1)) do
  for _, view in ipairs({ 'evaluation', 'ledger', 'lesson' }) do
    redis.call('UNLINK', root .. ARGV[1] .. ':' .. view .. ':' .. id)
  end
  redis.call('ZREM', order, id)
end
local left = redis.call('ZCARD', order)
if left == 0 then redis.call('SREM', root .. 'versions', ARGV[1]) end
return left`;

/** ARGV: version or '' for the one that readers see, and the first and last place of a page. The evaluations, the first started first. */
export const NAMES = `${COMMON}
local version = ARGV[1] == '' and live or ARGV[1]
return redis.call('ZRANGE', root .. version .. ':order', ARGV[2], ARGV[3])`;

/** ARGV: version, evaluation. All of one evaluation in the version that readers see and in another, at one time. */
export const BOTH = `${COMMON}
local function all(version)
  local rows = {}
  for i, view in ipairs({ 'evaluation', 'ledger', 'lesson' }) do
    rows[i] = redis.call('HGETALL', root .. version .. ':' .. view .. ':' .. ARGV[2])
  end
  return rows
end
return { all(live), all(ARGV[1]) }`;
