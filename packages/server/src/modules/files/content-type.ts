import { lookup } from 'mime-types';

/** Media types of programs and their containers, detected from content or file name. */
const programs: ReadonlySet<string> = new Set([
  'application/x-msdownload',
  'application/x-msdos-program',
  'application/x-elf',
  'application/x-mach-binary',
  'application/x-sh',
  'application/x-bat',
  'application/x-msi',
  'application/java-archive',
  'application/java-vm',
  'application/vnd.microsoft.portable-executable',
  'application/vnd.android.package-archive',
  'application/x-ms-shortcut',
  'application/x-apple-diskimage',
  'application/x-debian-package',
  'application/x-rpm',
]);

/** File name extensions of what a computer runs or installs when it is opened, whatever the content is. Windows ignores dots and spaces at the end. */
const programNames =
  /\.(appref-ms|application|bat|chm|cmd|com|cpl|dll|exe|gadget|hta|img|iso|jar|jnlp|js|jse|lnk|mjs|msc|msi|msix|msp|mst|pif|ps1|psm1|reg|scf|scr|sct|shb|url|vb|vbe|vbs|vhd|vhdx|wsc|wsf|wsh|xll)[. ]*$/i;

/** Types whose content is always recognized, so that unrecognized content under such a name is rejected. */
const recognized: ReadonlySet<string> = new Set([
  'application/pdf',
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/tiff',
]);

/** The media type of a file, and the reason if it is not accepted. */
export interface CheckedContentType {
  readonly mimeType: string;
  readonly reason?: string;
}

/** Detects the content type of a local file from its name and its first bytes. */
export async function checkContentType(path: string, fileName: string): Promise<CheckedContentType> {
  const named = lookup(fileName) || undefined;
  // Only the import of files uses this module, so a server starts without it.
  const { fileTypeFromFile } = await import('file-type');
  const found = (await fileTypeFromFile(path))?.mime;
  const mimeType = named ?? found ?? 'application/octet-stream';
  if (programNames.test(fileName) || [named, found].some((type) => type !== undefined && programs.has(type)))
    return { mimeType, reason: 'Programs are not accepted.' };
  if (named !== undefined && recognized.has(named) && found !== named)
    return { mimeType, reason: `The content is not ${named}, as the file name suggests.` };
  return { mimeType };
}
