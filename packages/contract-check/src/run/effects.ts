import type { OpenApiDocument } from '../document/document.ts';
import { extensionOf, lastSegment, type Operation, pathParameter, readAt, safeMethods } from '../document/operation.ts';
import { shapeOf, wholeShapeOf } from '../document/shape.ts';
import type { JsonObject } from '../json.ts';
import {
  collectionPath,
  hasRows,
  isCreating,
  isPutCreation,
  itemOf,
  keyOfName,
  kindOfPath,
  kindOfReference,
  kindsOfOperation,
  pathNames,
  rowsOf,
  singular,
  wordsOf,
} from './names.ts';
import { type Effect, effects } from './report.ts';

export interface Judgement {
  readonly effect: Effect;
  readonly why: string;
  /** Whether it is proven that a call leaves alone what was there before. Only then is it called without `disposable`. */
  readonly isSafe: boolean;
}

/** Words of the operation ID of a creation. One that does not declare 201 must have one of them. */
const creatingWords = /^(?:create|add|new|register|insert)$/;
/** Words of an operation ID that say that a call does something else, or more, than to create. */
const changingWords =
  /^(?:update|upsert|patch|edit|set|replace|merge|delete|remove|cancel|archive|restore|reset|send|submit|apply|assign|attach|start|stop|run|execute|trigger|import|manage|invite|charge|pay|refund|transfer|purchase|buy)$/;
/** What reaches people and systems elsewhere, or does something to what exists, although it is stored as a resource. */
const actingNouns =
  /^(?:action|broadcast|call|card|challenge|charge|check|collaboration|command|email|incident|invitation|invite|ip|message|monitor|notification|number|participant|payment|payout|purchase|refund|request|send|sender|sms|suppression|teammate|transfer|verification)s?$/;
/** What is in such a list decides who has access. */
const accessList = /(?:allow|block|deny|white|black|wait)[-_]?list[^/]*$/i;
/** A key by which a caller names a resource, which can exist. */
const ownKey = /^(?:id|external_?id)$/i;

/** Judges the operations of a document by their methods, paths and responses. What is not proven to be harmless is not safe. */
export class Effects {
  readonly #document: OpenApiDocument;
  readonly #operations: readonly Operation[];
  readonly #creations: readonly Operation[];
  readonly #known = new Map<Operation, Judgement>();

  constructor(document: OpenApiDocument, operations: readonly Operation[]) {
    this.#document = document;
    this.#operations = operations;
    this.#creations = operations.filter((operation) => this.#isCreation(operation));
  }

  of(operation: Operation): Judgement {
    const known = this.#known.get(operation);
    if (known !== undefined) return known;
    // A creation that needs itself is not safe.
    this.#known.set(operation, unproven('irreversible', 'nothing creates what its path names'));
    const judgement = this.#judge(operation);
    this.#known.set(operation, judgement);
    return judgement;
  }

