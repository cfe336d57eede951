/** The directory of databases: which there are, and in which one a tenant is. */
export { adoptDatabase } from './adopt.ts';
export {
  addCell,
  cellsIn,
  isRestored,
  listCells,
  openCells,
  removeCell,
  setCellAddress,
  urlPurpose,
} from './cells.ts';
export { inCell, nameOfDatabase, noDatabase, storeOfTenant } from './placement.ts';
