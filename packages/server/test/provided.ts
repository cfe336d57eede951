/** The databases that the setup of a test run creates, for the test files to copy. */
export type PreparedDatabases =
  | {
      readonly engine: 'pglite';
      /** Data directories, closed. */
      readonly empty: string;
      readonly migrated: string;
    }
  | {
      readonly engine: 'postgres';
      /** URL of the server, with a user who may create databases and is not a superuser, as in production. */
      readonly serverUrl: string;
      /** Names of databases without connections. */
      readonly empty: string;
      readonly migrated: string;
    };

declare module 'vitest' {
  interface ProvidedContext {
    databases: PreparedDatabases;
  }
}
