/** Returns text without characters that file names cannot contain. */
export function fileNamePart(text: string): string {
  return text.replaceAll(/[\\/:*?"<>|\p{Cc}]/gu, '-');
}
