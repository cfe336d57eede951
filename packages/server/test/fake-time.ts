import { spawnSync } from 'node:child_process';
import { chmod, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atEnd } from './at-end.ts';

export function isFaketimeInstalled(): boolean {
  return spawnSync('faketime', ['--version']).error === undefined;
}

/** A clock for processes that are started with these variables, which can be set while they run. */
export interface FakeClock {
  readonly variables: Readonly<Record<string, string>>;
  /** Sets it to a time that differs from the real one by so many seconds. */
  differBy(seconds: number): Promise<void>;
}

export async function createFakeClock(): Promise<FakeClock> {
  const folder = await mkdtemp(join(tmpdir(), 'financial-automation-clock-'));
  atEnd(() => rm(folder, { recursive: true }));
  // The database runs as another user.
  await chmod(folder, 0o755);
  const file = join(folder, 'time');
  const differBy = async (seconds: number) => {
    await writeFile(`${file}.next`, `${seconds < 0 ? '' : '+'}${seconds}s\n`, { mode: 0o644 });
    await rename(`${file}.next`, file);
  };
  await differBy(0);
  const { stdout } = spawnSync('faketime', ['-f', '+0s', 'printenv', 'LD_PRELOAD'], { encoding: 'utf8' });
  return {
    variables: {
      LD_PRELOAD: stdout.trim(),
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
    differBy,
  };
}
