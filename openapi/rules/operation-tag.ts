/**
 * A tag is a subject: a chapter of the reference, a folder of the contract and a folder of the server. So an operation has exactly one, that
 * of its folder, wherever the operation comes from.
 */
import { basename, dirname } from 'node:path';
import { eachOperation, folderOf } from './contract.ts';

export const operationTag = eachOperation(({ place }, report) => {
  const tags = place.list('tags').map((tag) => tag.value);
  const where = place.get('tags') ?? place;
  if (tags.length !== 1) {
    report(where, 'Add exactly one tag to the operation.');
  } else if (isSplit(place.home.source.absoluteRef) && tags[0] !== folderOf(place.home)) {
    report(where, `Tag the operation with the name of its folder, \`${folderOf(place.home)}\`, or move its file.`);
  }
});

function isSplit(file: string): boolean {
  return basename(dirname(dirname(file))) === 'paths';
}
