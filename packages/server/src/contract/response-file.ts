/** A response with a file instead of JSON. */
export class ResponseFile {
  readonly type: string;
  readonly content: string | Uint8Array;

  /** @param type media type, which includes the encoding of a text */
  constructor(type: string, content: string | Uint8Array) {
    this.type = type;
    this.content = content;
  }
}
