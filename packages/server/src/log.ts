import type { LoggerOptions } from 'pino';

/** Structured logs, one JSON object a line. Whatever could hold a secret is cut out before it is written. */
export function logOptions(level: string): LoggerOptions {
  return {
    level,
    base: null,
    formatters: { level: (label) => ({ level: label }) },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
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
