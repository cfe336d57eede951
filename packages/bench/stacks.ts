import type { RequestListener } from 'node:http';
import { createApp } from '@financial-automation/server/app/app';
import type { Service } from '@financial-automation/server/entity/service';
import { documentedValidator } from './stacks/documented.ts';
import { bareExpress } from './stacks/express.ts';
import { fastifyWithSchemas } from './stacks/fastify.ts';

/** What is before the handlers, by name. */
export const stacks: Readonly<Record<string, (service: Service) => RequestListener | Promise<RequestListener>>> = {
  service: createApp,
  pooler: createApp,
  fastify: fastifyWithSchemas,
  express: bareExpress,
  documented: documentedValidator,
};
