/** The CPU time that this process has used: user and system time of all its threads. */

export function cpuUs() {
  const { user, system } = process.cpuUsage();
  return user + system;
}
