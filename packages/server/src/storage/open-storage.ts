import { join } from 'node:path';
import type { Config } from '../config.ts';
import { LocalStorage } from './local-storage.ts';
import type { ContentStorage } from './storage.ts';

/** Opens the configured storage. The S3 library is only loaded if it is used, because it takes 35 MB. */
export async function openStorage({ s3, dataDir }: Pick<Config, 's3' | 'dataDir'>): Promise<ContentStorage> {
  if (s3 === undefined) return new LocalStorage(join(dataDir, 'files'));
  const { S3Storage } = await import('./s3-storage.ts');
  return new S3Storage(s3);
}
