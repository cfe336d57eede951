import type { IForbiddenRuleType } from 'dependency-cruiser';

/** Tests, and what only they import. */
const tests = String.raw`\.test\.ts$|/testing\.ts$|-double\.ts$`;

/** A room of the table: files and directories. */
interface Room {
  readonly name: string;
  readonly paths: readonly string[];
}

/** Rules for the rooms of a directory. */
export interface RoomRules {
  /** Pattern of the modules that the rules do not apply to. */
  readonly tests: string;
  readonly forbidden: readonly IForbiddenRuleType[];
  /** Whether a module is in the directory but in none of the rooms. */
  isMissing(source: string): boolean;
}

/**
 * Reads the rooms of a directory from the table that follows its name, and returns a rule for each room: it does not import
 * from those above it.
 *
 * @throws Error if there is no such table.
 */
export function rulesOfRooms(directory: string, markdown: string): RoomRules {
  const rooms = roomsOf(directory, markdown);
  const all = rooms.flatMap(({ paths }) => paths);
  const patterns = rooms.map(({ paths }) => ({
    path: paths.map((path) => patternOf(directory, path)).join('|'),
    // Some files of a directory have a room of their own.
    others: all.filter((other) => !paths.includes(other) && paths.some((path) => other.startsWith(path))),
  }));
  const forbidden = patterns.flatMap(({ path, others }, index): IForbiddenRuleType[] => {
    const above = patterns.slice(0, index);
    return above.map((room, position) => ({
      name: `${rooms[index]?.name} is below ${rooms[position]?.name}`,
      severity: 'error',
      from: { path, pathNot: [tests, ...others.map((other) => patternOf(directory, other))] },
      to: { path: room.path, pathNot: room.others.map((other) => patternOf(directory, other)) },
    }));
  });
  return {
    tests,
    forbidden,
    isMissing: (source) =>
      source.startsWith(directory) &&
      !new RegExp(tests).test(source) &&
      !all.some((path) => new RegExp(patternOf(directory, path)).test(source)),
  };
}

function roomsOf(directory: string, markdown: string): Room[] {
  const [, after = ''] = markdown.split(`\`${directory.replace(/\/$/, '')}\``);
  const table = /(?:^\|.*\n)+/m.exec(after)?.[0] ?? '';
  const rooms = table.split('\n').flatMap((row): Room[] => {
    const [, cell = ''] = row.split('|');
    const paths = [...cell.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path);
    return paths.length === 0 ? [] : [{ name: paths[0] ?? '', paths }];
  });
  if (rooms.length < 2) throw new Error(`No table of rooms follows \`${directory}\`.`);
  return rooms;
}

function patternOf(directory: string, path: string): string {
  const literal = `${directory}${path}`.replaceAll('.', String.raw`\.`);
  return `^${literal}${path.endsWith('/') ? '' : '$'}`;
}
