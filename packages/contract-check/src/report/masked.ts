import type { Finding } from '../finding/finding.ts';
import type { Exchange } from '../http/call.ts';
import { Mask, type Piece, type Secret, shown } from '../http/mask.ts';
import { mapped } from '../json.ts';
import type { Report } from '../run/report.ts';
import { assigned, curlOf } from './curl.ts';

export interface Presentation {
  readonly secrets?: readonly Secret[];
}

/** A report without secrets, as it is written as JSON. Every format shows only this. */
export interface MaskedReport extends Omit<Report, 'findings'> {
  readonly findings: readonly MaskedFinding[];
}

export interface MaskedFinding extends Omit<Finding, 'exchanges' | 'setup'> {
  /** Commands that create what the requests need. */
  readonly setup: readonly string[];
  readonly exchanges: readonly MaskedExchange[];
}

export interface MaskedExchange {
  readonly curl: string;
  readonly request: Exchange['request'];
  /** Status 0 means that no response was received. */
  readonly response: Pick<Exchange['response'], 'status' | 'headers' | 'milliseconds'> & { readonly body: string };
}

/** The only way from a report to an output: masks every text of it. */
export function masked(report: Report, secrets: readonly Secret[] = []): MaskedReport {
  const { findings, ...others } = report;
  const mask = new Mask(
    secrets,
    findings.flatMap(({ exchanges }) => exchanges),
  );
  const withoutSecrets = <Value>(value: Value): Value =>
    mapped(value, (one) => (typeof one === 'string' ? mask.text(one) : one)) as Value;
  return {
    ...withoutSecrets(others),
    findings: findings.map(({ exchanges, setup = [], ...finding }) => {
      const needed = setup.flatMap(({ id }) => id ?? []);
      const variables = new Map(needed.map((id, index) => [id, index === 0 ? 'ID' : `ID_${index + 1}`]));
      const ids = [...variables].map(([value, variable]) => ({ value, variable }));
      const all = [...exchanges, ...setup.map((one) => one.exchange)];
      const withIds = ids.length === 0 ? mask : new Mask(secrets, all, ids);
      // What a request of the finding creates is named by its response.
      const created = new Map(setup.map((one) => [one.exchange.request, one]));
      const commandOf = (exchange: Exchange) => {
        const { id, body = exchange.request.body } = created.get(exchange.request) ?? {};
        // Where the body names what it creates, the variable is not assigned yet.
        const before =
          id === undefined
            ? withIds
            : new Mask(
                secrets,
                all,
                ids.filter(({ value }) => value !== id),
              );
        const command = curlOf({ ...exchange, request: { ...exchange.request, body } }, before);
        const variable = id === undefined ? undefined : variables.get(id);
        return id === undefined || variable === undefined
          ? command
          : assigned(command, variable, id, exchange.response);
      };
      const isShown = (one: Exchange) => exchanges.some(({ request }) => request === one.request);
      return {
        ...withoutSecrets(finding),
        setup: setup.filter((one) => !isShown(one.exchange)).map((one) => commandOf(one.exchange)),
        exchanges: exchanges.map((one) => ({ ...maskedExchange(one, mask), curl: commandOf(one) })),
      };
    }),
  };
}

export function maskedExchange(exchange: Exchange, mask: Mask): MaskedExchange {
  const { url, headers, body, responseHeaders, responseBody } = mask.pieces(exchange);
  const inHeaders = (pairs: readonly (readonly [string, Piece[]])[]) =>
    Object.fromEntries(pairs.map(([name, pieces]) => [name, shown(pieces)]));
  const { method } = exchange.request;
  const { status, milliseconds } = exchange.response;
  return {
    curl: curlOf(exchange, mask),
    request: { method, url: shown(url), headers: inHeaders(headers), body: body && shown(body) },
    response: { status, headers: inHeaders(responseHeaders), body: shown(responseBody), milliseconds },
  };
}
