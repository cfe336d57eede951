import { lookup } from 'mime-types';

/** Programs and what contains them, by the media type that their content or their name says. */
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

/** Names of programs whose media type does not say so. */
const programNames = /\.(bat|cmd|com|exe|hta|js|jse|lnk|msi|ps1|scr|vbe|vbs|wsf)$/i;

/** Types whose content is always recognized, so that other content under such a name is not what it says. */
const recognized: ReadonlySet<string> = new Set([
  'application/pdf',
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/tiff',
]);

/** The media type of a file and, where such content is not accepted, the reason. */
export interface CheckedContentType {
  readonly mimeType: string;
  readonly reason?: string;
}

/** Looks at the name of a file on this machine and at its first bytes. */
export async function checkContentType(path: string, fileName: string): Promise<CheckedContentType> {
  const named = lookup(fileName) || undefined;
  // Only the import of files looks into them, so a server starts without it.
  const { fileTypeFromFile } = await import('file-type');
  const found = (await fileTypeFromFile(path))?.mime;
  const mimeType = named ?? found ?? 'application/octet-stream';
  if (programNames.test(fileName) || [named, found].some((type) => type !== undefined && programs.has(type)))
    return { mimeType, reason: 'Programs are not accepted.' };
  if (named !== undefined && recognized.has(named) && found !== named)
    return { mimeType, reason: `The content is not ${named}, as the file name suggests.` };
  return { mimeType };
}
