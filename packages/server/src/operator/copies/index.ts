/** Tenants as files: `tenant export` and `tenant import`. Moves read and write the same rows. */
export {
  deleteRowsByKey,
  insertCopiedRows,
  type RowKey,
  readCopiedRows,
  readRowsByKey,
  replaceCopiedRows,
} from './copied-rows.ts';
export { exportTenant } from './export-tenant.ts';
export { encryptedColumns } from './file-key.ts';
export { importTenant } from './import-tenant.ts';
export { removeInterruptedImports } from './interrupted-imports.ts';
export { findTenant, insertTenant, schemaIn, type TenantRow, updateTenant } from './tenant-row.ts';
export { standardOutput } from './write-file.ts';
