/** What the set-up of a test run has made, for the test files to copy. */
export type PreparedDatabases =
  | {
      readonly engine: 'pglite';
      /** Data directories, closed. */
      readonly empty: string;
      readonly migrated: string;
    }
  | {
      readonly engine: 'postgres';
      /** The server, as a user who may create databases and is no superuser, as in production. */
      readonly serverUrl: string;
      /** Names of databases that nobody is connected to. */
      readonly empty: string;
      readonly migrated: string;
    };

declare module 'vitest' {
  interface ProvidedContext {
    databases: PreparedDatabases;
  }
}
