/** What this process has used of the processor: user and system time of all its threads. */

export function cpuUs() {
  const { user, system } = process.cpuUsage();
  return user + system;
}
