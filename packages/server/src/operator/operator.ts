import { schemaOf } from '../contract/contract.ts';
import type { Service } from '../entity/service.ts';
import { pasteable } from '../platform/operator-command.ts';

/** What tasks need that run when a clock is advanced. */
type OfClock = 'log' | 'metrics' | 'processor' | 'mailServers';

/** The resources that an operator's command works on. */
export interface Operator {
  readonly service: Pick<Service, 'store' | 'storage' | 'vault' | 'tokens' | 'keys' | 'directory' | OfClock>;
  /** Shows how far long work is; undefined where nobody watches. */
  readonly progress?: ((progress: Progress) => void) | undefined;
}

/** What a command needs that works with a part of the resources. */
export interface OperatorOf<Part extends keyof Operator['service']> {
  readonly service: Pick<Operator['service'], Part>;
}

/** How far long work is. */
export interface Progress {
  readonly step: string;
  /** Of the whole work. */
  readonly done: number;
  /** Undefined if it is not known. */
  readonly total?: number | undefined;
}

/** Describes a tenant that does not exist, with the command to create it. */
export function noTenant(name: string): string {
  return `The tenant ${name} does not exist. To create it, run: ${pasteable(`operator tenant create ${name}`)}`;
}

/** Describes a tenant that is closed, with the command to open it. */
export function closedTenant(name: string): string {
  return `The tenant ${name} is closed. To open it, run: ${pasteable(`operator tenant open ${name}`)}`;
}

/** @throws Error with a sentence */
export function checkTenantName(name: string): void {
  if (!new RegExp(schemaOf('TenantName').pattern ?? '').test(name))
    throw new Error('The name of a tenant has 2 to 63 of a-z, 0-9 and _, and starts with a letter.');
}

/** @throws Error with a sentence */
export function checkInstant(text: string): void {
  try {
    Temporal.Instant.from(text);
  } catch {
    throw new Error(`"${text}" is not an instant. Write it as 2026-10-01T09:30:00Z.`);
  }
}
