import { defineEntity, type Entity } from '../../entity/entity.ts';

/** Work that is agreed with a client. For now clients are searched by their jobs; its own operations follow. */
export const job: Entity = defineEntity({ type: 'Job', table: 'job', writable: false });
