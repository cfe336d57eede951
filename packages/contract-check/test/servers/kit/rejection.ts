/** Why a request is rejected. The server writes it in the format of its contract. */
export class Rejection extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly pointer: string | undefined;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>>, pointer?: string) {
    super(message);
    this.status = status;
    this.headers = headers;
    this.pointer = pointer;
  }
}

export function rejection(
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
  pointer?: string,
): Rejection {
  return new Rejection(status, message, headers, pointer);
}
