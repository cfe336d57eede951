import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { atEnd } from './at-end.ts';

/** The credentials that the server accepts. */
export const s3Credentials = { accessKeyId: 'AKIATEST', secretAccessKey: 'a secret of the test' };

export interface S3Server {
  readonly endpoint: string;
  /** By bucket and key. */
  readonly objects: Map<string, Buffer>;
  /** Interrupts the next upload after half of its bytes. */
  breakNextUpload(): void;
}

/**
 * Starts a server with the part of the S3 protocol that the service uses, written from the public description of AWS
 * Signature Version 4: every request must be signed with the credentials, over its method, path, query, signed headers
 * and content.
 */
export async function startS3(bucket: string): Promise<S3Server> {
  const objects = new Map<string, Buffer>();
  let breaksNext = false;
  const server = createServer((request, response) => {
    respond(request, response).catch((error: unknown) => fail(response, 500, 'InternalError', String(error)));
  });
  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === 'PUT' && breaksNext) {
      breaksNext = false;
      request.once('data', () => request.destroy());
      return;
    }
    const body = await buffer(request);
    const fault = faultOf(request, body);
    if (fault !== undefined) return fail(response, 403, 'SignatureDoesNotMatch', fault);
    const url = new URL(request.url ?? '', 'http://server');
    const [, named, ...key] = decodeURIComponent(url.pathname).split('/');
    if (named !== bucket) return fail(response, 404, 'NoSuchBucket', 'The bucket does not exist.');
    const name = key.join('/');
    if (request.method === 'PUT') {
      const sent = request.headers['x-amz-checksum-sha256'];
      if (sent !== undefined && sent !== createHash('sha256').update(body).digest('base64'))
        return fail(response, 400, 'BadDigest', 'The content has another checksum.');
      objects.set(name, body);
      return void response.writeHead(200, { ETag: '"1"' }).end();
    }
    if (request.method === 'DELETE') {
      objects.delete(name);
      return void response.writeHead(204).end();
    }
    if (url.searchParams.get('list-type') === '2') {
      const prefix = url.searchParams.get('prefix') ?? '';
      const most = Number(url.searchParams.get('max-keys') ?? 1_000);
      const keys = [...objects.keys()].filter((one) => one.startsWith(prefix)).slice(0, most);
      const found = keys.map((one) => `<Contents><Key>${one}</Key></Contents>`).join('');
      const list = `<ListBucketResult><KeyCount>${keys.length}</KeyCount>${found}</ListBucketResult>`;
      return void response.writeHead(200, { 'Content-Type': 'application/xml' }).end(list);
    }
    const object = objects.get(name);
    if (object === undefined) return fail(response, 404, 'NoSuchKey', 'The object does not exist.');
    const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '');
    if (range === null) return void response.writeHead(200, { 'Content-Length': object.length }).end(object);
    const [start, end] = [Number(range[1]), Number(range[2])];
    const part = object.subarray(start, end + 1);
    const headers = { 'Content-Length': part.length, 'Content-Range': `bytes ${start}-${end}/${object.length}` };
    response.writeHead(206, headers).end(part);
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(() => new Promise((resolve) => server.close(resolve).closeAllConnections()));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    objects,
    breakNextUpload() {
      breaksNext = true;
    },
  };
}

function fail(response: ServerResponse, status: number, code: string, message: string): void {
  response
    .writeHead(status, { 'Content-Type': 'application/xml' })
    .end(`<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`);
}

const header =
  /^AWS4-HMAC-SHA256 Credential=(?<id>[^/]+)\/(?<day>\d{8})\/(?<region>[^/]+)\/s3\/aws4_request, SignedHeaders=(?<names>[^,]+), Signature=(?<signature>[0-9a-f]{64})$/;

/** Returns the error of a request's signature, or undefined. */
function faultOf(request: IncomingMessage, body: Buffer): string | undefined {
  const parts = header.exec(request.headers.authorization ?? '')?.groups;
  if (parts === undefined) return 'The request is not signed.';
  const { id, day = '', region = '', names = '', signature = '' } = parts;
  if (id !== s3Credentials.accessKeyId) return 'The access key does not exist.';
  const time = String(request.headers['x-amz-date']);
  if (!time.startsWith(day) || Math.abs(Date.now() - parseTime(time)) > 15 * 60_000) return 'The request is too old.';
  const contentHash = String(request.headers['x-amz-content-sha256']);
  const hash = createHash('sha256').update(body).digest('hex');
  if (contentHash !== hash && contentHash !== 'UNSIGNED-PAYLOAD') return 'The content is not what was signed.';
  const signed = names.split(';');
  if (!signed.includes('host') || !signed.includes('x-amz-date')) return 'Host and date are not signed.';
  const url = new URL(request.url ?? '', 'http://server');
  const query = [...url.searchParams].map(([name, value]) => `${encode(name)}=${encode(value)}`).toSorted();
  const canonical = [
    request.method,
    url.pathname,
    query.join('&'),
    ...signed.map((name) => `${name}:${String(request.headers[name]).trim().replaceAll(/ +/g, ' ')}`),
    '',
    names,
    contentHash,
  ].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', time, scope, createHash('sha256').update(canonical).digest('hex')].join('\n');
  let key: string | Buffer = `AWS4${s3Credentials.secretAccessKey}`;
  for (const step of [day, region, 's3', 'aws4_request']) key = createHmac('sha256', key).update(step).digest();
  const expected = createHmac('sha256', key).update(text).digest();
  return timingSafeEqual(expected, Buffer.from(signature, 'hex')) ? undefined : 'The signature does not match.';
}

function encode(text: string): string {
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** `20260908T163120Z` */
function parseTime(time: string): number {
  return Date.parse(time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
}
