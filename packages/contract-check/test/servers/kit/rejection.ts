/** Why a request is not done, for the server to say in the form of its contract. */
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
