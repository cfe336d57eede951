import type { Command } from 'commander';
import { pasteable } from '../../platform/operator-command.ts';
import { doCommand, jsonOption, type ListOptions, print, warnOfUnavailable, wholeNumber } from './run-and-print.ts';

/** The commands of the databases, jobs, clock and settings that processes share. */
export function addProcessCommands(program: Command): void {
  const cell = program
    .command('cell')
    .description('Databases that have tenants beside the one of DATABASE_URL, which has the directory.');
  cell
    .command('add')
    .description(
      'Add an empty database: CELL_DATABASE_URL is its address, which is stored encrypted. Its schema is created. Serving processes open it within seconds.',
    )
    .argument('<name>', 'a name for it: a-z, 0-9, - and _')
    .action(async (name: string) => {
      const { number } = await doCommand('cell add', { name, url: process.env.CELL_DATABASE_URL ?? '' });
      console.log(`The database ${name} is number ${number} of the directory. To create a tenant in it, run:`);
      console.log(`  ${pasteable(`operator tenant create NAME --cell ${name}`)}`);
    });
  cell
    .command('set-address')
    .description(
      'Change where a database is, such as after a restore: CELL_DATABASE_URL is its new address. Restart the processes afterwards.',
    )
    .argument('<name>', 'its name, as in the list')
    .action(async (name: string) => {
      await doCommand('cell set-address', { name, url: process.env.CELL_DATABASE_URL ?? '' });
      console.log(`The database ${name} has another address for processes that start from now on.`);
    });
  cell
    .command('remove')
    .description(
      'Remove a database without tenants from the directory, such as one that was added by mistake. Nothing in it changes. Restart the processes afterwards.',
    )
    .argument('<name>', 'its name, as in the list')
    .action(async (name: string) => {
      await doCommand('cell remove', { name });
      console.log(`The directory no longer has the database ${name}. Processes use it until their next start.`);
    });
  cell
    .command('list')
    .description('List the databases, with the number of their tenants.')
    .addOption(jsonOption())
    .action(async ({ json }: ListOptions) => {
      print(await doCommand('cell list', null), json);
    });

  const request = program.command('request').description('Requests of callers.');
  request
    .command('find')
    .description('Find a request of the last day by its ID, which is X-Request-Id of the response.')
    .argument('<id>', 'ID of the request')
    .addOption(jsonOption())
    .action(async (id: string, { json }: ListOptions) => {
      const { problem, ...found } = await doCommand('request find', { id });
      print(json ? { ...found, problem } : [{ ...found, code: problem?.code ?? '' }], json);
      if (!json && problem !== null) {
        console.log(problem.detail);
        for (const { pointer, detail } of problem.errors) console.log(`${pointer}: ${detail}`);
      }
    });
  request
    .command('debug-token')
    .description(
      'Print a token: all steps of a request that sends it as X-Debug-Token are logged, whatever LOG_LEVEL is.',
    )
    .option('--minutes <number>', 'for how long it is valid', wholeNumber, 15)
    .action(async ({ minutes }: { minutes: number }) => {
      const { token, expiresAt } = await doCommand('request debug-token', { minutes });
      console.log(token);
      console.error(`The token is valid until ${expiresAt}.`);
    });

  const job = program.command('job').description('Background jobs.');
  job
    .command('list')
    .description('List waiting and running jobs by name, and jobs that failed for the last time.')
    .addOption(jsonOption())
    .action(async ({ json }: ListOptions) => {
      const jobs = await doCommand('job list', null);
      if (json) print(jobs, json);
      else {
        if (jobs.queues.length > 0) print(jobs.queues, json);
        print(jobs.dead, json, 'There are no dead jobs.');
      }
      warnOfUnavailable(jobs.unavailable);
    });
  job
    .command('retry')
    .description('Run a dead job again.')
    .argument('<id>', 'ID of the job, as in the list')
    .action(async (id: string) => {
      await doCommand('job retry', { id });
      console.log(`The job ${id} will run again within seconds.`);
    });

  program
    .command('clock')
    .description('The clock of a tenant that was created with --sandbox.')
    .command('advance')
    .description('Advance the clock. What falls due on the way happens in its order.')
    .argument('<tenant>', 'the tenant')
    .argument('<duration>', 'such as 40d, 12h or 30m')
    .action(async (name: string, by: string) => {
      const { now, ranTasks } = await doCommand('clock advance', { tenant: name, by });
      console.log(`It is ${now} for ${name}. ${ranTasks} tasks ran on the way.`);
    });

  const setting = program
    .command('setting')
    .description('Settings that must be the same in all processes of a database.');
  setting
    .command('list')
    .description('List what is set in the database.')
    .action(async () => {
      for (const [name, value] of Object.entries(await doCommand('setting list', null)))
        console.log(`${name}=${value}`);
    });
  setting
    .command('set')
    .description(
      'Change a setting for all processes. Those that run have it after a restart; AUDIT_LOG_YEARS holds at once.',
    )
    .argument('<name>', 'AUDIT_LOG_YEARS, PUBLIC_URL, PAYMENT_PROCESSOR or S3_BUCKET')
    .argument('<value>', 'the value')
    .action(async (name: string, value: string) => {
      await doCommand('setting set', { name, value });
      console.log(`${name} is ${value} for all processes.`);
    });
}