  /** The parameters of a path that name resources. Words of an enum do not. */
  resourcesIn(operation: Operation): string[] {
    return pathNames(operation.path).filter((name) => {
      const parameter = pathParameter(operation, name);
      return parameter === undefined || shapeOf(this.#document, parameter.schema).enum === undefined;
    });
  }

  #judge(operation: Operation): Judgement {
    const { method, path, node } = operation;
    const extension = extensionOf(node);
    const declared = effects.find((effect) => effect === extension.effect);
    if (declared !== undefined) {
      const isSafe = declared !== 'change existing' && declared !== 'irreversible';
      return { effect: declared, why: 'x-contract-check says so', isSafe };
    }
    if (operation.isReading && extension.safe === false) return unproven('irreversible', 'x-contract-check: not safe');
    if (safeMethods.includes(method)) return proven('read', `${method} only reads`);
    const [named] = this.resourcesIn(operation);
    if (operation.isReading) {
      const why = `"${lastSegment(path)}" reads`;
      return named === undefined ? proven('read', why) : unproven('read', `${why}, but {${named}} may change`);
    }
    if (this.#creations.includes(operation)) return this.#creating(operation);
    const name = this.resourcesIn(operation).at(-1);
    const [owner] = name === undefined ? [] : this.#creatorsFor(operation, name);
    if (owner !== undefined) {
      const why = `${owner.id} creates what it changes`;
      if (!this.of(owner).isSafe) return unproven('change own', `only ${why}, which is not called`);
      const isAction = method === 'POST' && readAt(this.#operations, path) === undefined;
      return isAction
        ? unproven('change own', `what it does to what ${owner.id} creates can reach others`)
        : proven('change own', why);
    }
    const read = readAt(this.#operations, path);
    const isSetting =
      read !== undefined && method !== 'DELETE' && (method !== 'POST' || !hasRows(this.#document, read));
    if (isSetting) return unproven('change existing', `nothing creates what ${read.id} reads`);
    return unproven(
      'irreversible',
      method === 'POST' ? 'it neither reads nor creates, as far as is known' : 'nothing creates what its path names',
    );
  }

  /** A creation changes nothing else if its result can be read back, and if the run created everything that its path names. */
  #creating(operation: Operation): Judgement {
    const { method, path, id, responses, node } = operation;
    const read = method === 'PUT' ? readAt(this.#operations, path) : this.#readerBelow(path);
    const words = wordsOf(id);
    const isDeclared = responses.some(({ status }) => status === '201');
    const isStated = extensionOf(node).creates !== undefined;
    if (read === undefined || itemOf(path)?.name !== (method === 'PUT' ? itemOf(read.path)?.name : undefined))
      return unproven('create', 'nothing reads back what it creates');
    const other = words.find((word) => changingWords.test(word));
    if (other !== undefined) return unproven('create', `its name has "${other}"`);
    const noun = [...nounsOf(path), words.at(-1) ?? ''].find((one) => actingNouns.test(one));
    if (noun !== undefined) return unproven('create', `what it creates can reach others (${noun})`);
    if (accessList.test(path)) return unproven('create', 'what it creates decides who has access');
    if (!isDeclared && !isStated && !isNamedCreation(operation))
      return unproven('create', 'neither 201 nor its name says that it creates');
    const isReturned = responses.some(({ status, contents }) => /^2/.test(status) && contents.length > 0);
    if (!isDeclared && !isStated && !isReturned) return unproven('create', 'it returns nothing');
    const key = isDeclared || isStated || method === 'PUT' ? undefined : this.#keyIn(operation);
    if (key !== undefined) return unproven('create', `${key} in its body can name what exists`);
    const parents = this.resourcesIn(operation).filter((name) => name !== itemOf(path)?.name);
    const foreign = parents.find((name) => !this.#creatorsFor(operation, name).some((one) => this.of(one).isSafe));
    if (foreign !== undefined) return unproven('create', `nothing that may be called creates {${foreign}}`);
    const says = isDeclared ? 'it declares 201' : 'its name says so';
    return proven('create', `${says}, and ${read.id} ${read.path === path ? 'lists' : 'reads'} the result`);
  }

  /** A POST that declares 201, has a path for each resource below its own, or is named so; or a PUT to an unused path. */
  #isCreation(operation: Operation): boolean {
    if (isPutCreation(operation, this.#operations)) return true;
    if (!isCreating(operation)) return false;
    const { creates } = extensionOf(operation.node);
    if (creates !== undefined) return creates !== false;
    return (
      operation.responses.some(({ status }) => status === '201') ||
      this.#operations.some(({ path }) => itemOf(path)?.collection === operation.path) ||
      (isNamedCreation(operation) && this.#readerBelow(operation.path) !== undefined)
    );
  }

  /** The operation that reads what is in a collection: one of it by ID, or all. */
  #readerBelow(path: string): Operation | undefined {
    const gets = this.#operations.filter(({ method }) => method === 'GET');
    const list = readAt(this.#operations, path);
    return (
      gets.find((one) => itemOf(one.path)?.collection === path) ??
      (list && rowsOf(this.#document, list) !== undefined ? list : undefined)
    );
  }

  /** The property of a body that can name an existing resource. */
  #keyIn({ path, body }: Operation): string | undefined {
    const kind = kindOfPath(path);
    const written = (schemas: readonly JsonObject[]) =>
      [...wholeShapeOf(this.#document, ...schemas).properties].filter(
        ([, own]) => !shapeOf(this.#document, ...own).readOnly,
      );
    for (const { schema } of body?.contents ?? []) {
      const properties = written(schema === undefined ? [] : [schema]);
      const inside = properties.flatMap(([name, own]) => (singular(name) === kind ? written(own) : []));
      const found = [...properties, ...inside].find(([name]) => ownKey.test(name));
      if (found !== undefined) return found[0];
    }
    return undefined;
  }

  /** The operations that create what a parameter of a path names, safe ones first. */
  #creatorsFor({ path }: Operation, name: string): Operation[] {
    const collection = collectionPath(path, name);
    const kinds = [kindOfPath(collection), kindOfReference(name)];
    const isCreator = (creator: Operation) => {
      if (creator.method === 'PUT') return itemOf(creator.path)?.collection === collection;
      if (creator.path === collection) return true;
      return kindsOfOperation(this.#document, creator).some((kind) => kinds.includes(kind));
    };
    const creators = this.#creations.filter(isCreator);
    return creators.toSorted((one, other) => Number(this.of(other).isSafe) - Number(this.of(one).isSafe));
  }
}

/** What a path creates: its last noun, and in a path such as `/numbers/mobile` the one before, of which that is a kind. */
function nounsOf(path: string): string[] {
  const [before = '', last = ''] = path.split('/').slice(-2);
  const isKind = !before.startsWith('{') && singular(last) === keyOfName(last);
  return (isKind ? [last, before] : [last]).flatMap((segment) => wordsOf(segment).slice(-1));
}

const isNamedCreation = ({ id }: Operation) => wordsOf(id).some((word) => creatingWords.test(word));

const proven = (effect: Effect, why: string): Judgement => ({ effect, why, isSafe: true });
const unproven = (effect: Effect, why: string): Judgement => ({ effect, why, isSafe: false });
