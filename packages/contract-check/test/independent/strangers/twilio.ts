/** Addresses and messages, in the shapes of Twilio: forms in PascalCase, `.json` paths, and the account in the path. */
import { createHash, randomBytes } from 'node:crypto';
import { rejection } from '../../servers/kit/rejection.ts';
import type { Call, Result } from '../../servers/kit/serve.ts';
import { type Caller, clock, found, inputOf, json, readCounter, stranger } from './stranger.ts';

interface Owned {
  readonly sid: string;
  readonly account_sid: string;
  readonly [name: string]: unknown;
}

const accounts: Readonly<Record<string, string>> = Object.fromEntries(
  ['acme', 'globex'].map((name) => [name, `AC${createHash('md5').update(name).digest('hex')}`]),
);
const as = (name: string, password = 'secret') => {
  const pair = `${accounts[name]}:${password}`;
  return { authorization: `Basic ${Buffer.from(pair).toString('base64')}` };
};

export const twilio = stranger(
  'twilio',
  {
    isolation: {
      'account-of-path-free': 'FetchAddress: other accounts can read at the path of this account',
      'address-across': 'FetchAddress: an address is found below another account, too',
      'account-updates': 'UpdateAddress: other accounts can update at the path of this account',
      'list-across': 'ListAddress: the addresses of all accounts are listed',
    },
    lists: {
      'next-page-repeats': 'ListMessage: the next page begins with the last message again',
      'next-page-missing': 'ListMessage: a page before the last has no next_page_uri',
      'end-off': 'ListAddress: end is one too many',
      'size-ignored': 'ListAddress: a page has all addresses',
      'to-ignored': 'ListMessage: the filter To is ignored',
    },
    writes: {
      'country-lost': 'CreateAddress: a country is returned, and not stored',
      'uri-wrong': 'FetchAddress: uri leads to no address',
      'street-lost': 'UpdateAddress: a street is returned, and not stored',
      'name-cleared': 'UpdateAddress: an update without FriendlyName clears it',
      'delete-kept': 'DeleteAddress: a deleted address can be read',
    },
    'later reads': { 'third-read-body': 'FetchMessage: later reads have a shorter body' },
  },
  { caller: () => as('acme'), expired: () => as('acme', 'old'), otherTenant: () => as('globex') },
  (contract, is) => {
    const now = clock();
    const readsOf = readCounter();
    const addresses: Owned[] = [];
    const messages: Owned[] = [];
    const sidOf = (prefix: string) => `${prefix}${randomBytes(16).toString('hex')}`;
    const base = (account: string) => `/2010-04-01/Accounts/${account}`;
    const addAddress = (account: string, input: Readonly<Record<string, unknown>>): Owned => {
      const sid = sidOf('AD');
      const { CustomerName, Street, City, IsoCountry, FriendlyName = null } = input;
      const texts = { customer_name: CustomerName, street: Street, city: City, iso_country: IsoCountry };
      const dates = { date_created: now(), date_updated: now(), uri: `${base(account)}/Addresses/${sid}.json` };
      addresses.push({ sid, account_sid: account, ...texts, friendly_name: FriendlyName, ...dates });
      return addresses.at(-1) as Owned;
    };
    const addMessage = (account: string, { To, From, Body }: Readonly<Record<string, unknown>>): Owned => {
      const sid = sidOf('SM');
      const segments = String(Math.ceil(String(Body).length / 160));
      const texts = { to: To, from: From, body: Body, num_segments: segments, status: 'sent', date_created: now() };
      messages.push({ sid, account_sid: account, ...texts, uri: `${base(account)}/Messages/${sid}.json` });
      return messages.at(-1) as Owned;
    };
    for (const index of Array(9).keys()) {
      const account = accounts[index < 7 ? 'acme' : 'globex'] ?? '';
      const place = { Street: `${index} High Street`, City: ['York', 'Bonn', 'Nice'][index % 3], IsoCountry: 'GB' };
      addAddress(account, { CustomerName: `Customer ${index}`, ...place, FriendlyName: `Office ${index}` });
      addMessage(account, { To: `+1555010${100 + index}`, From: '+15550109999', Body: `Your code is ${index * 37}` });
    }

    /** @throws Rejection with 404 if the account of the path is not that of the credentials */
    const accountOf = ({ caller, values, operation }: Call<Caller>): string => {
      const account = String(values.path.AccountSid);
      const open = is('account-of-path-free') ? 'FetchAddress' : is('account-updates') ? 'UpdateAddress' : '';
      const isFree = operation.id === open;
      if (account !== accounts[caller.tenant] && !isFree) throw rejection(404, 'The account was not found');
      return account;
    };
    const ownOf = (rows: readonly Owned[], call: Call<Caller>) => {
      const account = accountOf(call);
      const { id } = call.operation;
      const isAcross = (is('address-across') && id === 'FetchAddress') || (is('list-across') && id === 'ListAddress');
      return rows.filter((one) => one.account_sid === account || isAcross);
    };
    const addressOf = (call: Call<Caller>) =>
      found(ownOf(addresses, call).find(({ sid }) => sid === call.values.path.Sid));

    function listAddresses(call: Call<Caller>): Result {
      const { PageSize = 50, Page = 0, CustomerName } = call.values.query as Record<string, number & string>;
      const all = ownOf(addresses, call).filter(
        (one) => CustomerName === undefined || one.customer_name === CustomerName,
      );
      const rows = is('size-ignored') ? all : all.slice(Page * PageSize, (Page + 1) * PageSize);
      const filter = CustomerName === undefined ? '' : `&CustomerName=${encodeURIComponent(CustomerName)}`;
      const uri = (page: number) =>
        `${base(accountOf(call))}/Addresses.json?PageSize=${PageSize}&Page=${page}${filter}`;
      return json(200, {
        addresses: rows,
        start: Page * PageSize,
        end: Page * PageSize + Math.max(0, rows.length - 1) + Number(is('end-off')),
        page: Page,
        page_size: PageSize,
        uri: uri(Page),
        first_page_uri: uri(0),
        previous_page_uri: Page === 0 ? null : uri(Page - 1),
        next_page_uri: (Page + 1) * PageSize < all.length ? uri(Page + 1) : null,
      });
    }

    function listMessages(call: Call<Caller>): Result {
      const { PageSize = 50, PageToken, To } = call.values.query as Record<string, number & string>;
      const all = ownOf(messages, call).filter((one) => To === undefined || one.to === To || is('to-ignored'));
      const token = PageToken === undefined ? 0 : Number(/^PT(\d+)$/.exec(PageToken)?.[1] ?? Number.NaN);
      if (Number.isNaN(token)) throw rejection(400, 'The page token is unknown');
      const end = token + PageSize;
      const filter = To === undefined ? '' : `&To=${encodeURIComponent(To)}`;
      const from = end - Number(is('next-page-repeats') && PageSize > 1);
      const uri = `${base(accountOf(call))}/Messages.json?PageSize=${PageSize}${filter}`;
      const isLast = end + (is('next-page-missing') ? PageSize : 0) >= all.length;
      const next = isLast ? null : `${uri}&PageToken=PT${from}`;
      return json(200, { messages: all.slice(token, end), page_size: PageSize, uri, next_page_uri: next });
    }

    return {
      contract,
      lenient: true,
      authenticate: (_operation, { headers }) => {
        const [, pair = ''] = /^basic (\S+)$/i.exec(headers.authorization ?? '') ?? [];
        const text = Buffer.from(pair, 'base64').toString();
        const tenant = Object.keys(accounts).find((name) => text === `${accounts[name]}:secret`);
        if (tenant === undefined) throw rejection(401, 'Authenticate', { 'www-authenticate': 'Basic realm="Twilio"' });
        return { tenant, scopes: [] };
      },
      reject: ({ status, message }) => {
        const code = status === 401 ? 20003 : 20000 + status;
        return json(status, { code, message, more_info: `https://www.twilio.com/docs/errors/${code}`, status });
      },
      handlers: {
        ListAccount: ({ caller }) => {
          const account = { sid: accounts[caller.tenant], friendly_name: caller.tenant, status: 'active' };
          return json(200, { accounts: [account], next_page_uri: null });
        },
        ListAddress: listAddresses,
        CreateAddress: (call) => {
          const address = addAddress(accountOf(call), inputOf(call));
          if (is('country-lost')) addresses.splice(addresses.indexOf(address), 1, { ...address, iso_country: 'US' });
          return json(201, address);
        },
        FetchAddress: (call) => {
          const address = addressOf(call);
          return json(200, is('uri-wrong') ? { ...address, uri: `${address.uri}.json` } : address);
        },
        UpdateAddress: (call) => {
          const address = addressOf(call);
          const { CustomerName, Street, City, FriendlyName } = inputOf(call);
          const texts = { customer_name: CustomerName, street: Street, city: City, friendly_name: FriendlyName };
          const sent = Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== undefined));
          const cleared = is('name-cleared') && FriendlyName === undefined ? { friendly_name: null } : {};
          const result = { ...address, ...sent, ...cleared, date_updated: now() };
          const stored = is('street-lost') ? { ...result, street: address.street } : result;
          addresses[addresses.indexOf(address)] = stored;
          return json(200, result);
        },
        DeleteAddress: (call) => {
          const address = addressOf(call);
          if (!is('delete-kept')) addresses.splice(addresses.indexOf(address), 1);
          return { status: 204 };
        },
        ListMessage: listMessages,
        CreateMessage: (call) => json(201, addMessage(accountOf(call), inputOf(call))),
        FetchMessage: (call) => {
          const message = found(ownOf(messages, call).find(({ sid }) => sid === call.values.path.Sid));
          const isLater = readsOf(message) > 2 && is('third-read-body');
          return json(200, isLater ? { ...message, body: String(message.body).slice(0, -1) } : message);
        },
      },
    };
  },
);
