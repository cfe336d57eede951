import { essence } from './body.ts';
import type { Contract, DeclaredResponse, Operation } from './contract.ts';
import { scalar } from './parameters.ts';
import { jsonType } from './serve.ts';
import { judgeOf } from './validate.ts';

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // Tests look into bodies of any shape.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  readonly body: any;
  /** Violations of the contract; empty for a valid response. */
  readonly faults: readonly string[];
}

export interface RequestOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Texts, bytes and forms are sent unchanged, other values as JSON. */
  readonly body?: unknown;
}

export type Client = (line: string, options?: RequestOptions) => Promise<Reply>;

/** A client that validates every response against the contract: `await client('GET /tools?limit=1')`. */
export function clientOf(contract: Contract, base: string, defaults: Readonly<Record<string, string>> = {}): Client {
  const judge = judgeOf(contract, 'response');
  return async (line, { headers = {}, body } = {}) => {
    const [method = 'GET', url = '/'] = line.split(' ');
    const plain =
      typeof body === 'string' || body instanceof FormData || body instanceof Uint8Array || body === undefined;
    const received = await fetch(base + url, {
      method,
      headers: { ...(plain ? {} : { 'content-type': 'application/json' }), ...defaults, ...headers },
      ...(body !== undefined && { body: plain ? (body as string) : JSON.stringify(body) }),
    });
    const text = await received.text();
    const operation = operationFor(contract, method, url.split('?')[0] ?? '');
    const value = parsed(received, text);
    const reply = { status: received.status, headers: received.headers, text, body: value };
    return { ...reply, faults: operation === undefined ? [] : faults(operation, reply) };
  };

  function faults(operation: Operation, reply: Omit<Reply, 'faults'>): string[] {
    const response = operation.responses.get(String(reply.status)) ?? operation.responses.get('default');
    if (response === undefined) return [`${operation.id}: ${reply.status} is not declared`];
    return [...headerFaults(response, reply), ...bodyFaults(operation, response, reply)].map(
      (fault) => `${operation.id} ${reply.status}: ${fault}`,
    );
  }

  function headerFaults(response: DeclaredResponse, { headers }: Omit<Reply, 'faults'>): string[] {
    return response.headers.flatMap(({ name, required, schema, pointer }) => {
      const text = headers.get(name);
      if (text === null) return required ? [`${name} is missing`] : [];
      const verdict = judge(pointer, scalar(schema, text));
      return verdict === undefined ? [] : [`${name} ${verdict.message}`];
    });
  }

  function bodyFaults(
    operation: Operation,
    response: DeclaredResponse,
    { headers, text, body }: Omit<Reply, 'faults'>,
  ): string[] {
    const type = essence(headers.get('content-type') ?? '');
    if (operation.method === 'HEAD') return text === '' ? [] : ['HEAD has a body'];
    if (response.media.length === 0) return text === '' ? [] : ['a body is not declared'];
    const media = response.media.find((one) => one.type === type);
    if (media === undefined) return [`${type} is not declared`];
    if (type.endsWith('xml') || media.schema === undefined) return [];
    const verdict = judge(media.pointer, body);
    return verdict === undefined ? [] : [`${verdict.pointer} ${verdict.message}`];
  }
}

function parsed(received: Response, text: string): unknown {
  return jsonType.test(essence(received.headers.get('content-type') ?? '')) && text !== '' ? JSON.parse(text) : text;
}

function operationFor(contract: Contract, method: string, path: string): Operation | undefined {
  const found = contract.operations.filter(
    (operation) =>
      operation.method === method && new RegExp(`^${operation.path.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`).test(path),
  );
  return found.find((operation) => operation.path === path) ?? found[0];
}
