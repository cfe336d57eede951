import { OpenApiDocument } from '../../src/document/document.ts';
import { operationsOf } from '../../src/document/operation.ts';
import { start } from '../servers/workshop/server.ts';
import { openProxy } from './front.ts';
import type { Stage } from './run.ts';
import { type Place, specFile, startRealServer, type World } from './service/world.ts';
import type { Shop } from './workshop/samples.ts';

/** A stage that must be closed. */
export interface OpenStage<World> extends Stage<World> {
  close(): Promise<void>;
}

/** The service behind a proxy. */
export async function openServiceStage(place?: Place): Promise<OpenStage<World>> {
  const server = await startRealServer(place);
  const proxy = await openProxy(server.address, server.operations);
  return {
    spec: specFile,
    proxy,
    createWorld: server.createWorld,
    authOf: ({ auth }) => auth,
    async close() {
      await proxy.close();
      await server.stop();
    },
  };
}

/** The workshop server, a new one for each world. */
export async function openWorkshopStage(): Promise<OpenStage<Shop>> {
  let running = await start();
  const operations = operationsOf(await OpenApiDocument.load(running.specification));
  const proxy = await openProxy(running.url, operations);
  let counter = 0;
  return {
    spec: running.specification,
    proxy,
    async createWorld() {
      await running.close();
      running = await start();
      await proxy.setTarget(running.url);
      const { auth } = running;
      const headers = async (name: 'caller' | 'expired' | 'forbidden' | 'otherTenant') => ({
        ...(await auth?.[name]?.()),
      });
      const id = (number: number) => `0f000000-0000-4000-8000-${number.toString(16).padStart(12, '0')}`;
      return {
        operations,
        auth: { caller: () => headers('caller'), ...auth },
        headers: {
          owner: await headers('caller'),
          expired: await headers('expired'),
          forbidden: await headers('forbidden'),
          otherTenant: await headers('otherTenant'),
        },
        ids: { tool: id(1), job: id(7) },
        unique: () => `Zz${(++counter).toString().padStart(6, '0')}zZ`,
      };
    },
    authOf: ({ auth }) => auth,
    async close() {
      await proxy.close();
      await running.close();
    },
  };
}
