import { openFront } from './front.ts';
import type { Stage } from './run.ts';
import { specFile, startRealServer, type World } from './service/world.ts';

/** A stage that must be closed. */
export interface OpenStage<World> extends Stage<World> {
  close(): Promise<void>;
}

/** The service itself, behind a front. */
export async function openServiceStage(databaseUrl?: string): Promise<OpenStage<World>> {
  const server = await startRealServer(databaseUrl);
  const front = await openFront(server.address, server.operations);
  return {
    spec: specFile,
    front,
    makeWorld: server.makeWorld,
    authOf: ({ auth }) => auth,
    async close() {
      await front.close();
      await server.stop();
    },
  };
}
