import { chmod, rm } from 'node:fs/promises';
import { createServer, request, type Server } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { socketIn } from '../platform/process/socket-path.ts';
import { type CommandName, type Commands, isCommand, runCommand } from './commands.ts';
import type { Operator } from './operator.ts';

/** Accepts commands until it is closed. */
export async function listenForCommands(dataDir: string, operator: Operator): Promise<Server> {
  const path = socketIn(dataDir);
  // A socket left behind by a killed server; a running server holds the lock of the database, so this process would have
  // failed before.
  await rm(path, { force: true });
  const server = createServer(async (incoming, outgoing) => {
    const respond = (status: number, body: unknown) => outgoing.writeHead(status).end(JSON.stringify(body));
    try {
      const { name, input } = JSON.parse(await text(incoming));
      if (isCommand(name)) respond(200, (await runCommand(operator, name, input)) ?? null);
      else respond(400, { message: `The server does not support the command "${name}".` });
    } catch (error) {
      respond(400, { message: error instanceof Error ? error.message : String(error) });
    }
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(path, resolve));
  await chmod(path, 0o600);
  return server;
}

/** Whether a server runs on the directory. */
export async function isServing(dataDir: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(socketIn(dataDir));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ECONNREFUSED') resolve(false);
      else reject(error);
    });
  });
}

/** Runs a command in the running server. @throws Error with the message of the server, or if it has stopped */
export async function callServer<Name extends CommandName>(
  dataDir: string,
  name: Name,
  input: Commands[Name]['input'],
): Promise<Commands[Name]['result']> {
  const response = await send(socketIn(dataDir), JSON.stringify({ name, input }));
  const body = JSON.parse(response.body);
  if (response.status !== 200) throw new Error(body.message);
  return body;
}

function send(socketPath: string, body: string): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ socketPath, method: 'POST' }, async (incoming) => {
      try {
        resolve({ status: incoming.statusCode ?? 500, body: await text(incoming) });
      } catch (error) {
        reject(stopped(error));
      }
    });
    outgoing.once('error', (error) => reject(stopped(error)));
    outgoing.end(body);
  });
}

function stopped(cause: unknown): Error {
  return new Error('The server stopped before it responded. Run the command again.', { cause });
}
