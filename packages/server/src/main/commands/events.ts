import type { Command } from 'commander';
import { readConfig } from '../../app/read-config.ts';
import { counted } from '../../operator/counted.ts';
import type { Run } from '../../operator/run-commands.ts';
import { triggerEvent, triggers } from '../../operator/webhook-trigger.ts';
import { localUrl } from '../../platform/process/config.ts';
import { doCommand, wholeNumber } from './run-and-print.ts';

/** The commands of events. */
export function addEventCommands(program: Command): void {
  const deliveries = program.command('deliveries').description('Deliveries of events to subscriptions.');
  deliveries
    .command('replay')
    .description('Send one event again, or all events that failed since an instant and have not been delivered.')
    .argument('<tenant>', 'the tenant')
    .option('--delivery <id>', 'the ID of an attempt, as the deliveries list shows it')
    .option('--since <instant>', 'such as 2026-10-01T09:30:00Z')
    .option('--subscription <id>', 'only for this subscription')
    .action(async (name: string, options: { delivery?: string; since?: string; subscription?: string }) => {
      const { events } = await doCommand('deliveries replay', { tenant: name, ...options });
      console.log(`${counted(events, 'event is', 'events are')} sent again within seconds.`);
    });

  const webhook = program
    .command('webhook')
    .description('Signing secrets, and tools to try out events on a running server.');
  webhook
    .command('rotate-secret')
    .description('Sign events with a new secret. The previous secret also signs until receivers have the new one.')
    .argument('<tenant>', 'the tenant')
    .option('--hours <number>', 'hours during which both sign', wholeNumber, 24)
    .action(async (name: string, options: { hours: number }) => {
      await doCommand('webhook rotate-secret', { tenant: name, ...options });
      console.log(
        `Events are signed with two secrets for ${counted(options.hours, 'hour')}. The API returns the new one.`,
      );
    });
  webhook
    .command('listen')
    .description('Receive events on this machine, verify and print them, until Ctrl+C.')
    .argument('<tenant>', 'the tenant')
    .option('--types <types>', 'types of rows, separated by commas; all by default', (text) => text.split(','), [])
    .option('--url <url>', 'address of the server; from HOST and PORT by default')
    .option('--compact', 'one line for each event, without its row')
    .option('--forward <url>', 'also send each request to this address, and return its status to the server')
    .action(async (name: string, options: { types: string[]; url?: string; compact?: true; forward?: string }) => {
      const { types, url, compact, forward } = options;
      const { listenForEvents } = await import('../../operator/webhook-listen.ts');
      const visit = await visitServer(name, url, 'webhook-listen');
      try {
        const listening = await listenForEvents(visit.calls, {
          types,
          print: console.log,
          isCompact: compact === true,
          ...(forward === undefined ? {} : { forwardTo: forward }),
        });
        const end = async () => {
          await listening.close();
          await visit.end();
        };
        for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void end());
      } catch (error) {
        await visit.end();
        throw error;
      }
    });
  webhook
    .command('trigger')
    .description('Change a row so that an event is emitted, or send its example. Use it with a test tenant.')
    .argument('<tenant>', 'the tenant')
    .argument(
      '<event>',
      `an event, such as Client.CREATE. The command changes a row for ${triggers.join(', ')}, and sends an example for every other event`,
    )
    .option('--url <url>', 'address of the server; from HOST and PORT by default')
    .action(async (name: string, event: string, { url }: { url?: string }) => {
      const { calls, end } = await visitServer(name, url, 'webhook-trigger');
      const id = await triggerEvent(calls, event).finally(end);
      const what = triggers.includes(event) ? `was emitted for ${id}` : `was sent as an example, with the ID ${id}`;
      console.log(`${event} ${what}.`);
    });
}

/** Calls the running server as an API user of the tenant. */
async function visitServer(tenant: string, url: string | undefined, user: string) {
  const [{ visitFirm }, { checkDatabaseExists, withOperator }] = await Promise.all([
    import('../../operator/firm-calls.ts'),
    import('../../operator/run-commands.ts'),
  ]);
  // Before the settings, which create a master key in a directory without one.
  checkDatabaseExists(process.env);
  const { host, port } = readConfig(process.env);
  const run: Run = (name, input) => withOperator((once) => once(name, input));
  return visitFirm(run, { tenant, baseUrl: url ?? localUrl(host, port), user });
}
