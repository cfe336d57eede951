import { getFile } from './getFile.ts';
import { listFiles } from './listFiles.ts';

export const files = { listFiles, getFile };
