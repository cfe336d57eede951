import type { Span } from './calendar.ts';
import { type ClientSeed, createClients } from './clients.ts';
import { createJobs, type JobSeed } from './jobs.ts';
import { createPeople, type Person } from './people.ts';
import type { Size } from './profile.ts';

/**
 * What is decided about a firm before any of it is written: who works for whom, and when. What that comes to in money is up to
 * the service.
 */
export interface Firm {
  readonly span: Span;
  readonly size: Size;
  readonly people: readonly Person[];
  readonly clients: readonly ClientSeed[];
  readonly jobs: readonly JobSeed[];
  /** Whether people look at it: then its names are such as they are used to. */
  readonly isForPeople: boolean;
}

export function createFirm(span: Span, size: Size, isForPeople: boolean): Firm {
  const people = createPeople(span);
  const clients = createClients(size, isForPeople);
  return { span, size, people, clients, jobs: createJobs(span, size, people, clients), isForPeople };
}
