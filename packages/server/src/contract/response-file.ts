/** A response with a file instead of JSON. */
export class ResponseFile {
  /** The name under which it is saved. */
  readonly name: string;
  readonly type: string;
  readonly content: string | Uint8Array;

  /** @param type media type, which includes the encoding of a text */
  constructor(name: string, type: string, content: string | Uint8Array) {
    this.name = name;
    this.type = type;
    this.content = content;
  }
}
