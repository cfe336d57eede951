/** Settings of the command: arguments and environment variables. */
import { parseArgs } from 'node:util';

export interface Settings {
  readonly baseUrl: string;
  readonly tenant: string;
  readonly credentials: { readonly apiKey: string } | { readonly accessToken: string };
  readonly clientId: string | undefined;
  readonly allowWrites: boolean;
  readonly tags: ReadonlySet<string> | undefined;
  /** Maximum number of characters of a result. */
  readonly maxOutput: number;
}

/** A mistake in the arguments or variables, in a sentence for the person who started the command. */
export class SettingsError extends Error {}

const defaultMaxOutput = 50_000;

export const usage = `Usage: financial-automation-mcp [options]

Serves the operations of the Financial Automation API to a language model, as tools of the Model Context Protocol over
standard input and output. It offers only operations that the roles of the API user allow, and only reads unless you
allow writes.

Options:
  --allow-writes            also offer operations that change data
  --tags <tags>             offer only operations with one of these tags, such as clients,billing
  --max-output <characters> maximum length of a result (default ${defaultMaxOutput})
  --help                    print this text

Environment variables:
  BASE_URL      URL of the service, such as https://api.financial-automation.example
  TENANT        name of your tenant
  API_KEY       API key. Access tokens are requested and renewed with it
  ACCESS_TOKEN  access token instead of an API key. It is not renewed
  CLIENT_ID     ID of your application, if your tenant requires it
`;

/** @throws SettingsError. Undefined if help is requested. */
export function readSettings(words: readonly string[], environment: NodeJS.ProcessEnv): Settings | undefined {
  const values = optionsIn(words);
  if (values.help === true) return undefined;
  const {
    BASE_URL: baseUrl = '',
    TENANT: tenant = '',
    API_KEY: apiKey = '',
    ACCESS_TOKEN: accessToken = '',
  } = environment;
  if (!URL.canParse(baseUrl) || !/^https?:/.test(baseUrl)) {
    throw new SettingsError(
      'BASE_URL must be the URL of the service, such as https://api.financial-automation.example.',
    );
  }
  if (tenant === '') throw new SettingsError('TENANT must be the name of your tenant.');
  if ((apiKey === '') === (accessToken === '')) throw new SettingsError('Set either API_KEY or ACCESS_TOKEN.');
  const maxOutput = Number(values['max-output']);
  if (!Number.isInteger(maxOutput) || maxOutput < 1000) {
    throw new SettingsError('--max-output must be an integer of at least 1000.');
  }
  const tags = values.tags?.split(',').map((tag) => tag.trim());
  return {
    baseUrl,
    tenant,
    credentials: apiKey === '' ? { accessToken } : { apiKey },
    clientId: environment.CLIENT_ID,
    allowWrites: values['allow-writes'] === true,
    tags: tags === undefined ? undefined : new Set(tags),
    maxOutput,
  };
}

function optionsIn(words: readonly string[]) {
  try {
    return parseArgs({
      args: [...words],
      options: {
        'allow-writes': { type: 'boolean' },
        tags: { type: 'string' },
        'max-output': { type: 'string', default: String(defaultMaxOutput) },
        help: { type: 'boolean' },
      },
    }).values;
  } catch (error) {
    throw new SettingsError(`${error instanceof Error ? error.message : error}. See --help.`);
  }
}
