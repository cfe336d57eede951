/** The GitHub Action and the GitLab job: their steps are executed, with what they install and call elsewhere replaced. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { isEveryDriftTested } from './sample.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

interface Step {
  readonly id?: string;
  readonly name?: string;
  readonly uses?: string;
  readonly with?: Readonly<Record<string, string>>;
  readonly if?: string;
  readonly run?: string;
  readonly env?: Readonly<Record<string, string>>;
}

const item = (type: string) => ({ type: 'object', required: ['id'], properties: { id: { type } } });
const documentOf = (type: string) => ({
  openapi: '3.1.0',
  info: { title: 'Items', version: '1' },
  paths: {
    '/items': {
      get: {
        operationId: 'listItems',
        responses: {
          200: {
            description: 'Items.',
            content: { 'application/json': { schema: { type: 'array', items: item(type) } } },
          },
        },
      },
    },
  },
});

let folder: string;
let project: string;
let base: string;
let url: string;
const server = createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json' }).end('[{"id":"a"}]');
});

const git = (...words: string[]) =>
  execFileSync('git', ['-c', 'user.name=CI', '-c', 'user.email=ci@example.com', ...words], {
    cwd: project,
    encoding: 'utf8',
  }).trim();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'contract-check-ci-'));
  project = join(folder, 'project');
  await mkdir(join(folder, 'bin'), { recursive: true });
  await mkdir(project);
  // Programs that need the network say what they were called with. This Node runs the tools.
  await writeFile(join(folder, 'bin/npx'), '#!/bin/sh\necho "npx $*" >>"$CALLS"\n');
  await writeFile(join(folder, 'bin/gh'), '#!/bin/sh\necho "gh $*" >>"$CALLS"\ncat "$7" >>"$CALLS"\n');
  await writeFile(join(folder, 'bin/curl'), '#!/bin/sh\necho "curl $*" >>"$CALLS"\n');
  for (const name of ['npx', 'gh', 'curl']) await chmod(join(folder, 'bin', name), 0o755);
  await symlink(process.execPath, join(folder, 'bin/node'));
  git('init', '--quiet');
  await writeFile(join(project, 'openapi.json'), JSON.stringify(documentOf('string')));
  git('add', '.');
  git('commit', '--quiet', '-m', 'Released');
  base = git('rev-parse', 'HEAD');
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await rm(folder, { recursive: true });
});

async function shell(script: string, env: Readonly<Record<string, string>>, calls: string) {
  const path = `${join(folder, 'bin')}:${dirname(process.execPath)}:${process.env.PATH}`;
  // Not synchronously: the server is in this process.
  const child = spawn('bash', ['-eo', 'pipefail', '-c', script], {
    cwd: project,
    // The commands share compiled code, as all processes of a test run do.
    env: { PATH: path, CALLS: calls, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? '', ...env },
  });
  const text: string[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => text.push(String(chunk)));
  const status = await new Promise<number | null>((done) => child.once('close', done));
  return { status, text: text.join('') };
}

/** Runs the steps of the action as a runner does. */
async function act(inputs: Readonly<Record<string, string>>) {
  const action = parse(await readFile(join(root, 'action.yml'), 'utf8'));
  const calls = join(folder, `calls-${Object.values(inputs).join('-').replaceAll(/\W/g, '_').slice(0, 60)}`);
  const outputs: Record<string, Record<string, string>> = {};
  const github: Record<string, string> = {
    action_path: root,
    event_name: 'pull_request',
    token: 'token',
    'event.pull_request.number': '7',
    'event.pull_request.base.sha': base,
  };
  const valueAt = (name: string): string => {
    const [scope = '', ...rest] = name.trim().split('.');
    if (scope === 'github') return github[rest.join('.')] ?? '';
    if (scope === 'steps') return outputs[rest[0] ?? '']?.[rest[2] ?? ''] ?? '';
    return inputs[rest[0] ?? ''] ?? filled(action.inputs[rest[0] ?? '']?.default ?? '');
  };
  const filled = (text: string): string =>
    String(text).replaceAll(/\$\{\{([^}]*)\}\}/g, (_whole, name: string) => valueAt(name));
  const holds = (condition: string) =>
    condition.split('&&').every((part) => {
      const [, name = '', operator, value] = /^\s*([\w.]+) (==|!=) '(.*)'\s*$/.exec(part) ?? [];
      expect(operator, part).toBeDefined();
      return (valueAt(name) === value) === (operator === '==');
    });
  const used: string[] = [];
  let text = '';
  for (const step of action.runs.steps as Step[]) {
    if (step.if !== undefined && !holds(step.if)) continue;
    if (step.uses !== undefined) used.push([step.uses, ...Object.values(step.with ?? {}).map(filled)].join(' '));
    if (step.run === undefined) continue;
    const output = join(folder, 'output');
    await writeFile(output, '');
    const env = Object.fromEntries(Object.entries(step.env ?? {}).map(([name, value]) => [name, filled(value)]));
    const result = await shell(filled(step.run), { GITHUB_OUTPUT: output, ...env }, calls);
    text += result.text;
    const lines = (await readFile(output, 'utf8')).split('\n').filter(Boolean);
    if (step.id !== undefined) outputs[step.id] = Object.fromEntries(lines.map((line) => line.split('=')));
    if (result.status !== 0)
      return { status: result.status, failed: step.name, used, text, calls: await readFile(calls, 'utf8') };
  }
  return { status: 0, failed: undefined, used, text, calls: existsSync(calls) ? await readFile(calls, 'utf8') : '' };
}

