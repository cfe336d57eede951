import { join } from 'node:path';
import { LocalStorage } from './local-storage.ts';
import type { S3Settings } from './s3-storage.ts';
import type { ContentStorage } from './storage.ts';

/** The bucket, if there is one, and the directory of the process. */
interface StorageSettings {
  readonly s3: S3Settings | undefined;
  readonly dataDir: string;
}

/** Opens the configured storage. The S3 library is only loaded if it is used, because it takes 35 MB. */
export async function openStorage({ s3, dataDir }: StorageSettings): Promise<ContentStorage> {
  if (s3 === undefined) return new LocalStorage(join(dataDir, 'files'));
  const { S3Storage } = await import('./s3-storage.ts');
  return new S3Storage(s3);
}
