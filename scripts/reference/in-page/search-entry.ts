/** What the search finds. Entries of one kind have the same importance. */
export interface SearchEntry {
  readonly kind: 'Operation' | 'Guide' | 'Workflow' | 'Topic' | 'Chapter' | 'States' | 'Event';
  /** Address within the page. */
  readonly link: string;
  readonly title: string;
  readonly id?: string;
  readonly path?: string;
  /** Names of parameters and fields, separated by spaces. */
  readonly names?: string;
  readonly text: string;
  /** What people say for it, in phrases separated by commas. */
  readonly phrases?: string;
}

export interface Found {
  readonly entry: SearchEntry;
  /** Fields of the operation that match. */
  readonly fields: readonly string[];
}
