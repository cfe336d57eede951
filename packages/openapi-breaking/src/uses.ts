/**
 * Where a document uses its components: whether callers send them or receive them, and whether as JSON or as text. The
 * same change narrows what callers may send and widens what they must understand, or the reverse.
 */
import { isObject, type JsonObject, objectOf } from '../../../openapi/rules/contract.ts';
import { type Bundle, isMethod, keysOf, operationsOf, pointerTo, valueAt } from './document.ts';

type Direction = 'request' | 'response';
/** `text`: parameters, headers and forms, whose scalars are all text and where nothing is null; as in XML. */
type Form = 'json' | 'text' | 'xml';

export interface Uses {
  readonly request: boolean;
  readonly response: boolean;
  readonly isJson: boolean;
  readonly isXml: boolean;
}

/** Returns a function of the uses of the element that a pointer leads to. */
export function usesIn(bundle: Bundle): (pointer: string) => Uses {
  const seen = new Map<string, Set<`${Direction} ${Form}`>>();
  const visit = (node: unknown, at: string, direction: Direction, form: Form): void => {
    if (Array.isArray(node)) {
      for (const [index, item] of node.entries()) visit(item, `${at}/${index}`, direction, form);
    }
    if (!isObject(node)) return;
    const known = seen.get(at) ?? new Set();
    if (known.has(`${direction} ${form}`)) return;
    seen.set(at, known.add(`${direction} ${form}`));
    if (typeof node.$ref === 'string') visit(valueAt(bundle, node.$ref), node.$ref, direction, form);
    for (const [key, value] of Object.entries(node)) {
      const place = `${at}${pointerTo(key).slice(1)}`;
      if (key === 'callbacks') visitCallbacks(objectOf(value), place, direction);
      else if (key === 'content') visitContent(objectOf(value), place, direction);
      else visit(value, place, direction, form);
    }
  };
  const visitContent = (content: JsonObject, at: string, direction: Direction) => {
    for (const [type, media] of Object.entries(content)) {
      visit(media, `${at}${pointerTo(type).slice(1)}`, direction, formOf(type));
    }
  };
  const visitOperation = (operation: JsonObject, at: string, sent: Direction) => {
    const received = sent === 'request' ? 'response' : 'request';
    for (const [key, value] of Object.entries(operation)) {
      const place = `${at}/${key}`;
      if (key === 'responses') visit(value, place, received, 'text');
      else if (key === 'callbacks') visitCallbacks(objectOf(value), place, sent);
      else if (key === 'parameters' || key === 'requestBody') visit(value, place, sent, 'text');
    }
  };
  const visitCallbacks = (callbacks: JsonObject, at: string, sent: Direction) => {
    for (const [name, callback] of Object.entries(callbacks)) {
      for (const [expression, item] of Object.entries(objectOf(callback))) {
        for (const [key, operation] of Object.entries(objectOf(item))) {
          const place = `${at}${pointerTo(name, expression, key).slice(1)}`;
          if (isMethod(key)) visitOperation(objectOf(operation), place, sent === 'request' ? 'response' : 'request');
        }
      }
    }
  };
  for (const { root, path, key, item, operation } of operationsOf(bundle)) {
    const sent = root === 'paths' ? 'request' : 'response';
    visit(item.parameters, pointerTo(root, path, 'parameters'), sent, 'text');
    visitOperation(operation, pointerTo(root, path, key), sent);
  }
  return (pointer) => {
    // A value such as a number has the uses of the object around it.
    let keys = keysOf(pointer);
    while (keys.length > 0 && !seen.has(pointerTo(...keys))) keys = keys.slice(0, -1);
    const found = [...(seen.get(pointerTo(...keys)) ?? [])];
    return {
      request: found.some((use) => use.startsWith('request')),
      response: found.some((use) => use.startsWith('response')),
      isJson: found.some((use) => use.endsWith('json')),
      isXml: found.some((use) => use.endsWith('xml')),
    };
  };
}

function formOf(mediaType: string): Form {
  if (/[/+]xml\b/.test(mediaType)) return 'xml';
  return /^(text\/(?!json)|multipart\/|application\/x-www-form-urlencoded)/.test(mediaType) ? 'text' : 'json';
}
