import { once } from 'node:events';
import { type Command, Option } from 'commander';
import { schemaOf } from '../../contract/contract.ts';
import type { AuditPage } from '../../operator/audit.ts';
import { counted } from '../../operator/counted.ts';
import type { ImportOptions } from '../../operator/import-folder.ts';
import type { RowPosition, RowsReport } from '../../operator/rows.ts';
import { doCommand } from './run-and-print.ts';

/** The commands of the rows of a tenant: its books, its audit log and its files. */
export function addRowCommands(program: Command): void {
  program
    .command('books')
    .description('The books of a tenant.')
    .command('check')
    .description(
      'Recalculate balances and sums, compare them with the stored values, and report rows that violate a rule.',
    )
    .argument('<tenant>', 'the tenant')
    .option('--repair', 'correct the sums that differ, in one transaction, with audit rows', false)
    .action(async (name: string, { repair }: { repair: boolean }) => {
      const { describeBooks } = await import('../../operator/books.ts');
      const { differences, breaches } = await doCommand('books check', { tenant: name, repair }, { isLong: true });
      for (const line of describeBooks(name, { differences, breaches }, repair)) console.log(line);
      // A nightly run detects breaches by the exit code.
      if (breaches.length > 0 || (differences.length > 0 && !repair)) process.exitCode = 1;
    });

  program
    .command('rows')
    .description('The stored rows of a tenant.')
    .command('check')
    .description('Read all rows as responses include them, and list those that violate the contract.')
    .argument('<tenant>', 'the tenant')
    .action(async (tenant: string) => {
      const [{ withOperator }, { describeFinding }] = await Promise.all([
        import('../../operator/run-commands.ts'),
        import('../../operator/rows.ts'),
      ]);
      const total = { rows: 0, findings: 0 };
      await withOperator(async (run) => {
        let after: RowPosition | null = null;
        do {
          const report: RowsReport = await run('rows check', { tenant, after });
          for (const finding of report.findings) console.log(describeFinding(finding));
          total.rows += report.checked;
          total.findings += report.findings.length;
          after = report.next;
        } while (after !== null);
      });
      if (total.findings === 0) console.log(`All rows of ${tenant} match the contract: ${counted(total.rows, 'row')}.`);
      else process.exitCode = 1;
    });

  program
    .command('person')
    .description('People of whom a tenant has data.')
    .command('erase')
    .description(
      'Replace the name, addresses, telephone numbers and email addresses of a contact or a staff member wherever the database has them. Amounts, IDs and references stay. It cannot be undone.',
    )
    .argument('<tenant>', 'the tenant')
    .addOption(new Option('--contact <ref>', 'ID or reference of a contact').conflicts('staff'))
    .option('--staff <ref>', 'ID or reference of a staff member')
    .action(async (tenant: string, { contact, staff }: { contact?: string; staff?: string }) => {
      const ref = contact ?? staff;
      if (ref === undefined) throw new Error('Use either --contact or --staff.');
      const type = staff === undefined ? 'Contact' : 'Staff';
      const { id, rows, customRecords, files } = await doCommand('person erase', { tenant, type, ref });
      console.log(`The ${type} ${id} is erased. Rows in which it was also named:`);
      console.table(rows);
      console.log(
        `Not changed: ${customRecords} custom records that name the person, and ${files} files that the person uploaded.`,
      );
    });

  program
    .command('audit')
    .description('The audit log of a tenant.')
    .command('export')
    .description('Print the audit log, one row in JSON on each line, in the order in which the rows were written.')
    .argument('<tenant>', 'the tenant')
    .option('--from <instant>', 'such as 2026-10-01T00:00:00Z; by default from the oldest row that is kept')
    .option('--to <instant>', 'exclusive; by default to the newest row')
    .action(async (tenant: string, { from = null, to = null }: { from?: string | null; to?: string | null }) => {
      const { withOperator } = await import('../../operator/run-commands.ts');
      await withOperator(async (run) => {
        let after: string | null = null;
        do {
          const page: AuditPage = await run('audit export', { tenant, from, to, after });
          for (const line of page.lines) {
            // The next page is read when whoever reads the output has taken this one.
            if (!process.stdout.write(`${line}\n`)) await once(process.stdout, 'drain');
          }
          after = page.next;
        } while (after !== null);
      });
    });

  const files = program.command('files').description('The content of files.');
  files
    .command('import')
    .description('Import the files of a folder and its subfolders. If you run it again, imported files are skipped.')
    .argument('<folder>', 'the folder; names of subfolders become folder paths')
    .requiredOption('--tenant <name>', 'the tenant that gets the files')
    .option('--client <clientRef>', 'client that the files are about')
    .addOption(
      new Option('--source <source>', 'where the files come from')
        .choices(schemaOf('FileSource').enum ?? [])
        .default('DMS_DIRECT_UPLOAD'),
    )
    .action(async (folder: string, options: ImportOptions) => {
      const { importFolder } = await import('../../operator/import-folder.ts');
      const { withOperator } = await import('../../operator/run-commands.ts');
      const summary = await withOperator((run) =>
        importFolder(
          folder,
          options,
          (input) => run('files import', input),
          (text) => process.stderr.write(text),
        ),
      );
      console.log(summary);
    });
}
