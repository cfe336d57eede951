/** Compares a document with itself, and with one that lacks a path. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { compare } from '@financial-automation/openapi-breaking';

const responses = { 200: { description: 'It.' } };
const document = (paths) => ({ openapi: '3.1.0', info: { title: 'Pets', version: '1' }, paths });
const [before, after] = [document({ '/pets': { get: { responses } } }), document({})];
assert.equal((await compare(before, after)).breaks.length, 1);

await writeFile('before.json', JSON.stringify(before));
await writeFile('after.json', JSON.stringify(after));
const run = (...files) => spawnSync('npx', ['--no', 'openapi-breaking', ...files], { encoding: 'utf8' });
assert.deepEqual([run('before.json', 'before.json').status, run('before.json', 'after.json').status], [0, 1]);
assert.equal(run('before.json', 'none.json').status, 2);
