/** Returns the processor time that this thread spends until the work is done, in milliseconds. Other processes do not change it. */
export async function cpuTime(work: () => Promise<unknown>): Promise<number> {
  const before = process.threadCpuUsage();
  await work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}
