import { Rejection } from '../../contract/rejection.ts';
import type { Service } from '../../entity/service.ts';
import { faultOf } from '../../wire/body.ts';
import type { Exchange } from '../../wire/exchange.ts';
import { privatePageHeaders } from '../../wire/page-style.ts';
import { type BytesResult, type PageResult, redirect } from '../../wire/result.ts';
import type { Route } from '../../wire/route.ts';
import { progressOf, toRejection } from '../failure.ts';
import { SignInPages } from '../sessions/index.ts';
import { actOnRow, actOnRows, formPage } from './action-pages.ts';
import {
  changeSetting,
  createdKeyPage,
  keysPage,
  requestPage,
  requestsPage,
  revoke,
  settingsPage,
} from './administration-pages.ts';
import { closePage } from './close-page.ts';
import { dataPage, listFile, listPage, searchPage } from './data-pages.ts';
import { retry, sentEventPage } from './delivery-pages.ts';
import { type ConsolePage, checkPart, plainPage, rejected } from './layout.ts';
import { overviewPage } from './overview-page.ts';
import { changeFirm, fileContent, firmPage, readPage } from './read-page.ts';
import { failedAt, failedBeside, pageOfForm, shownAt } from './results.ts';
import { rowPage } from './row-page.ts';
import { style } from './style.ts';
import type { ConsoleVisit } from './visit.ts';

type Shown = PageResult | BytesResult;
type Answer = string | ConsolePage | Shown | undefined;
type Handle = (visit: ConsoleVisit, ...parameters: string[]) => Answer | Promise<Answer>;
type Pattern = readonly [path: RegExp, handle: Handle, shownOn?: Handle];
type Patterns = readonly Pattern[];

/** Pages, or files; undefined if there is no such page. */
const pages: Patterns = [
  [/^$/, overviewPage],
  [/^\/requests$/, requestsPage],
  [/^\/requests\/([^/]+)$/, requestPage],
  [/^\/search$/, searchPage],
  [/^\/data$/, dataPage],
  [/^\/data\/([^/]+)\.csv$/, listFile],
  [/^\/data\/([^/]+)$/, listPage],
  [/^\/data\/([^/]+)\/new$/, (visit, type = '') => formPage(visit, type)],
  [/^\/data\/([^/]+)\/([^/]+)\/edit$/, (visit, type = '', id = '') => formPage(visit, type, id)],
  [/^\/data\/EventSubscription\/([^/]+)\/events\/([^/]+)$/, sentEventPage],
  [/^\/data\/([^/]+)\/([^/]+)\/(\w+)(?:\/(\w+))?$/, readPage],
  [/^\/data\/([^/]+)\/([^/]+)$/, rowPage],
  [/^\/files\/([^/]+)$/, fileContent],
  [/^\/close$/, closePage],
  [/^\/keys$/, keysPage],
  [/^\/settings$/, settingsPage],
  [/^\/(\w+)$/, firmPage],
];

/**
 * Forms. They return where the browser goes next, below the console, or a page that asks for more; undefined if there is no such form. One
 * that is rejected is shown again on its page, with what was entered.
 */
const forms: Patterns = [
  [/^\/data\/([^/]+)\/new$/, (visit, type = '') => actOnRow(visit, type, undefined, 'new')],
  [/^\/data\/([^/]+)\/selected\/(\w+)$/, actOnRows],
  [/^\/data\/EventSubscription\/([^/]+)\/deliveries\/([^/]+)\/retry$/, retry],
  [/^\/data\/([^/]+)\/([^/]+)\/(\w+)$/, actOnRow, rowPage],
  [/^\/keys$/, createdKeyPage, keysPage],
  [/^\/keys\/([^/]+)\/revoke$/, revoke, keysPage],
  [/^\/settings\/(\w+)$/, changeSetting, settingsPage],
  [/^\/(\w+)\/(\w+)$/, changeFirm, firmPage],
];

/** Pages on which the people of a firm see how it stands and do their work, with the rights that the API gives to the same roles. */
export function consoleRoutes(service: Service): readonly Route[] {
  const base = `${new URL(service.config.publicUrl).pathname.replace(/\/$/, '')}/console`;
  const signInPages = new SignInPages(service, base, plainPage, pageOfForm);
  return [
    {
      name: 'console',
      path: '/console/{page}',
      pattern: /^\/console(?:\/.*)?$/,
      methods: ['GET', 'HEAD', 'POST'],
      headers: privatePageHeaders(style.policy),
      isSameOrigin: true,
      handle: (exchange) => handle(service, base, signInPages, exchange),
      rejected: (problem, exchange) => failedBeside(base, problem, exchange.id),
    },
  ];
}

/** The steps of a request for a page, or of a form, in order. */
async function handle(service: Service, base: string, signIn: SignInPages, exchange: Exchange): Promise<Shown> {
  const path = decoded(exchange.path ?? '')
    .replace(/^\/console\/?/, '/')
    .replace(/\/$/, '');
  const entered = await signIn.enter(path, exchange);
  if ('kind' in entered) return entered;
  const { tenant, caller } = entered;
  const admitted = await service.admission.admit(exchange, tenant.name, caller.apiUserId);
  const query = new URLSearchParams(
    Object.entries(exchange.query).flatMap(([key, value]) => (typeof value === 'string' ? [[key, value]] : [])),
  );
  const visit: ConsoleVisit = { ...entered, service, exchange, admitted, base, query };
  try {
    checkPart(path, caller.roles);
    // Of a form that was too large to be read, only its page is shown.
    const isForm = exchange.method === 'POST' && !(visit.file instanceof Rejection);
    for (const pattern of isForm ? forms : pages) {
      const [match, ...parameters] = pattern[0].exec(path) ?? [];
      const result = match === undefined ? undefined : await answerOf(pattern, visit, parameters);
      if (typeof result === 'string') return redirect(`${base}${result}`);
      if (result !== undefined) return 'kind' in result ? result : shownAt(path, visit, result);
    }
    throw new Rejection('NOT_FOUND', 'The console has no such page.');
  } catch (error) {
    return failedAt(path, visit, toRejection(error, exchange.log, progressOf(exchange)));
  }
}

async function answerOf([, handle, shownOn]: Pattern, visit: ConsoleVisit, parameters: string[]): Promise<Answer> {
  try {
    return await handle(visit, ...parameters);
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    const page = await shownOn?.(visit, ...parameters);
    if (typeof page !== 'object' || 'kind' in page) throw error;
    return { ...page, notice: rejected(error), status: error.status };
  }
}

/** A path that is not encoded correctly, or has characters that cannot be stored, has no page. */
function decoded(path: string): string {
  const nowhere = '/console/of/no/page/at/all';
  try {
    const text = decodeURIComponent(path);
    return faultOf(text) === undefined ? text : nowhere;
  } catch {
    return nowhere;
  }
}
