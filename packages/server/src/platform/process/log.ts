import { type DestinationStream, type LoggerOptions, symbols } from 'pino';
import { databaseClock } from '../database-clock.ts';

/** Options for structured logs, one JSON object per line. Fields that could contain secrets are redacted. */
export function logOptions(level: string): LoggerOptions {
  return {
    level,
    base: null,
    formatters: { level: (label) => ({ level: label }) },
    timestamp: () => `,"time":"${databaseClock.date().toISOString()}"`,
    redact: {
      paths: [
        'authorization',
        'apiKey',
        'secret',
        'taxId',
        '*.authorization',
        '*.apiKey',
        '*.secret',
        '*.taxId',
        '*.access_token',
      ],
      censor: '[redacted]',
    },
  };
}

/** Lines from this level on are written at once: the process may be about to fail. */
const urgent = 50;

/**
 * Writes the lines of one turn of the event loop together: a system call for each would take as much processor time as the rest of
 * the line. When the process exits, also by an error that nobody caught, the remaining lines are written first.
 */
export function batchedLines(destination: DestinationStream): DestinationStream {
  let waiting = '';
  const flush = () => {
    const text = waiting;
    waiting = '';
    if (text !== '') destination.write(text);
  };
  process.on('exit', flush);
  return {
    // Asks pino to set the level of each line.
    [symbols.needsMetadataGsym]: true,
    lastLevel: 0,
    write(line: string) {
      if (waiting === '') setImmediate(flush);
      waiting += line;
      if (this.lastLevel >= urgent) flush();
    },
  } as DestinationStream & { readonly lastLevel: number };
}
