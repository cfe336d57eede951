import { defineEntity, type Entity } from '../../entity/entity.ts';

/** A person of the firm. For now other entities refer to staff and search by it; its own operations follow. */
export const staff: Entity = defineEntity({ type: 'Staff', table: 'staff', writable: false });
