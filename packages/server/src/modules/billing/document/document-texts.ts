import type { Row } from '../../../entity/row.ts';
import { type Language, type Texts, textsOf } from '../../documents/index.ts';

type Category = NonNullable<Row<'Invoice'>['lines'][number]['taxes'][number]['category']>;
type Unit = Row<'Invoice'>['lines'][number]['unitCode'];

/** What is said of some codes only. */
interface OfCodes {
  /** Why no tax is charged, by the category of a tax. The reason of an exemption (E) is the document's own. */
  readonly reasons: Readonly<Partial<Record<Category, string>>>;
  /** Units after a quantity; none for pieces of one. */
  readonly units: Readonly<Partial<Record<Unit, string>>>;
}

/** What the documents of invoices say in one language. */
export type DocumentTexts = Omit<Texts['invoice'], keyof OfCodes> & OfCodes;

/** The words of a document, and how it writes numbers and days. */
export interface DocumentStyle {
  readonly texts: DocumentTexts;
  readonly locale: string;
}

export const documentTexts: Readonly<Record<Language, DocumentTexts>> = textsOf('invoice');
