/** Tenants that move from one database of the directory to another: `tenant move`. */
export { cancelMove, removeOldCopies } from './end-move.ts';
export { type MoveRequest, moveTenant } from './move-tenant.ts';
export { removeCopy } from './remove-copy.ts';
