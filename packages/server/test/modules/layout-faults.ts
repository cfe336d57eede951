import { getDocumentProxy } from 'unpdf';

interface Box {
  readonly text: string;
  readonly left: number;
  readonly right: number;
  readonly baseline: number;
}

/** Returns texts of a PDF that cover each other or are beyond the margins of their page. Stamps across a page do not count. */
export async function layoutFaults(pdf: Uint8Array, margin: number): Promise<readonly string[]> {
  const document = await getDocumentProxy(new Uint8Array(pdf));
  const faults: string[] = [];
  for (let number = 1; number <= document.numPages; number++) {
    const page = await document.getPage(number);
    const { items } = await page.getTextContent();
    const [, , pageWidth = 0] = page.view;
    const boxes = items.flatMap((item): Box[] => {
      if (!('str' in item) || item.str.trim() === '') return [];
      const [, slope, , , left, baseline] = item.transform as number[];
      if (slope !== 0 || left === undefined || baseline === undefined) return [];
      return [{ text: item.str, left, right: left + item.width, baseline }];
    });
    const isBeyond = ({ left, right }: Box) => left < margin - 1 || right > pageWidth - margin + 1;
    const doesCover = (one: Box, other: Box) =>
      Math.abs(one.baseline - other.baseline) < 5 && one.left < other.right - 1 && other.left < one.right - 1;
    for (const [index, box] of boxes.entries()) {
      if (isBeyond(box)) faults.push(`page ${number}: ${box.text} is beyond the margin`);
      for (const other of boxes.slice(index + 1))
        if (doesCover(box, other)) faults.push(`page ${number}: ${box.text} covers ${other.text}`);
    }
  }
  return faults;
}
