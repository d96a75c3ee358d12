/** Makes a real Redis run a script at a given instant: the last two arguments. */

/** The script, which takes its time from its arguments. */
export function toldTime(script: string): string {
  const told = script.replaceAll(/\b(redis\.)?call\('TIME'\)/g, '{ told_seconds, told_micros }');
  return `local told_micros = table.remove(ARGV)\nlocal told_seconds = table.remove(ARGV)\n${told}`;
}

/** An instant as `TIME` says it. */
export function timeWords(us: number): readonly [seconds: string, micros: string] {
  return [`${Math.floor(us / 1_000_000)}`, `${us % 1_000_000}`];
}

/** A real server's time passes while that of a history stands still: there each key lives for ten minutes more. */
const LONG_LIVED = `
local server = redis
local function longer(run)
  return function(...)
    local name, key, value, px = ...
    if name == 'SET' and px == 'PX' then
      return run('SET', key, value, 'PX', '600000')
    elseif name == 'PEXPIRE' then
      return run('PEXPIRE', key, '600000')
    end
    return run(...)
  end
end
local redis = { call = longer(server.call), pcall = longer(server.pcall) }
`;

/** The script, under which no key expires during a history. */
export function longLived(script: string): string {
  return LONG_LIVED + script;
}
