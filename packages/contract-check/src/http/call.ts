import { flatBody } from '../document/envelopes.ts';
import type { Content, Operation } from '../document/operation.ts';
import { isJson, type JsonObject } from '../json.ts';

/** A request in terms of the contract. Checks change one part at a time; `serialize` writes it as declared. */
export interface Call {
  readonly operation: Operation;
  readonly path: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly cookies: Readonly<Record<string, unknown>>;
  readonly body: unknown;
  /** Whether the body is the resource alone, without the document of JSON:API around it. */
  readonly isFlat?: boolean;
  readonly mediaType: string | undefined;
  /** Overrides serialized parts, for requests that no value can express. */
  readonly raw?: Raw;
}

export interface Raw {
  readonly path?: string;
  /** The encoded query without the question mark. */
  readonly query?: string;
  /** Additional headers; null removes a header. */
  readonly headers?: Readonly<Record<string, string | null>>;
  readonly body?: string;
  readonly keys?: Readonly<Record<string, string>>;
}

export interface Exchange {
  readonly operation: Operation | undefined;
  readonly request: {
    readonly method: string;
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string | undefined;
  };
  readonly response: ReceivedResponse;
}

export interface ReceivedResponse {
  readonly status: number;
  /** Names in lower case. Repeated headers are joined with a comma. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** The media type without parameters, in lower case; empty if the response has none. */
  readonly mediaType: string;
  /** The parsed body, if it is valid JSON with a JSON media type. */
  readonly json: { readonly value: unknown } | undefined;
  readonly milliseconds: number;
  /** How the connection failed before a response was received, also if the request then succeeded on another one. */
  readonly lost?: string;
}

export function locationOf({ request, response }: Exchange): URL | undefined {
  const { location } = response.headers;
  return (location === undefined ? null : URL.parse(location, request.url)) ?? undefined;
}

export function emptyCall(operation: Operation): Call {
  const mediaType = operation.body?.contents.find((content) => isJson(content.mediaType))?.mediaType;
  return { operation, path: {}, query: {}, headers: {}, cookies: {}, body: undefined, mediaType };
}

export function contentOf({ operation, mediaType }: Pick<Call, 'operation' | 'mediaType'>): Content | undefined {
  return operation.body?.contents.find((content) => content.mediaType === mediaType);
}

export function bodySchemaOf(call: Pick<Call, 'operation' | 'mediaType' | 'isFlat'>): JsonObject | undefined {
  const content = contentOf(call);
  return call.isFlat === true ? content?.flat : content?.schema;
}

/** The call with only the resource as its body, if it is in a document of JSON:API. */
export function flatCall(call: Call): Call {
  const isWrapped = contentOf(call)?.flat !== undefined && call.isFlat !== true;
  return isWrapped ? { ...call, body: flatBody(call.body), isFlat: true } : call;
}

export function isSuccess({ response }: Pick<Exchange, 'response'>): boolean {
  return response.status >= 200 && response.status < 300;
}