it('actions of others are named by commits, which nobody can move, and by the version that these are', async () => {
  for (const file of ['action.yml', '.github/workflows/ci.yaml', '.github/workflows/nightly.yaml']) {
    const used = (await readFile(join(root, file), 'utf8')).match(/\buses:.*/g) ?? [];
    expect(used.length).toBeGreaterThan(0);
    for (const one of used)
      expect([file, one]).toEqual([file, expect.stringMatching(/@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)]);
  }
});

// The next two run the action as well. They share most of its steps, each of which starts a process.
const itAtNight = isEveryDriftTested ? it : () => undefined;
itAtNight('the action passes a contract that breaks nothing and a server that is like it', async () => {
  const { status, text, used, calls } = await act({
    spec: 'openapi.json',
    url,
    options: '--checks responses',
    reports: 'good',
  });
  expect(text).toContain('Nothing breaks.');
  expect(status).toBe(0);
  expect(used).toEqual([
    expect.stringMatching(/^actions\/setup-node@\w+ 24$/),
    expect.stringMatching(/^github\/codeql-action\/upload-sarif@\w+ good\/contract.sarif contract-check$/),
  ]);
  expect(calls).toContain('npx --yes pnpm@12 install --frozen-lockfile');
  expect(calls).toContain('gh pr comment 7 --edit-last --create-if-none --body-file good/breaks.md');
  expect(calls).toContain('**The contract breaks no callers.**');
  for (const file of ['report.json', 'contract.sarif', 'junit.xml'])
    expect(existsSync(join(project, 'good', file)), file).toBe(true);
  // Nothing is installed in the project, and no lock file is written.
  expect(git('status', '--porcelain', '--ignored')).toBe('?? good/');
});

it('the action fails with what breaks and what differs, and accepts what its files list', async () => {
  await writeFile(join(project, 'openapi.json'), JSON.stringify(documentOf('integer')));
  const inputs = { spec: 'openapi.json', url, options: '--checks responses', reports: 'bad' };
  const failed = await act(inputs);
  expect([failed.status, failed.failed]).toEqual([1, 'Result']);
  expect(failed.calls).toMatch(/\*\*The contract breaks callers\.\*\*[\s\S]*integer/);
  expect(await readFile(join(project, 'bad/contract.sarif'), 'utf8')).toContain('must be integer');
  if (!isEveryDriftTested) return;
  const bin = join(root, 'packages/openapi-breaking/src/bin.ts');
  await writeFile(join(project, 'before.json'), git('show', `${base}:openapi.json`));
  const list = spawnSync(process.execPath, [bin, 'before.json', 'openapi.json', '--format', 'json'], { cwd: project });
  await writeFile(join(project, 'breaks.json'), list.stdout);
  const { findings } = JSON.parse(await readFile(join(project, 'bad/report.json'), 'utf8'));
  const entries = findings.flatMap(({ places }: { places: { cause: string }[] }) =>
    places.map(({ cause }) => ({ cause, reason: 'known' })),
  );
  await writeFile(join(project, 'baseline.json'), JSON.stringify(entries));
  const accepted = await act({ ...inputs, breaks: 'breaks.json', baseline: 'baseline.json', comment: 'false' });
  expect(accepted.text).toContain('1 is accepted.');
  expect(accepted.status).toBe(0);
  expect(accepted.calls).not.toContain('gh pr comment 7 --edit-last --create-if-none --body-file accepted');
});

it('the job for GitLab runs the same, and adds a note with what breaks', async () => {
  const { '.contract-check': job } = parse(await readFile(join(root, 'packages/contract-check/ci/gitlab.yml'), 'utf8'));
  const calls = join(folder, 'calls-gitlab');
  const own = {
    CI_API_V4_URL: 'https://gitlab.example/api/v4',
    CI_PROJECT_ID: '3',
    CI_MERGE_REQUEST_IID: '5',
    GITLAB_TOKEN: 'token',
  };
  const variables: Record<string, string> = {
    ...Object.fromEntries(Object.entries(job.variables).map(([name, value]) => [name, String(value)])),
    ...{ BASE: base, SPEC: 'openapi.json', REPORTS: 'gitlab' },
  };
  // The repository is here already.
  const script = job.script.join('\n').replace(/^git clone.*$/m, `rmdir "$tools" && ln -s '${root}' "$tools"`);
  const { status, text } = await shell(script, { ...variables, ...own }, calls);
  expect(text).toContain('1 change breaks callers.');
  expect(status).toBe(1);
  const log = await readFile(calls, 'utf8');
  expect(log).toContain('npx --yes pnpm@12 install --frozen-lockfile');
  expect(log).toContain('body@gitlab/breaks.md https://gitlab.example/api/v4/projects/3/merge_requests/5/notes');
  expect(job.artifacts.reports.junit).toBe('$REPORTS/junit.xml');
});
