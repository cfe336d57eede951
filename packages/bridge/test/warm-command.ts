/**
 * Runs the command again and again in this process, with the words that it is sent, and sends what it has written. Starting a process
 * takes longer than most commands run.
 */
const main = new URL('../src/main.ts', import.meta.url).href;
let runs = 0;

process.on('message', async (words: readonly string[]) => {
  const written = { output: '', errors: '' };
  const streams = [
    ['output', process.stdout],
    ['errors', process.stderr],
  ] as const;
  for (const [name, stream] of streams)
    stream.write = (text: unknown) => {
      written[name] += String(text);
      return true;
    };
  process.argv.splice(2, Infinity, ...words);
  process.exitCode = undefined;
  // A module is evaluated once for each of its URLs.
  await import(`${main}?${runs++}`);
  process.send?.({ code: process.exitCode ?? 0, ...written });
  process.exitCode = undefined;
});
