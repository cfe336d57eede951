/**
 * Returns a command that can be pasted, with the settings of this process that say which server it is about. Secrets are not
 * printed, so a server on PostgreSQL needs its `DATABASE_URL` and `MASTER_KEY` in the environment.
 *
 * @param command such as `operator tenant list`, of the scripts in `package.json`
 */
export function pasteable(command: string, environment: NodeJS.ProcessEnv = process.env): string {
  const settings = ['HOST', 'PORT', 'DATA_DIR'].flatMap((name) => {
    const value = environment[name];
    return value === undefined ? [] : [`${name}=${quoted(value)}`];
  });
  return [...settings, `npx --yes pnpm@12 ${command}`].join(' ');
}

/** A word for a shell. */
function quoted(value: string): string {
  return /^[\w./:-]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`;
}
