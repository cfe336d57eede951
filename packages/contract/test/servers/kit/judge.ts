import { essence } from './body.ts';
import type { Answer, Contract, Operation } from './contract.ts';
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
  /** What of the answer is against the contract; empty if nothing is. */
  readonly faults: readonly string[];
}

export interface Ask {
  readonly headers?: Readonly<Record<string, string>>;
  /** A text, bytes or a form as it is; anything else as JSON. */
  readonly body?: unknown;
}

export type Client = (line: string, ask?: Ask) => Promise<Reply>;

/** A client that holds every answer against the contract: `await client('GET /tools?limit=1')`. */
export function clientOf(contract: Contract, base: string, defaults: Readonly<Record<string, string>> = {}): Client {
  const judge = judgeOf(contract, 'answer');
  return async (line, { headers = {}, body } = {}) => {
    const [method = 'GET', url = '/'] = line.split(' ');
    const plain =
      typeof body === 'string' || body instanceof FormData || body instanceof Uint8Array || body === undefined;
    const response = await fetch(base + url, {
      method,
      headers: { ...(plain ? {} : { 'content-type': 'application/json' }), ...defaults, ...headers },
      ...(body !== undefined && { body: plain ? (body as string) : JSON.stringify(body) }),
    });
    const text = await response.text();
    const operation = operationFor(contract, method, url.split('?')[0] ?? '');
    const value = parsed(response, text);
    const reply = { status: response.status, headers: response.headers, text, body: value };
    return { ...reply, faults: operation === undefined ? [] : faults(operation, reply) };
  };

  function faults(operation: Operation, reply: Omit<Reply, 'faults'>): string[] {
    const answer = operation.answers.get(String(reply.status)) ?? operation.answers.get('default');
    if (answer === undefined) return [`${operation.id}: ${reply.status} is not declared`];
    return [...headerFaults(answer, reply), ...bodyFaults(operation, answer, reply)].map(
      (fault) => `${operation.id} ${reply.status}: ${fault}`,
    );
  }

  function headerFaults(answer: Answer, { headers }: Omit<Reply, 'faults'>): string[] {
    return answer.headers.flatMap(({ name, required, schema, pointer }) => {
      const text = headers.get(name);
      if (text === null) return required ? [`${name} is missing`] : [];
      const verdict = judge(pointer, scalar(schema, text));
      return verdict === undefined ? [] : [`${name} ${verdict.message}`];
    });
  }

  function bodyFaults(operation: Operation, answer: Answer, { headers, text, body }: Omit<Reply, 'faults'>): string[] {
    const type = essence(headers.get('content-type') ?? '');
    if (operation.method === 'HEAD') return text === '' ? [] : ['HEAD has a body'];
    if (answer.media.length === 0) return text === '' ? [] : ['a body is not declared'];
    const media = answer.media.find((one) => one.type === type);
    if (media === undefined) return [`${type} is not declared`];
    if (type.endsWith('xml') || media.schema === undefined) return [];
    const verdict = judge(media.pointer, body);
    return verdict === undefined ? [] : [`${verdict.pointer} ${verdict.message}`];
  }
}

function parsed(response: Response, text: string): unknown {
  return jsonType.test(essence(response.headers.get('content-type') ?? '')) && text !== '' ? JSON.parse(text) : text;
}

function operationFor(contract: Contract, method: string, path: string): Operation | undefined {
  const found = contract.operations.filter(
    (operation) =>
      operation.method === method && new RegExp(`^${operation.path.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`).test(path),
  );
  return found.find((operation) => operation.path === path) ?? found[0];
}
