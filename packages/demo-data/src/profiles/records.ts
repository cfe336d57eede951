import { writeRecord } from '@financial-automation/server/modules/bulk';
import { addFile } from '@financial-automation/server/modules/files';
import type { CustomFieldInput } from '@financial-automation/server/modules/records';
import { readFields, recordTypesForWriting } from '@financial-automation/server/modules/records';
import { entityNamed, type StoredContent } from '@financial-automation/server/service';
import { dateText } from './calendar.ts';
import { signerOf } from './clients.ts';
import type { Firm } from './firm.ts';
import { inTurn } from './names.ts';
import { Random } from './random.ts';
import { idOf, type Step, stepsFor } from './step.ts';

/** A page with a text in the font that every viewer has. It is the content of all files of demo data. */
export function sampleDocument(): Buffer {
  const page =
    'BT /F1 18 Tf 72 720 Td (Sample document) Tj /F1 11 Tf 0 -28 Td (A placeholder for a document of the client or the firm.) Tj ET';
  const objects = [
    '<</Type/Catalog/Pages 2 0 R>>',
    '<</Type/Pages/Kids[3 0 R]/Count 1>>',
    '<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>',
    `<</Length ${page.length}>>stream\n${page}\nendstream`,
    '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>',
  ];
  const starts: number[] = [];
  let text = '%PDF-1.4\n';
  for (const [index, object] of objects.entries()) {
    starts.push(text.length);
    text += `${index + 1} 0 obj\n${object}\nendobj\n`;
  }
  const table = starts.map((start) => `${String(start).padStart(10, '0')} 00000 n \n`).join('');
  const size = objects.length + 1;
  text += `xref\n0 ${size}\n0000000000 65535 f \n${table}trailer<</Size ${size}/Root 1 0 R>>\nstartxref\n${text.length}\n%%EOF\n`;
  return Buffer.from(text);
}

const documents = 'Bank statement,Form 1099,Trial balance,Depreciation schedule,Tax return,Signed letter'.split(',');
/** Names that are difficult to display. */
const awkwardDocuments = ['Prüfungsbericht', 'תדפיס בנק', 'Very long '.repeat(24).trim()];

/** Steps that add files from clients and of the firm, which have one content. */
export function fileSteps({ jobs, size, span, isForPeople }: Firm, content: StoredContent): Iterable<Step> {
  const random = new Random(9);
  const files = Array.from({ length: size.files }, (_, number) => {
    const job = inTurn(jobs, Math.floor((number * jobs.length) / size.files));
    const source = random.weighted([
      ['CLIENT_REQUEST', 44],
      ['DELIVERABLE', 27],
      ['REFERENCE_FILE', 18],
      ['DMS_DIRECT_UPLOAD', 11],
    ]);
    const isAwkward = !isForPeople && number % 40 === 7;
    return { number, job, source, name: inTurn(isAwkward ? awkwardDocuments : documents, number) };
  });
  return stepsFor('demo data', files, (plan, { number, job, source, name }) => {
    const by =
      source === 'CLIENT_REQUEST'
        ? ({ uploadedByType: 'CONTACT', uploadedById: signerOf(job.client) } as const)
        : source === 'DELIVERABLE'
          ? {}
          : ({ uploadedByType: 'STAFF', uploadedById: idOf('staff', 0) } as const);
    const about = {
      clientId: job.client.id,
      jobId: job.id,
      taxYear: job.fiscalYear,
      source,
      mimeType: 'application/pdf',
    };
    const folderPath = `/${job.client.name.replaceAll('/', ' ').slice(0, 100)}/${job.fiscalYear}`;
    const day = dateText(Math.min(job.start + (number % 40), span.today - 1));
    return addFile(plan, { ...about, ...by, folderPath, fileName: `${name} ${day}.pdf` }, content);
  });
}

const stages = ['LEAD', 'QUALIFIED', 'PROPOSAL', 'WON', 'LOST'] as const;
const client = { name: 'client', type: 'REFERENCE', required: true, referencedEntityType: 'Client' } as const;

/** Custom types, whose names differ from those of the firm of the examples. */
const types: Readonly<Record<string, readonly CustomFieldInput[]>> = {
  Proposal: [
    { name: 'stage', type: 'ENUM', required: true, enumValues: [...stages] },
    { name: 'value', type: 'DECIMAL', minimum: '0', scale: 2 },
    client,
  ],
  Asset: [client, { name: 'cost', type: 'DECIMAL', scale: 4 }, { name: 'acquiredOn', type: 'DATE' }],
  SurveyResponse: [
    { name: 'score', type: 'INTEGER', minimum: '0', maximum: '10' },
    { name: 'comment', type: 'TEXT' },
  ],
};

/** Steps that create custom types with their records. */
export function* recordSteps({ clients, size, span }: Firm): Generator<Step> {
  for (const [name, inputs] of Object.entries(types))
    yield {
      operation: 'createCustomRecordType',
      async work(unit) {
        const fields = await readFields(unit, name, inputs);
        await unit.plan((plan) =>
          plan.create(entityNamed('CustomRecordType'), { displayName: name }, { system: { name, fields } }),
        );
      },
    };
  const random = new Random(10);
  const names = Object.keys(types);
  const records = Array.from({ length: size.entries / 20 }, (_, number) => {
    const [type, about] = [inTurn(names, number), inTurn(clients, number).id];
    const dollars = `${random.between(100, 50_000)}.00`;
    const day = dateText(span.firstDay + number);
    const attributes = {
      Proposal: { stage: random.pick(stages), value: dollars, client: about },
      Asset: { client: about, cost: dollars, acquiredOn: number % 40 === 1 ? '2020-02-29' : day },
      SurveyResponse: { score: random.below(11), comment: number % 30 === 2 ? 'תודה רבה' : 'Thank you' },
    }[type];
    return { type, systemRef: `${type}-${number + 1}`, attributes: { ...attributes } };
  });
  for (let start = 0; start < records.length; start += 100)
    yield {
      operation: 'upsertRecords',
      async work(unit) {
        const known = await recordTypesForWriting(unit, names);
        await unit.allOrNone(records.slice(start, start + 100), (plan, record) => {
          const type = known.get(record.type);
          if (type === undefined) throw new Error(`The custom type ${record.type} was not created.`);
          return writeRecord(plan, type, 'UPSERT', record);
        });
      },
    };
}
