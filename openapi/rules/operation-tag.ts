/**
 * A tag is a chapter of the reference, a folder of the contract and a room of the server, so an operation has exactly
 * one and stands in its folder. Operations beyond the product interface are told apart by the tag `extensions` together
 * with `x-extension`; they keep the folder of what they extend, as they share its path.
 */
import { basename, dirname } from 'node:path';
import { eachOperation, folderOf } from './contract.ts';

export const operationTag = eachOperation(({ place }, report) => {
  const tags = place.list('tags').map((tag) => tag.value);
  const isExtension = place.get('x-extension')?.value === true;
  const where = place.get('tags') ?? place;
  if (tags.length !== 1) {
    report(where, 'Give the operation exactly one tag.');
  } else if (isExtension !== (tags[0] === 'extensions')) {
    report(
      where,
      'Mark an operation beyond the product interface by the tag `extensions` and by `x-extension: true`, by both.',
    );
  } else if (!isExtension && isSplit(place.home.source.absoluteRef) && tags[0] !== folderOf(place.home)) {
    report(where, `Give the operation the tag \`${folderOf(place.home)}\`, as its folder is named, or move its file.`);
  }
});

function isSplit(file: string): boolean {
  return basename(dirname(dirname(file))) === 'paths';
}
