import type { Exchange } from '../http/call.ts';
import type { Candidate } from '../judge/judge.ts';
import type { Finding } from './finding.ts';

/** Where findings are written down: one for each cause, however often it shows. */
export class FindingRegistry {
  readonly #findings = new Map<string, Finding & { readonly also: string[] }>();
  readonly #seenOnce = new Map<string, string>();

  /** Whether the cause is written down already, so that it need not be confirmed again. */
  has(cause: string): boolean {
    return this.#findings.has(cause);
  }

  get size(): number {
    return this.#findings.size;
  }

  /** Writes down what is confirmed. */
  write(candidate: Candidate, exchanges: readonly Exchange[]): void {
    if (this.#findings.has(candidate.cause)) return;
    this.#seenOnce.delete(candidate.cause);
    this.#findings.set(candidate.cause, { ...candidate, exchanges, also: [] });
  }

  /** Has a finding shown by other exchanges than it was written down with. */
  rewrite(candidate: Candidate, exchanges: readonly Exchange[]): void {
    if (this.#findings.has(candidate.cause)) this.#findings.set(candidate.cause, { ...candidate, exchanges, also: [] });
  }

  /** Notes what a response shows that cannot be requested again. Seen in a second response, it is confirmed. */
  noteSeen(candidate: Candidate, exchange: Exchange): void {
    if (this.#seenOnce.has(candidate.cause)) this.write(candidate, [exchange]);
    else this.noteUnrepeated(candidate);
  }

  /** Notes what was looked for a second time, and was not there: chance, or a wrong guess. */
  noteUnrepeated(candidate: Candidate): void {
    const note = `${candidate.operation}: ${candidate.title}; it was observed once and did not occur again`;
    this.#seenOnce.set(candidate.cause, note);
  }

  unrepeated(): string[] {
    return [...this.#seenOnce.values()];
  }

  /** All findings; those of one check at one place of the contract, in several operations, are one. */
  findings(): Finding[] {
    const merged = new Map<string, Finding & { also: string[] }>();
    for (const finding of this.#findings.values()) {
      const { place } = finding;
      const key =
        place === undefined || finding.category !== 'responses'
          ? finding.cause
          : `${finding.check} ${place.file} ${place.pointer} ${finding.title}`;
      const first = merged.get(key);
      if (first === undefined) merged.set(key, { ...finding, also: [] });
      else if (first.operation !== finding.operation && !first.also.includes(finding.operation)) {
        first.also.push(finding.operation);
      }
    }
    return [...merged.values()];
  }
}
