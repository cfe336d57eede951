/** Several databases: a directory of them, and tenants that move from one to another. One database needs nothing of this. */
export { Cells, tenantsOfCell } from './cells.ts';
export { actAsMover } from './finish-move.ts';
