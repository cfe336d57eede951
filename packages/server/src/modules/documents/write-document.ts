import type { JobRun } from '../../background/job.ts';
import type { UnitOfWork } from '../../entity/unit-of-work.ts';
import type { ContentStorage, StoredContent } from '../../platform/storage/storage.ts';
import type { Session } from '../../platform/store/store.ts';

/** The parts of a run that writing requires: those of a job, or of the operator. */
export type Writer = Pick<JobRun<unknown>, 'read' | 'write' | 'signal'> & {
  readonly tenantId: number;
  readonly storage: ContentStorage;
};

/** Where the content of a document comes from, and where its file is attached. */
export interface DocumentSource<Content> {
  /** Reads the current content; undefined if there is nothing to write. */
  read(session: Session): Promise<Content | undefined>;
  /** Renders it in the worker thread. */
  render(content: Content): Promise<Uint8Array>;
  /**
   * Attaches the file, unless the content has changed since it was read. It locks what the content depends on first.
   *
   * @returns whether the document is done.
   */
  attach(unit: UnitOfWork, content: Content, stored: StoredContent): Promise<boolean>;
}

/** Renders a document, stores its content and attaches the file; again if the content changes meanwhile. */
export async function writeDocument<Content>(
  { tenantId, storage, signal, read, write }: Writer,
  source: DocumentSource<Content>,
): Promise<void> {
  let isDone = false;
  while (!isDone) {
    signal.throwIfAborted();
    const content = await read((session) => source.read(session));
    if (content === undefined) return;
    const stored = await storage.put(tenantId, await source.render(content));
    isDone = await write((unit) => source.attach(unit, content, stored));
  }
}
