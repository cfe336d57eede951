/** The directory of databases: which there are, and in which one a tenant is. */
export { adoptDatabase } from './adopt.ts';
export {
  addCell,
  cellsIn,
  isRestored,
  listCells,
  openCells,
  setCellAddress,
} from './cells.ts';
export { inCell, storeOfTenant } from './placement.ts';
