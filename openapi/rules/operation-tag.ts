/**
 * A tag is a chapter of the reference, a folder of the contract and a folder of the server, so an operation has exactly
 * one and is in its folder. Operations beyond the product interface have the tag `extensions` and `x-extension`; they are in
 * the folder of the operations that they extend, whose path they share.
 */
import { basename, dirname } from 'node:path';
import { eachOperation, folderOf } from './contract.ts';

export const operationTag = eachOperation(({ place }, report) => {
  const tags = place.list('tags').map((tag) => tag.value);
  const isExtension = place.get('x-extension')?.value === true;
  const where = place.get('tags') ?? place;
  if (tags.length !== 1) {
    report(where, 'Add exactly one tag to the operation.');
  } else if (isExtension !== (tags[0] === 'extensions')) {
    report(
      where,
      'Mark an operation beyond the product interface with both the tag `extensions` and `x-extension: true`.',
    );
  } else if (!isExtension && isSplit(place.home.source.absoluteRef) && tags[0] !== folderOf(place.home)) {
    report(where, `Tag the operation with the name of its folder, \`${folderOf(place.home)}\`, or move its file.`);
  }
});

function isSplit(file: string): boolean {
  return basename(dirname(dirname(file))) === 'paths';
}
