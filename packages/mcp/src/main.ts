#!/usr/bin/env node
/**
 * `financial-automation-mcp`. Standard output is used by the protocol, so messages for people are written to standard
 * error.
 */
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { ProblemError } from '../../client/src/index.ts';
import { senderOf } from './call.ts';
import { readContract } from './contract.ts';
import { createServer } from './server.ts';
import { connect } from './session.ts';
import { readSettings, SettingsError, usage } from './settings.ts';

try {
  const settings = readSettings(process.argv.slice(2), process.env);
  if (settings === undefined) {
    console.log(usage);
  } else {
    const contract = await readContract();
    const unknownTags = [...(settings.tags ?? [])].filter((tag) => !contract.operations.some((one) => one.tag === tag));
    if (unknownTags.length > 0) {
      const known = new Set(contract.operations.map(({ tag }) => tag));
      throw new SettingsError(`--tags has unknown tags: ${unknownTags.join(', ')}. Tags are ${[...known].join(', ')}.`);
    }
    const { client, roles } = await connect(settings);
    serveStdio(() => createServer(contract, { ...settings, roles }, senderOf(client)), {
      onerror: (error) => console.error(error.message),
    });
  }
} catch (error) {
  console.error(reasonOf(error));
  process.exitCode = 1;
}

function reasonOf(error: unknown): string {
  if (error instanceof SettingsError) return error.message;
  if (error instanceof ProblemError) return `The service rejected the API key. ${error.message}`;
  if (error instanceof TypeError) return `The service cannot be reached at ${process.env.BASE_URL}: ${error.message}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
