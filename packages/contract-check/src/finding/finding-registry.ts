import type { Exchange } from '../http/call.ts';
import type { Candidate, Finding } from './finding.ts';
import { mergedByCause, type Observed } from './merge.ts';

/** Collects findings, one for each cause. */
export class FindingRegistry {
  readonly #findings = new Map<string, Observed>();
  readonly #unconfirmed = new Map<string, string>();

  /** Whether the cause is already reported and needs no confirmation. */
  has(cause: string): boolean {
    return this.#findings.has(cause);
  }

  get size(): number {
    return this.#findings.size;
  }

  /** Adds a confirmed finding. */
  write(candidate: Candidate, exchanges: readonly Exchange[]): void {
    if (this.#findings.has(candidate.cause)) return;
    this.#unconfirmed.delete(candidate.cause);
    this.#findings.set(candidate.cause, { ...candidate, exchanges });
  }

  /** Notes a candidate whose request cannot be repeated. A second observation confirms it. */
  noteUnconfirmed(candidate: Candidate, exchange: Exchange): void {
    if (this.#unconfirmed.has(candidate.cause)) this.write(candidate, [exchange]);
    else this.noteUnrepeated(candidate);
  }

  /** Notes a candidate that did not recur. */
  noteUnrepeated(candidate: Candidate): void {
    const note = `${candidate.operation}: ${candidate.title}; it was observed once and did not occur again`;
    this.#unconfirmed.set(candidate.cause, note);
  }

  unrepeated(): string[] {
    return [...this.#unconfirmed.values()];
  }

  findings(): Finding[] {
    return mergedByCause([...this.#findings.values()]);
  }
}
