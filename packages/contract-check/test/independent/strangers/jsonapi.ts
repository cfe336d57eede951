/** Loans of artworks, in the shapes of JSON:API: attributes, relationships, pages by number, links. */
import { rejection } from '../../servers/kit/rejection.ts';
import type { Call, Result } from '../../servers/kit/serve.ts';
import { bearerAuth, bearerCaller, type Caller, clock, found, type Input, inputOf, stranger } from './stranger.ts';

interface Row {
  readonly id: string;
  readonly attributes: Record<string, unknown>;
  /** Of a loan. */
  readonly artwork?: string;
}

interface Data {
  readonly id?: string;
  readonly attributes?: Input;
  readonly relationships?: { readonly artwork: { readonly data: { readonly id: string } } };
}

const next: Readonly<Record<string, readonly string[]>> = {
  requested: ['approved', 'declined'],
  approved: ['out', 'declined'],
  out: ['returned'],
  declined: [],
  returned: [],
};

export const jsonapi = stranger(
  'jsonapi',
  {
    paging: {
      'page-repeats': 'listArtworks: each further page begins with the last row of the page before',
      'total-stale': 'listArtworks: meta.total still counts deleted artworks',
      'next-on-last': 'listLoans: the last page has a link to a next page',
    },
    lists: {
      'deleted-in-filter': 'listLoans: filter[status] still finds deleted loans',
      'loans-of-others': 'listArtworkLoans: the loans of all artworks are listed',
      'medium-stale': 'listArtworks: filter[medium] finds an artwork by the medium that it was created with',
    },
    writes: {
      'artist-cleared': 'updateArtwork: PATCH clears artist if it is not sent',
      'condition-unstored': 'createArtwork: the default condition is returned, and fair is stored',
      'loan-of-first': 'createLoan: the loan refers to the first artwork',
      'unknown-artwork': 'createLoan: a loan of an artwork that does not exist is created',
      'count-stale': 'deleteLoan: loansCount of the artwork does not fall',
    },
    states: {
      'requested-returned': 'updateLoan: a requested loan can be returned',
      'out-not-returned': 'updateLoan: a loan that is out cannot be returned',
      'declined-reopened': 'updateLoan: a declined loan can be approved',
    },
    roles: {
      'insurance-read': 'showArtwork: insuranceValue is returned without collection:appraise',
      'insurance-written': 'updateArtwork: insuranceValue can be changed without collection:appraise',
      'delete-by-writers': 'deleteArtwork: collection:write suffices',
    },
    links: {
      'location-of-list': 'createLoan: Location is the URL of the list',
      'self-of-first': 'showArtwork: links.self is that of the first artwork',
      'id-conflict': 'updateArtwork: data.id of another artwork is accepted',
      'include-ignored': 'showLoan: include=artwork includes nothing',
    },
    'written later': {
      'descending-ignored': 'listArtworks: sort=-year ascends',
      'loan-stays': 'deleteLoan: a deleted loan stays',
      'returned-out': 'updateLoan: a returned loan can go out',
      'medium-lost': 'updateArtwork: medium is returned, and not stored',
      'size-off': 'listLoans: a page has one row more than page[size]',
    },
  },
  bearerAuth(['collection:read', 'collection:write', 'collection:admin', 'collection:appraise', 'loans:write'], 1),
  (contract, is) => {
    const now = clock();
    const artworks: Row[] = [];
    const loans: Row[] = [];
    const deletedLoans: Row[] = [];
    let deletedArtworks = 0;
    let count = 0;
    const mediumAtFirst = new Map<Row, unknown>();
    const addArtwork = (input: Input): Row => {
      const { title, artist = null, medium, year = null, condition = 'good', insuranceValue = null } = input;
      const row = {
        id: String(++count),
        attributes: { title, artist, medium, year, condition, insuranceValue, createdAt: now() },
      };
      mediumAtFirst.set(row, medium);
      artworks.push(row);
      return row;
    };
    const addLoan = ({ borrower, dueOn, note = null }: Input, artwork: string, status = 'requested'): Row => {
      const row = { id: String(++count), artwork, attributes: { borrower, dueOn, note, status } };
      loans.push(row);
      return row;
    };
    for (const [index, title] of ['Harbour', 'Two Chairs', 'Red Field', 'Untitled', 'The Mill', 'Dusk'].entries()) {
      const medium = ['oil', 'print', 'sculpture'][index % 3];
      const insuranceValue = 10_000 * (index + 1);
      addArtwork({ title, artist: `Artist ${index % 4}`, medium, year: 1890 + index * 13, insuranceValue });
    }
    for (const index of [0, 1, 2, 3, 4]) {
      const status = ['requested', 'approved', 'returned', 'declined', 'out'][index];
      addLoan({ borrower: `Museum ${index}`, dueOn: `2031-0${index + 1}-01` }, String(1 + (index % 2)), status);
    }

    const seesValues = ({ caller }: Call<Caller>) => caller.scopes.includes('collection:appraise');
    function artworkView(call: Call<Caller>, { id, attributes }: Row) {
      const { insuranceValue, ...others } = attributes;
      const loansCount =
        loans.filter(({ artwork }) => artwork === id).length +
        (is('count-stale') ? deletedLoans.filter(({ artwork }) => artwork === id).length : 0);
      const self = is('self-of-first') && call.operation.id === 'showArtwork' ? artworks[0]?.id : id;
      const shown = seesValues(call) || (is('insurance-read') && call.operation.id === 'showArtwork');
      return {
        type: 'artworks',
        id,
        attributes: { ...others, loansCount, ...(shown && { insuranceValue }) },
        links: { self: `${call.base}/artworks/${self}` },
      };
    }
    const loanView = (call: Call<Caller>, { id, artwork, attributes }: Row) => ({
      type: 'loans',
      id,
      attributes,
      relationships: { artwork: { data: { type: 'artworks', id: artwork } } },
      links: { self: `${call.base}/loans/${id}` },
    });
    const document = (status: number, body: unknown, headers: Record<string, string> = {}): Result => ({
      status,
      body,
      headers,
      mediaType: 'application/vnd.api+json',
    });

    function page(call: Call<Caller>, rows: readonly Row[], view: (call: Call<Caller>, row: Row) => unknown): Result {
      const { 'page[number]': number = 1, 'page[size]': size = 10 } = call.values.query as Record<string, number>;
      const isArtworks = call.operation.id === 'listArtworks';
      const repeats = is('page-repeats') && isArtworks && number > 1 ? 1 : 0;
      const extra = Number(is('size-off') && call.operation.id === 'listLoans');
      const data = rows.slice((number - 1) * size - repeats, number * size + extra).map((row) => view(call, row));
      const total = rows.length + (is('total-stale') && isArtworks ? deletedArtworks : 0);
      const pages = Math.max(1, Math.ceil(total / size));
      const linkTo = (to: number) => {
        const url = new URL(call.request.url, call.base);
        url.searchParams.set('page[number]', String(to));
        return url.href;
      };
      const hasNext = number < pages || (is('next-on-last') && call.operation.id === 'listLoans');
      const links = {
        self: linkTo(number),
        first: linkTo(1),
        prev: number > 1 ? linkTo(number - 1) : null,
        next: hasNext ? linkTo(number + 1) : null,
        last: linkTo(pages),
      };
      return document(200, { data, meta: { total, pages }, links });
    }

    const dataOf = (call: Call<Caller>) => inputOf(call).data as Data;
    const rowOf = (rows: readonly Row[], { values }: Call<Caller>) =>
      found(rows.find(({ id }) => id === values.path.id));
    function checkId(call: Call<Caller>, row: Row): void {
      const other = dataOf(call).id !== row.id;
      if (other && !(is('id-conflict') && call.operation.id === 'updateArtwork'))
        throw rejection(409, 'data.id is not the id of the URL', {}, '/data/id');
    }
    const checkValue = (call: Call<Caller>, input: Input) => {
      const isFree = is('insurance-written') && call.operation.id === 'updateArtwork';
      if (input.insuranceValue !== undefined && !seesValues(call) && !isFree)
        throw rejection(403, 'insuranceValue needs collection:appraise', {}, '/data/attributes/insuranceValue');
    };

    return {
      contract,
      lenient: true,
      invalid: 422,
      authenticate: (operation, request) =>
        bearerCaller(
          operation,
          request,
          is('delete-by-writers') && operation.id === 'deleteArtwork'
            ? (scopes) => scopes.includes('collection:write') || scopes.includes('collection:admin')
            : undefined,
        ),
      reject: ({ status, message, pointer }) =>
        document(status, {
          errors: [
            {
              status: String(status),
              title: message,
              ...(pointer !== undefined && pointer !== '' && { source: { pointer } }),
            },
          ],
        }),
      handlers: {
        listArtworks: (call) => {
          const { sort, 'filter[medium]': medium } = call.values.query;
          const mediumOf = (row: Row) => (is('medium-stale') ? mediumAtFirst.get(row) : row.attributes.medium);
          const rows = artworks.filter((row) => medium === undefined || mediumOf(row) === medium);
          if (typeof sort !== 'string') return page(call, rows, artworkView);
          const name = sort.replace('-', '');
          const sign = sort.startsWith('-') && !is('descending-ignored') ? -1 : 1;
          const keyOf = ({ attributes }: Row) => (attributes[name] ?? 0) as string | number;
          rows.sort((one, other) => {
            const [left, right] = [keyOf(one), keyOf(other)];
            return left === right ? Number(one.id) - Number(other.id) : left < right ? -sign : sign;
          });
          return page(call, rows, artworkView);
        },
        createArtwork: (call) => {
          const { attributes = {} } = dataOf(call);
          checkValue(call, attributes);
          const row = addArtwork(attributes);
          const data = artworkView(call, row);
          if (is('condition-unstored') && attributes.condition === undefined) row.attributes.condition = 'fair';
          return document(201, { data }, { location: `${call.base}/artworks/${row.id}` });
        },
        showArtwork: (call) => document(200, { data: artworkView(call, rowOf(artworks, call)) }),
        updateArtwork: (call) => {
          const row = rowOf(artworks, call);
          checkId(call, row);
          const { attributes = {} } = dataOf(call);
          checkValue(call, attributes);
          const { title, artist, medium, year, condition, insuranceValue } = attributes;
          const before = row.attributes.medium;
          const sent = { title, artist, medium, year, condition, insuranceValue };
          if (is('artist-cleared') && artist === undefined) sent.artist = null;
          Object.assign(row.attributes, Object.fromEntries(Object.entries(sent).filter(([, to]) => to !== undefined)));
          const data = artworkView(call, row);
          if (is('medium-lost')) row.attributes.medium = before;
          return document(200, { data });
        },
        deleteArtwork: (call) => {
          const row = rowOf(artworks, call);
          const own = loans.filter(({ artwork }) => artwork === row.id);
          if (own.some(({ attributes }) => ['approved', 'out'].includes(String(attributes.status))))
            throw rejection(409, 'A loan is approved or out');
          for (const loan of own) loans.splice(loans.indexOf(loan), 1);
          artworks.splice(artworks.indexOf(row), 1);
          deletedArtworks += 1;
          return { status: 204 };
        },
        listArtworkLoans: (call) => {
          const { id } = rowOf(artworks, call);
          return page(call, is('loans-of-others') ? loans : loans.filter(({ artwork }) => artwork === id), loanView);
        },
        listLoans: (call) => {
          const status = call.values.query['filter[status]'];
          if (status === undefined) return page(call, loans, loanView);
          const rows = [...loans, ...(is('deleted-in-filter') ? deletedLoans : [])];
          return page(
            call,
            rows.filter(({ attributes }) => attributes.status === status),
            loanView,
          );
        },
        createLoan: (call) => {
          const { attributes = {}, relationships } = dataOf(call);
          const id = String(relationships?.artwork.data.id);
          if (!artworks.some((one) => one.id === id) && !is('unknown-artwork'))
            throw rejection(404, 'The artwork does not exist', {}, '/data/relationships/artwork');
          const row = addLoan(attributes, is('loan-of-first') ? String(artworks[0]?.id) : id);
          const location = `${call.base}/loans${is('location-of-list') ? '' : `/${row.id}`}`;
          return document(201, { data: loanView(call, row) }, { location });
        },
        showLoan: (call) => {
          const row = rowOf(loans, call);
          const artwork = artworks.find(({ id }) => id === row.artwork);
          const isIncluded = call.values.query.include === 'artwork' && artwork !== undefined && !is('include-ignored');
          const included = isIncluded ? { included: [artworkView(call, artwork)] } : {};
          return document(200, { data: loanView(call, row), ...included });
        },
        updateLoan: (call) => {
          const row = rowOf(loans, call);
          checkId(call, row);
          const { borrower, dueOn, note, status } = dataOf(call).attributes ?? {};
          const from = String(row.attributes.status);
          const isMoved = status !== undefined && status !== from;
          const isTaken =
            (is('requested-returned') && from === 'requested' && status === 'returned') ||
            (is('returned-out') && from === 'returned' && status === 'out') ||
            (is('declined-reopened') && from === 'declined' && status === 'approved');
          const isRefused = is('out-not-returned') && from === 'out';
          if (isMoved && !isTaken && (isRefused || !next[from]?.includes(String(status))))
            throw rejection(409, `${from} cannot become ${status}`, {}, '/data/attributes/status');
          const sent = Object.entries({ borrower, dueOn, note, status }).filter(([, to]) => to !== undefined);
          Object.assign(row.attributes, Object.fromEntries(sent));
          return document(200, { data: loanView(call, row) });
        },
        deleteLoan: (call) => {
          const row = rowOf(loans, call);
          if (is('loan-stays')) return { status: 204 };
          loans.splice(loans.indexOf(row), 1);
          deletedLoans.push(row);
          return { status: 204 };
        },
      },
    };
  },
);
