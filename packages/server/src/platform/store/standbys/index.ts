/** Reads on standby servers of PostgreSQL. Without `READ_DATABASE_URL`, nothing of this is used. */
export { Standbys, standbyOutcomes } from './standbys.ts';
