import type { Pool } from 'pg';
import type { Binding } from './binding.ts';
import type { Listener } from './listener.ts';

/** What the store needs of a database, whichever of the two it is. Nobody outside this folder sees it. */
export interface Engine {
  readonly name: 'pglite' | 'postgres';
  /** Connections as the user who owns the tables; the binding takes their rights away before a request sees one. */
  readonly pool: Pool;
  /** Where readiness is looked up: not behind requests, if the engine has more than one connection. */
  readonly probe: Pool;
  readonly binding: Binding;
  readonly limits: Limits;
  /** Hears what is notified on a channel. Some of it may be missed. */
  listen(channel: string, hear: (payload: string) => void): Promise<Listener>;
  close(): Promise<void>;
}

/** Where the store writes what an operator should know; a pino logger fits. */
export interface StoreLog {
  info(message: string): void;
  warn(message: string): void;
}

/** Milliseconds. They keep a call that went wrong, or asks too much, from holding a connection or a lock for ever. */
export interface Limits {
  /** Waiting for a connection, and opening one. */
  readonly connect: number;
  /** Opening the first connection: a server that takes longer is not there. */
  readonly firstConnect: number;
  readonly lock: number;
  /** One read, with all its statements. */
  readonly read: number;
  /** One statement of a transaction. */
  readonly statement: number;
  readonly idleInTransaction: number;
}

export const standardLimits: Limits = {
  connect: 5_000,
  firstConnect: 1_500,
  lock: 10_000,
  read: 2_000,
  statement: 30_000,
  idleInTransaction: 60_000,
};
