import type Big from 'big.js';
import { RowError } from '../errors.ts';
import type { Table, TableRow } from '../files/table.ts';
import {
  type Notation,
  parseCountry,
  parseDay,
  parseDecimal,
  parseHours,
  parsePhone,
  parseTime,
  parseYes,
} from '../files/values.ts';
import type { Form } from './form.ts';

/** The fields of a row, read as what they mean. Each error names the column. */
export class Row<Field extends string = string> {
  readonly line: number;
  readonly cells: readonly string[];
  readonly #form: Form<string>;
  readonly #table: Table;
  readonly #notation: Notation;

  constructor(form: Form<string>, table: Table, notation: Notation, { line, cells }: TableRow) {
    this.#form = form;
    this.#table = table;
    this.#notation = notation;
    this.line = line;
    this.cells = cells;
  }

  text(field: Field, maxLength = 2000): string | undefined {
    const index = this.#table.columns.get(field);
    const cell = (index === undefined ? undefined : this.cells[index]) || this.#form.constants?.[field] || undefined;
    if (cell !== undefined && cell.length > maxLength)
      throw new RowError(`${this.nameOf(field)} has more than ${maxLength} characters.`);
    return cell;
  }

  required(field: Field, maxLength?: number): string {
    const text = this.text(field, maxLength);
    if (text === undefined) throw new RowError(`${this.nameOf(field)} is missing.`);
    return text;
  }

  /** The meaning of a value, as the form has it. Values that it does not list are rejected, unless it has `*`. */
  choice<Value extends string>(field: Field, values: readonly Value[]): Value | undefined {
    const text = this.text(field);
    if (text === undefined) return undefined;
    const table = Object.entries(this.#form.values?.[field] ?? {});
    const [, meaning] =
      table.find(([name]) => name.toLowerCase() === text.toLowerCase()) ?? table.find(([name]) => name === '*') ?? [];
    const value = values.find((one) => one === (meaning ?? text.toUpperCase().replaceAll(' ', '_')));
    if (value === undefined) throw new RowError(`${this.nameOf(field)} “${text}” is not one of ${values.join(', ')}.`);
    return value;
  }

  day(field: Field): string | undefined {
    return this.#parsed(field, (text) => parseDay(text, this.#notation));
  }

  decimal(field: Field): Big | undefined {
    return this.#parsed(field, (text) => parseDecimal(text.replace(/ ?%$/, ''), this.#notation));
  }

  hours(field: Field): Big | undefined {
    return this.#parsed(field, (text) => parseHours(text, this.#notation));
  }

  minutes(field: Field): number | undefined {
    return this.#parsed(field, parseTime);
  }

  phone(field: Field): string | undefined {
    return this.#parsed(field, (text) => parsePhone(text, this.#notation));
  }

  yes(field: Field): boolean | undefined {
    return this.#parsed(field, parseYes);
  }

  country(field: Field): string | undefined {
    return this.#parsed(field, parseCountry);
  }

  /** A key that another record refers to: the same with other spaces and compositions of letters. */
  key(field: Field): string | undefined {
    return this.#parsed(field, (text) => text.normalize('NFC').replace(/\s+/g, ' ')) || undefined;
  }

  has(field: Field): boolean {
    return this.text(field) !== undefined;
  }

  nameOf(field: Field): string {
    const index = this.#table.columns.get(field);
    return index === undefined ? field : (this.#table.header[index] ?? field).replace(/^\*/, '');
  }

  #parsed<Value>(field: Field, parse: (text: string) => Value): Value | undefined {
    const text = this.text(field);
    if (text === undefined) return undefined;
    try {
      return parse(text);
    } catch (error) {
      if (error instanceof RowError) throw new RowError(`${this.nameOf(field)}: ${error.message}`);
      throw error;
    }
  }
}
