/** Repositories and issues, in the shapes of GitHub: paths by owner and name, Link headers, labels, conditional reads. */
import { rejection } from '../../servers/kit/rejection.ts';
import type { Call, Result } from '../../servers/kit/serve.ts';
import {
  bearerAuth,
  bearerCaller,
  type Caller,
  clock,
  found,
  type Input,
  inputOf,
  json,
  stranger,
} from './stranger.ts';

interface Repository {
  readonly id: number;
  readonly owner: string;
  readonly name: string;
  description: unknown;
  private: unknown;
  has_issues: unknown;
  readonly created_at: string;
  updated_at: string;
}

interface Issue {
  readonly id: number;
  readonly repository: Repository;
  readonly number: number;
  readonly author: string;
  title: unknown;
  body: unknown;
  state: string;
  state_reason: unknown;
  labels: string[];
  locked: boolean;
  closed_at: string | null;
  readonly created_at: string;
  updated_at: string;
  version: number;
}

interface Comment {
  readonly id: number;
  readonly issue: Issue;
  readonly author: string;
  body: unknown;
  readonly created_at: string;
  updated_at: string;
}

export const github = stranger(
  'github',
  {
    paging: {
      'link-without-next': 'issues/list-for-repo: no Link has rel="next"',
      'page-skips': 'issues/list-for-repo: each further page skips a row',
      'per-page-ignored': 'repos/list-for-authenticated-user: per_page is ignored',
    },
    lists: {
      'closed-among-open': 'issues/list-for-repo: closed issues are listed by default',
      'closed-not-in-all': 'issues/list-for-repo: state=all lists no closed issue',
      'labels-any': 'issues/list-for-repo: an issue with one of several labels is listed',
      'direction-ignored': 'issues/list-for-repo: direction=asc is ignored',
      'public-shows-private': 'repos/list-for-authenticated-user: visibility=public lists private repositories',
    },
    'conditional reads': {
      'etag-kept': 'issues/update: the ETag stays',
      'none-match-ignored': 'issues/get: If-None-Match is ignored',
    },
    writes: {
      'closed-at-missing': 'issues/update: a closed issue has no closed_at',
      'reopen-keeps-closed': 'issues/update: state: open is returned, and not stored',
      'body-cleared': 'issues/update: PATCH clears body if it is not sent',
      'has-issues-unstored': 'repos/create-for-authenticated-user: the default of has_issues is not stored',
      'lock-lost': 'issues/lock: locked stays false',
      'labels-added': 'issues/set-labels: earlier labels stay',
      'label-lost': 'issues/add-labels: added labels are returned, and not stored',
      'all-labels-removed': 'issues/remove-label: all labels are removed',
      'comments-stale': 'issues/delete-comment: comments of the issue does not fall',
      'open-count-stale': 'issues/update: open_issues_count still counts closed issues',
    },
    deletions: {
      'deleted-twice': 'repos/delete: a deleted repository can be deleted again',
      'issues-left': 'repos/delete: the issues of a deleted repository can still be read',
      'location-of-first': 'issues/create: Location is that of issue 1',
    },
    roles: {
      'delete-by-repo': 'repos/delete: the scope repo suffices',
      'foreign-comments': 'issues/list-comments: the comments of a private repository of others are listed',
      'foreign-403': 'issues/get: an issue of others is returned as 403',
    },
    'written later': {
      'comment-lost': 'issues/update-comment: a comment is returned, and not stored',
      'unlock-lost': 'issues/unlock: locked stays true',
      'private-shown': 'repos/get: private repositories of others are returned',
      'labels-ignored': 'issues/list-for-repo: the filter labels is ignored',
      'updated-at-kept': 'issues/update: updated_at stays',
    },
  },
  bearerAuth(['repo', 'delete_repo'], 2),
  (contract, is) => {
    const now = clock();
    const repositories: Repository[] = [];
    const issues: Issue[] = [];
    const comments: Comment[] = [];
    const deleted: Repository[] = [];
    const deletedComments: Comment[] = [];
    let count = 0;
    const addRepository = (owner: string, input: Input): Repository => {
      const { name, description = null, private: isPrivate = false, has_issues = true } = input;
      const time = now();
      const base = { id: ++count, owner, name: String(name), description, private: isPrivate, has_issues };
      const repository = { ...base, created_at: time, updated_at: time };
      repositories.push(repository);
      return repository;
    };
    const unique = (labels: unknown) => [...new Set((labels ?? []) as string[])];
    const addIssue = (repository: Repository, { title, body = null, labels }: Input, author: string): Issue => {
      const time = now();
      const number = issues.filter((one) => one.repository === repository).length + 1;
      const base = { id: ++count, repository, number, author, title, body, state: 'open', state_reason: null };
      const times = { closed_at: null, created_at: time, updated_at: time };
      const issue = { ...base, labels: unique(labels), locked: false, ...times, version: 1 };
      issues.push(issue);
      return issue;
    };
    const close = (issue: Issue, reason: unknown = 'completed') => {
      const closed_at = is('closed-at-missing') ? null : now();
      Object.assign(issue, { state: 'closed', state_reason: reason ?? 'completed', closed_at });
    };
    for (const name of ['compass', 'atlas', 'sextant'])
      addRepository('acme', { name, description: `The ${name}`, private: name !== 'atlas' });
    addRepository('globex', { name: 'chart', private: true });
    for (const repository of [...repositories]) {
      for (const index of [0, 1, 2, 3, 4]) {
        const labels = index % 2 === 0 ? ['bug'] : ['bug', 'question'];
        const issue = addIssue(repository, { title: `Issue ${index}`, body: 'It fails.', labels }, repository.owner);
        if (index === 3) close(issue);
        const base = { issue, author: repository.owner, body: 'Same here.' };
        const time = now();
        comments.push({ id: ++count, ...base, created_at: time, updated_at: time });
      }
    }

    const userOf = (login: string) => ({ login, id: login.length });
    const repositoryView = (one: Repository) => ({
      ...one,
      owner: userOf(one.owner),
      full_name: `${one.owner}/${one.name}`,
      open_issues_count: issues.filter(
        ({ repository, state }) => repository === one && (state === 'open' || is('open-count-stale')),
      ).length,
    });
    const labelView = (name: string) => ({ name, color: 'ededed' });
    const issueView = ({ repository: _repository, author, version: _version, labels, ...issue }: Issue) => ({
      ...issue,
      labels: labels.map(labelView),
      user: userOf(author),
      comments: [...comments, ...(is('comments-stale') ? deletedComments : [])].filter(
        (one) => one.issue.id === issue.id,
      ).length,
    });
    const commentView = ({ issue: _issue, author, ...comment }: Comment) => ({ ...comment, user: userOf(author) });

    function repositoryOf({ values, caller, operation }: Call<Caller>): Repository {
      const { owner, repo } = values.path;
      const all = [...repositories, ...(is('issues-left') && operation.id === 'issues/get' ? deleted : [])];
      const one = found(all.find((one) => one.owner === owner && one.name === repo));
      const isWrite = operation.method !== 'GET';
      const isHidden = one.owner !== caller.tenant && (one.private === true || isWrite);
      if (is('private-shown') && operation.id === 'repos/get') return one;
      if (!isHidden || (is('foreign-comments') && operation.id === 'issues/list-comments')) return one;
      throw rejection(is('foreign-403') && operation.id === 'issues/get' ? 403 : 404, 'Not Found');
    }
    const issueOf = (call: Call<Caller>) => {
      const repository = repositoryOf(call);
      return found(issues.find((one) => one.repository === repository && one.number === call.values.path.issue_number));
    };
    const commentOf = (call: Call<Caller>) => {
      const repository = repositoryOf(call);
      return found(
        comments.find((one) => one.issue.repository === repository && one.id === call.values.path.comment_id),
      );
    };
    const touch = (issue: Issue) => {
      if (!is('etag-kept')) issue.version += 1;
      if (!is('updated-at-kept')) issue.updated_at = now();
    };

    function page<Row>(call: Call<Caller>, rows: readonly Row[], view: (row: Row) => unknown): Result {
      const { per_page: wanted = 30, page = 1 } = call.values.query as Record<string, number>;
      const { id } = call.operation;
      const size = is('per-page-ignored') && id === 'repos/list-for-authenticated-user' ? 30 : wanted;
      const skipped = Number(is('page-skips') && id === 'issues/list-for-repo' && page > 1);
      const last = Math.max(1, Math.ceil(rows.length / size));
      const linkTo = (to: number, rel: string) => {
        const url = new URL(call.request.url, call.base);
        url.searchParams.set('page', String(to));
        return `<${url.href}>; rel="${rel}"`;
      };
      const hasNext = page < last && !(is('link-without-next') && id === 'issues/list-for-repo');
      const links = [
        ...(page > 1 ? [linkTo(page - 1, 'prev')] : []),
        ...(hasNext ? [linkTo(page + 1, 'next')] : []),
        ...(page < last ? [linkTo(last, 'last')] : []),
        ...(page > 1 ? [linkTo(1, 'first')] : []),
      ];
      const body = rows.slice((page - 1) * size + skipped, page * size + skipped).map(view);
      return json(200, body, links.length > 0 ? { link: links.join(', ') } : {});
    }

    function listIssues(call: Call<Caller>): Result {
      const repository = repositoryOf(call);
      const { state = 'open', labels = '', sort = 'created', direction = 'desc' } = call.values.query;
      const isState = (issue: Issue) => {
        if (state === 'all') return issue.state === 'open' || !is('closed-not-in-all');
        return issue.state === state || (is('closed-among-open') && state === 'open');
      };
      const wanted = String(labels)
        .split(',')
        .filter((label) => label !== '');
      const hasLabels = (issue: Issue) =>
        wanted.length === 0 ||
        is('labels-ignored') ||
        (is('labels-any')
          ? wanted.some((label) => issue.labels.includes(label))
          : wanted.every((label) => issue.labels.includes(label)));
      const keyOf = (issue: Issue) =>
        sort === 'comments' ? issueView(issue).comments : sort === 'updated' ? issue.updated_at : issue.created_at;
      const sign = direction === 'asc' && !is('direction-ignored') ? 1 : -1;
      const rows = issues
        .filter((issue) => issue.repository === repository && isState(issue) && hasLabels(issue))
        .sort((one, other) => {
          const [left, right] = [keyOf(one), keyOf(other)];
          return left === right ? sign * (one.id - other.id) : left < right ? -sign : sign;
        });
      return page(call, rows, issueView);
    }

    function setLabels(call: Call<Caller>, labelsFor: (issue: Issue, sent: string[]) => string[]): Result {
      const issue = issueOf(call);
      const labels = labelsFor(issue, unique(inputOf(call).labels));
      if (!(is('label-lost') && call.operation.id === 'issues/add-labels')) issue.labels = labels;
      touch(issue);
      return json(200, labels.map(labelView));
    }

    const lock =
      (locked: boolean) =>
      (call: Call<Caller>): Result => {
        const issue = issueOf(call);
        issue.locked = (locked && !is('lock-lost')) || (is('unlock-lost') && issue.locked);
        touch(issue);
        return { status: 204 };
      };

    return {
      contract,
      lenient: true,
      invalid: 422,
      authenticate: (operation, request) =>
        bearerCaller(
          operation,
          request,
          is('delete-by-repo') && operation.id === 'repos/delete'
            ? (scopes) => scopes.includes('repo') || scopes.includes('delete_repo')
            : undefined,
        ),
      reject: ({ status, message, pointer }, operation) => {
        const documentation_url = 'https://docs.hub.example/rest';
        // Invalid values of the query are 422, those of the path are 404.
        const isPath = message.startsWith('path') || !operation?.responses.has('422');
        const isInvalid = status === 400 && (isPath || operation?.method === 'GET');
        const own = isInvalid ? (isPath ? 404 : 422) : status;
        const errors = own === 422 ? { errors: [{ code: 'invalid', field: pointer ?? '', message }] } : {};
        return json(own, { message, documentation_url, ...(own !== 422 && { status: String(own) }), ...errors });
      },
      handlers: {
        'repos/list-for-authenticated-user': (call) => {
          const { visibility = 'all' } = call.values.query;
          const rows = repositories.filter(
            ({ owner, private: isPrivate }) =>
              owner === call.caller.tenant &&
              (visibility === 'all' ||
                isPrivate === (visibility === 'private') ||
                (is('public-shows-private') && visibility === 'public')),
          );
          return page(call, rows, repositoryView);
        },
        'repos/create-for-authenticated-user': (call) => {
          const { tenant } = call.caller;
          const input = inputOf(call);
          if (repositories.some(({ owner, name }) => owner === tenant && name === input.name))
            throw rejection(422, 'name already exists on this account', {}, 'name');
          const repository = addRepository(tenant, input);
          const view = repositoryView(repository);
          if (is('has-issues-unstored') && input.has_issues === undefined) repository.has_issues = false;
          return json(201, view, { location: `${call.base}/repos/${view.full_name}` });
        },
        'repos/get': (call) => json(200, repositoryView(repositoryOf(call))),
        'repos/update': (call) => {
          const repository = repositoryOf(call);
          const { description, private: isPrivate, has_issues } = inputOf(call);
          if (description !== undefined) repository.description = description;
          if (isPrivate !== undefined) repository.private = isPrivate;
          if (has_issues !== undefined) repository.has_issues = has_issues;
          repository.updated_at = now();
          return json(200, repositoryView(repository));
        },
        'repos/delete': (call) => {
          const { owner, repo } = call.values.path;
          const wasDeleted = deleted.some((one) => one.owner === owner && one.name === repo);
          if (is('deleted-twice') && wasDeleted && owner === call.caller.tenant) return { status: 204 };
          const repository = repositoryOf(call);
          repositories.splice(repositories.indexOf(repository), 1);
          deleted.push(repository);
          return { status: 204 };
        },
        'issues/list-for-repo': listIssues,
        'issues/create': (call) => {
          const issue = addIssue(repositoryOf(call), inputOf(call), call.caller.tenant);
          const { owner, name } = issue.repository;
          const number = is('location-of-first') ? 1 : issue.number;
          return json(201, issueView(issue), { location: `${call.base}/repos/${owner}/${name}/issues/${number}` });
        },
        'issues/get': (call) => {
          const issue = issueOf(call);
          const etag = `W/"${issue.id}-${issue.version}-${issueView(issue).comments}"`;
          const known = (call.request.headers['if-none-match'] ?? '').split(',').map((tag) => tag.trim());
          if ((known.includes(etag) || known.includes('*')) && !is('none-match-ignored'))
            return { status: 304, headers: { etag } };
          return json(200, issueView(issue), { etag });
        },
        'issues/update': (call) => {
          const issue = issueOf(call);
          const { title, body, state, state_reason: reason, labels } = inputOf(call);
          if (title !== undefined) issue.title = title;
          if (body !== undefined || is('body-cleared')) issue.body = body ?? null;
          if (labels !== undefined) issue.labels = unique(labels);
          if (state === 'closed' && issue.state === 'open') close(issue, reason);
          let result = issueView(issue);
          if (state === 'open' && issue.state === 'closed') {
            const reopened = { state: 'open', state_reason: 'reopened', closed_at: null };
            result = { ...result, ...reopened };
            if (!is('reopen-keeps-closed')) Object.assign(issue, reopened);
          }
          touch(issue);
          return json(200, { ...result, updated_at: issue.updated_at });
        },
        'issues/lock': lock(true),
        'issues/unlock': lock(false),
        'issues/list-labels-on-issue': (call) => json(200, issueOf(call).labels.map(labelView)),
        'issues/add-labels': (call) => setLabels(call, ({ labels }, sent) => unique([...labels, ...sent])),
        'issues/set-labels': (call) =>
          setLabels(call, ({ labels }, sent) => (is('labels-added') ? unique([...labels, ...sent]) : sent)),
        'issues/remove-all-labels': (call) => {
          setLabels(call, () => []);
          return { status: 204 };
        },
        'issues/remove-label': (call) => {
          const { name } = call.values.path;
          found(issueOf(call).labels.find((label) => label === name));
          return setLabels(call, ({ labels }) =>
            is('all-labels-removed') ? [] : labels.filter((label) => label !== name),
          );
        },
        'issues/list-comments': (call) => {
          const issue = issueOf(call);
          return page(
            call,
            comments.filter((one) => one.issue === issue),
            commentView,
          );
        },
        'issues/create-comment': (call) => {
          const issue = issueOf(call);
          if (issue.locked) throw rejection(403, 'The issue is locked.');
          const time = now();
          const base = { id: ++count, issue, author: call.caller.tenant, body: inputOf(call).body };
          const comment = { ...base, created_at: time, updated_at: time };
          comments.push(comment);
          const { owner, name } = issue.repository;
          const location = `${call.base}/repos/${owner}/${name}/issues/comments/${comment.id}`;
          return json(201, commentView(comment), { location });
        },
        'issues/get-comment': (call) => json(200, commentView(commentOf(call))),
        'issues/update-comment': (call) => {
          const comment = commentOf(call);
          const { body } = inputOf(call);
          if (!is('comment-lost')) comment.body = body;
          comment.updated_at = now();
          return json(200, { ...commentView(comment), body });
        },
        'issues/delete-comment': (call) => {
          const comment = commentOf(call);
          comments.splice(comments.indexOf(comment), 1);
          deletedComments.push(comment);
          return { status: 204 };
        },
      },
    };
  },
);
