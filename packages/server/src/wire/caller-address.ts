import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import proxyAddr from 'proxy-addr';

/**
 * Returns a function that reads the IP address of the caller: that of the connection, or the one that trusted proxies name in
 * `X-Forwarded-For`.
 *
 * @param trusted the number of proxies, or their networks
 */
export function callerAddress(trusted: number | readonly string[]): (request: IncomingMessage) => string {
  if (trusted === 0) return ({ socket }) => socket.remoteAddress ?? '';
  const isTrusted =
    typeof trusted === 'number'
      ? (_address: string, index: number) => index < trusted
      : proxyAddr.compile([...trusted]);
  return (request) => {
    const named = proxyAddr(request, isTrusted) ?? '';
    if (isIP(named) !== 0) return named;
    // With a port, each connection would be another caller for all limits.
    const [, bracketed, plain = ''] = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d+)?$/.exec(named) ?? [];
    const address = bracketed ?? plain;
    return isIP(address) === 0 ? (request.socket.remoteAddress ?? '') : address;
  };
}
