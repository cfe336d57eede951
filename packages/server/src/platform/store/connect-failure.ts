import pg from 'pg';
import { DatabaseError, DatabaseUnavailable, reasonOf, ServerAway } from './errors.ts';

/** Codes of Node and OpenSSL for a certificate that cannot be verified. */
const certificateFault = /^(CERT_|ERR_TLS_|ERR_SSL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;

/**
 * Creates a client for the first connection.
 *
 * @throws DatabaseUnavailable if the address names a file that cannot be read
 */
export function firstClient(databaseUrl: string, limit: number, applicationName: string): pg.Client {
  try {
    const client = new pg.Client({
      connectionString: databaseUrl,
      application_name: applicationName,
      connectionTimeoutMillis: limit,
      query_timeout: limit,
    });
    // The statement that used the connection reports its errors.
    client.on('error', () => undefined);
    return client;
  } catch (error) {
    if (!(error instanceof Error && 'path' in error)) throw error;
    throw new DatabaseUnavailable(
      `The file ${error.path} that DATABASE_URL names cannot be read (${reasonOf(error)}). Correct sslrootcert, sslcert or sslkey.`,
    );
  }
}

/** Says why the first connection failed, and what to do, without a part of the address that may be of a password. */
export function connectFailure(error: unknown, client: pg.Client, elapsed: number, limit: number): DatabaseError {
  if (error instanceof DatabaseError) return error;
  const address = client.host.startsWith('/')
    ? `${client.host}/.s.PGSQL.${client.port}`
    : `${client.host}:${client.port}`;
  // `pg` ends a connection at its time limit, with the same error as if the server had ended it.
  if (elapsed >= limit && !(error instanceof Error && 'code' in error))
    return new ServerAway(
      `The PostgreSQL server at ${address} did not respond within ${limit} ms. Check the host and the port of DATABASE_URL, or set CONNECT_TIMEOUT_MS to more than ${limit}.`,
    );
  const reason = reasonOf(error);
  if (certificateFault.test(reason))
    return new DatabaseUnavailable(
      `The certificate of the PostgreSQL server at ${address} cannot be verified (${reason}). Renew it, connect to the host that it is for, or name the certificate of its authority in DATABASE_URL: sslrootcert=FILE.`,
    );
  if (/support SSL/.test(reason))
    return new DatabaseUnavailable(
      `The PostgreSQL server at ${address} has no TLS, which sslmode in DATABASE_URL requires. Set ssl = on there, or connect without sslmode in a network that only you use.`,
    );
  if (/password must be/.test(reason))
    return new DatabaseUnavailable(
      'The PostgreSQL server asks for a password, and DATABASE_URL has none. Add it after the user: postgres://user:password@host:5432/database.',
    );
  switch (reason) {
    case '28P01':
      return new DatabaseUnavailable(
        'The PostgreSQL server rejects the user or the password of DATABASE_URL (28P01). Correct them, or set the password with ALTER ROLE.',
      );
    case '28000':
      return new DatabaseUnavailable(
        'The PostgreSQL server does not admit the user of DATABASE_URL to the database from here (28000). Correct pg_hba.conf; if the server requires TLS, add sslmode=verify-full to DATABASE_URL.',
      );
    case '3D000':
      return new DatabaseUnavailable(
        `The database that DATABASE_URL names does not exist (3D000). Let an administrator create it: CREATE DATABASE ${pg.escapeIdentifier(client.database ?? '')} OWNER ${pg.escapeIdentifier(client.user ?? '')}`,
      );
    case '53300':
      return new ServerAway(
        `The PostgreSQL server at ${address} has no connection left (53300). Raise max_connections, or lower POOL_SIZE.`,
      );
    case '57P03':
      return new ServerAway(`The PostgreSQL server at ${address} is starting (57P03).`);
    default:
      return new ServerAway(
        `The PostgreSQL server at ${address} cannot be reached (${reason}). Start it, or correct the host and the port of DATABASE_URL.`,
      );
  }
}
