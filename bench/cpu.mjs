/** Returns what tells the CPU time of the whole process since now, in µs. */
export function cpuOf() {
  const before = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
}
