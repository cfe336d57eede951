import type { LoggerOptions } from 'pino';

/** Options for structured logs, one JSON object per line. Fields that could contain secrets are redacted. */
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
